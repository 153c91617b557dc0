"""The git directory that git sees when agentm runs it: `.git/agentm`, beside the clone's own.

It has a configuration, a HEAD, an index and remote-tracking refs of its own; only the objects are shared. So nothing
that lies in the clone's `.git` (hooks, filters, drivers, addresses) has a say, and a lock file that is left here was
left by a git of ours: whoever holds our lock, which our git processes inherit, may remove it. What the operator sees
with git (branch, remote-tracking branch, index) is published from here by `public_dir`.
"""

from __future__ import annotations

import _thread
import os
from typing import TYPE_CHECKING

from agentm_git.backend import PULLED
from agentm_kernel.plugin import (
    TEMP_PREFIX,
    DirectoryLock,
    StorageSelectionError,
    atomic_write,
    make_private_folder,
)

if TYPE_CHECKING:
    from typing import Self

NAME = "agentm"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = false\n"
# The highest of git's sources of attributes: whatever a tree says, bytes stay bytes and no driver is looked for.
_ATTRIBUTES = "* -text !eol !ident !filter !working-tree-encoding !merge !diff !whitespace\n"
_NO_BRANCH = "ref: refs/heads/agentm-none\n"
_FILES = {"config": _CONFIG, "info/attributes": _ATTRIBUTES, "info/exclude": f"{TEMP_PREFIX}*\n"}
_FOLDERS = ("info", "refs", "refs/heads", "refs/remotes", "refs/remotes/origin", "network")

LOCAL_PATIENCE = 30.0


class PrivateDir:
    """The paths of one clone's private git directory."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.public = os.path.join(root, ".git")
        self.path = os.path.join(self.public, NAME)
        self.objects = os.path.join(self.public, "objects")
        self.index = os.path.join(self.path, "index")
        self.journal = os.path.join(self.path, "integrating")
        self.pulled = os.path.join(root, *PULLED)

    @property
    def is_clone(self) -> bool:
        return os.path.isdir(self.objects)

    def check(self) -> None:
        """Raise unless there is a clone that agentm can work with; see that the private part is right."""
        if not self.is_clone:
            self.check_own()
            import shlex

            raise StorageSelectionError(
                f"{self.root} is not a git repository",
                hint=f"run `agentm git init {shlex.quote(self.root)}`, with the address of the origin if any",
            )
        self._check_format()
        if not os.path.isdir(os.path.join(self.path, _FOLDERS[-1])):
            for folder in ("", *_FOLDERS):
                make_private_folder(os.path.join(self.path, folder).rstrip(os.sep))
        for name, content in _FILES.items():
            self._restore(os.path.join(self.path, name), content)
        if not os.path.exists(os.path.join(self.path, "HEAD")):
            self.set_head(None)

    def check_own(self) -> None:
        """Raise if the folder shares another one's repository: a work tree, or a submodule."""
        if os.path.isfile(self.public):
            raise StorageSelectionError(
                f"{self.root} is a work tree of another repository, or a submodule",
                hint="make a clone of its own: `agentm git init PATH URL`, with another folder",
            )

    def set_head(self, commit: str | None) -> None:
        """Let git take `commit` for what the folder is compared with."""
        self._restore(os.path.join(self.path, "HEAD"), _NO_BRANCH if commit is None else f"{commit}\n")

    def ref(self, name: str) -> str | None:
        """What one of our own refs names. They are never packed: nobody runs git's housekeeping here."""
        try:
            with open(os.path.join(self.path, *name.split("/")), encoding="ascii") as file:
                return file.read().strip() or None
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def set_ref(self, name: str, commit: str) -> None:
        atomic_write(os.path.join(self.path, *name.split("/")), f"{commit}\n")

    def remove_ref(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self.path, *name.split("/")))
        except FileNotFoundError:
            pass

    def _restore(self, path: str, content: str) -> None:
        """A file that somebody changed could make git do things; ours are constant."""
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if file.read() == content:
                    return
        except FileNotFoundError:
            pass
        # Whole or not at all, for processes; after a power cut it is written anew.
        temp = f"{path}.{os.getpid()}-{_thread.get_ident()}"
        with open(temp, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temp, path)

    def _check_format(self) -> None:
        """Formats in which refs or ids look different would be misread, so they are refused."""
        odd = None
        if os.path.exists(os.path.join(self.public, "reftable")):
            odd = "it keeps its refs in a reftable"
        elif os.path.exists(os.path.join(self.public, "shallow")):
            odd = "it is shallow"
        else:
            with open(os.path.join(self.public, "config"), encoding="utf-8", errors="replace") as file:
                if "objectformat" in file.read().lower():
                    odd = "its objects have names of another kind (SHA-256)"
        if odd is not None:
            raise StorageSelectionError(
                f"agentm cannot use the repository {self.root}: {odd}",
                hint="make a plain clone with `agentm git init PATH URL`",
            )

    # -- locks --------------------------------------------------------------------------------------------

    def local(self) -> GitLock:
        """For whoever changes branch, index or folder: held for moments."""
        return GitLock(self.path, LOCAL_PATIENCE, ("index.lock", "HEAD.lock", "merge-index", "merge-index.lock"))

    def network(self, patience: float) -> GitLock:
        """For whoever talks with the origin: held as long as that takes. Taken before the local one."""
        leftovers = ["packed-refs.lock"]
        for folder, _, names in os.walk(os.path.join(self.path, "refs")):
            below = os.path.relpath(folder, self.path)
            leftovers += [os.path.join(below, name) for name in names if name.endswith(".lock")]
        return GitLock(os.path.join(self.path, "network"), patience, leftovers, base=self.path)


class GitLock(DirectoryLock):
    """The lock on one of our directories. `descriptor` goes to every git process that is started under it."""

    def __init__(self, folder: str, patience: float, leftovers: list[str] | tuple[str, ...], base: str = "") -> None:
        self._base = base or folder
        super().__init__(folder, patience, what=os.path.dirname(self._base))
        self._leftovers = leftovers

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._clear()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _clear(self) -> None:
        """Remove lock files that a git of ours left when it was killed: none of them can be alive."""
        for name in self._leftovers:
            try:
                os.unlink(os.path.join(self._base, name))
            except FileNotFoundError:
                continue
