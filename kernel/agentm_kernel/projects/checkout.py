"""One project root and the repository it belongs to: what tells projects of one name apart."""

from __future__ import annotations

import os

from agentm_kernel.projects.git_files import find_repository
from agentm_kernel.projects.remote import canonical_remote, parse_remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.git_files import Repository


class Checkout:
    """Git's files are read once, and only if something needs them."""

    __slots__ = ("_git", "root")

    def __init__(self, root: str) -> None:
        self.root = root
        self._git: tuple[Repository | None, str | None] | None = None

    @property
    def origin(self) -> str | None:
        """The address of `origin`, as git's configuration has it."""
        return self._read_git()[1]

    @property
    def home(self) -> str:
        """The directory whose name the project has where nothing else names it."""
        repository, _ = self._read_git()
        return repository.home if repository and repository.work_tree == self.root else self.root

    @property
    def identity(self) -> str:
        """The canonical address of `origin`: the same from every clone, worktree and renamed folder.

        A project without one is its own origin: its path on this device, which is also what a local clone of it has
        as `origin`. A project that lies inside a repository has its path there added, so that the parts of a monorepo
        are not taken for one another.
        """
        repository, origin = self._read_git()
        if repository is None:
            return _local_identity(self.root)
        suffix = ""
        if self.root != repository.work_tree:
            inside = os.path.relpath(self.root, repository.work_tree)
            suffix = "#" + path_as_text(inside.replace(os.sep, "/"))
        address = parse_remote(origin or repository.home)
        if address.is_local:
            return _local_identity(os.path.join(repository.home, address.path)) + suffix
        return f"{address}{suffix}"

    def _read_git(self) -> tuple[Repository | None, str | None]:
        if self._git is None:
            repository = find_repository(self.root)
            self._git = repository, repository.origin_url() if repository else None
        return self._git


def _local_identity(path: str) -> str:
    return canonical_remote(path_as_text(os.path.realpath(path)))


def path_as_text(path: str) -> str:
    """A path may hold bytes that are not text; what is stored may not."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
