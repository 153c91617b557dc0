"""One project root and the repository it belongs to: what tells projects of one name apart."""

from __future__ import annotations

import os

from agentm_kernel.projects import is_work_tree
from agentm_kernel.projects.git_files import find_repository
from agentm_kernel.projects.remote import canonical_remote, parse_remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.git_files import Repository

_LONGEST_CHAIN = 5


class Checkout:
    """Git's files are read once, and only if something needs them."""

    __slots__ = ("_git", "_source", "root")

    def __init__(self, root: str) -> None:
        self.root = root
        self._git: tuple[Repository | None, str | None] | None = None
        self._source: tuple[Repository | None, str | None] | None = None

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
    def remote(self) -> str | None:
        """The canonical address of `origin`, the same from every clone and worktree; `None` without one.

        A work tree on this device is no remote: a clone of one is the same project, and has the remote that it has. A
        project that lies inside a repository has its path there added, so that the parts of a monorepo are not taken
        for one another.
        """
        address = self._follow_origin()[1]
        return None if address is None else address + self.part

    @property
    def part(self) -> str:
        """`#` and the path of the project inside its repository; empty where the project is the repository."""
        repository, _ = self._read_git()
        if repository is None or self.root == repository.work_tree:
            return ""
        inside = os.path.relpath(self.root, repository.work_tree)
        return "#" + path_as_text(inside.replace(os.sep, "/"))

    @property
    def id_folder(self) -> str | None:
        """The git directory that keeps the checkout's id: worktrees and local clones share it; `None` without git."""
        repository = self._follow_origin()[0]
        return None if repository is None else repository.common_dir

    def _read_git(self) -> tuple[Repository | None, str | None]:
        if self._git is None:
            repository = find_repository(self.root)
            self._git = repository, repository.origin_url() if repository else None
        return self._git

    def _follow_origin(self) -> tuple[Repository | None, str | None]:
        """The repository that this is a clone of, as far as it lies on this device, and the remote of that one."""
        if self._source is None:
            self._source = _source_of(*self._read_git())
        return self._source


def _source_of(repository: Repository | None, origin: str | None) -> tuple[Repository | None, str | None]:
    for _ in range(_LONGEST_CHAIN):
        if repository is None or origin is None:
            break
        address = parse_remote(origin)
        if not address.is_local:
            return repository, str(address)
        path = os.path.realpath(os.path.join(repository.home, address.path))
        if os.path.isdir(f"{path}.git") or not is_work_tree(path):
            return repository, canonical_remote(path_as_text(path))
        source = find_repository(path)
        if source is None or source.common_dir == repository.common_dir:
            break
        repository, origin = source, source.origin_url()
    return repository, None


def path_as_text(path: str) -> str:
    """A path may hold bytes that are not text; what is stored may not."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
