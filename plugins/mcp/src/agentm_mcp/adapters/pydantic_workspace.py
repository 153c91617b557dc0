"""A folder of an agentm store as a Pydantic AI workspace: the files that an agent works on, without a shell.

    from pydantic_ai.workspaces import Workspace
    from agentm_mcp.adapters.pydantic_workspace import AgentmWorkspace

    workspace = Workspace(AgentmWorkspace(folder="workspaces/report"))

The interface writes whole files and has no condition, so the workspace keeps one itself: a file that it has read or
written is written only if it still is what it was then. Whoever meets a conflict reads the file again, and merges.
Text that seems to hold a secret is refused.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, TypeVar

from anyio.to_thread import run_sync
from pydantic_ai.workspaces import (
    FileEntry,
    SupportsFilesystem,
    SupportsRealpath,
    WorkspaceBackend,
    WorkspaceRef,
    WorkspaceUnavailableError,
)

from agentm_kernel.plugin import (
    LocatorConflictError,
    NotFoundError,
    StorageSelectionError,
    content_hash,
    refuse_secrets,
)
from agentm_mcp.adapters.octets import bytes_of, text_of
from agentm_mcp.adapters.tree import FILE, FOLDER, KEEP, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentm_kernel.plugin import StorageBackend
    from agentm_mcp.adapters.tree import Entry

    Answer = TypeVar("Answer")

PROVIDER = "agentm"
WORKING_DIR = "/memory"
"""What the folder is called inside. There is nothing above it."""


class AgentmWorkspace(WorkspaceBackend, SupportsFilesystem, SupportsRealpath):
    """A workspace in `folder` of a store: this device's, the configured one of that name, or one that is given.

    The first operation makes the folder, and `ref` names it from then on. With a `ref` the folder has to be there.
    """

    def __init__(
        self,
        store: StorageBackend | str | None = None,
        *,
        folder: str = "workspaces/default",
        ref: WorkspaceRef | None = None,
    ) -> None:
        self._store, self._folder, self._ref = store, ref.id if ref else folder, ref
        self._tree: Tree | None = None
        self._seen: dict[str, str] = {}
        """Path -> hash of what was read or written last."""

    @property
    def ref(self) -> WorkspaceRef | None:
        return self._ref

    async def working_dir(self) -> str:
        await run_sync(self._ready)
        return WORKING_DIR

    async def read_bytes(self, path: str) -> bytes:
        return await self._do(self._read, path)

    async def write_bytes(self, path: str, data: bytes) -> None:
        await self._do(lambda tree, inside: self._write(tree, inside, data), path)

    async def stat(self, path: str) -> FileEntry:
        return await self._do(lambda tree, inside: _shown(tree.entry(inside)), path)

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        return await self._do(_listed, path)

    async def make_dir(self, path: str) -> None:
        await self._do(_make_folder, path)

    async def remove(self, path: str) -> None:
        if _is_at_or_above(path):
            raise ValueError(f"{path} is the workspace itself, which is not removed")
        await self._do(self._remove, path)

    async def exists(self, path: str) -> bool:
        try:
            return await self._do(lambda tree, inside: tree.kind(inside) is not None, path)
        except FileNotFoundError:
            return False

    async def realpath(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(WORKING_DIR, path))

    # -- in a thread ------------------------------------------------------------------------------------------

    async def _do(self, what: Callable[[Tree, str], Answer], path: str) -> Answer:
        inside = _inside(path)
        return await run_sync(lambda: what(self._ready(), inside))

    def _ready(self) -> Tree:
        """The tree, once its folder is there. One that was there and is gone is not made again.

        Two operations at once make the same folder, so none waits for the other.
        """
        try:
            tree = self._tree = self._tree or Tree(self._store, self._folder)
            mark = tree.locator(KEEP)
            if self._ref is None:
                if not tree.store.exists(mark):
                    tree.update(KEEP, lambda now: now or "")
                self._ref = WorkspaceRef(provider=PROVIDER, id=self._folder)
            elif not tree.store.exists(mark):
                raise WorkspaceUnavailableError(f"the workspace '{self._folder}' is gone from the store")
        except StorageSelectionError as error:
            raise WorkspaceUnavailableError(str(error)) from error
        return tree

    def _read(self, tree: Tree, path: str) -> bytes:
        if tree.kind(path) == FOLDER:
            raise IsADirectoryError(path)
        text = tree.read(path)
        self._seen[path] = content_hash(text)
        return bytes_of(path, text)

    def _write(self, tree: Tree, path: str, data: bytes) -> None:
        text = text_of(path, bytes(data))
        refuse_secrets(path, text, hint="leave it out, and say where it is kept")
        if tree.kind(path) == FOLDER:
            raise IsADirectoryError(path)
        try:
            tree.write(path, text, if_match=self._seen.get(path))
        except LocatorConflictError as error:
            raise NotADirectoryError(error.message) from error
        self._seen[path] = content_hash(text)

    def _remove(self, tree: Tree, path: str) -> None:
        if tree.kind(path) is None:
            raise NotFoundError(f"there is nothing at '{path}'")
        tree.delete(path)
        for known in [known for known in self._seen if known == path or known.startswith(f"{path}/")]:
            del self._seen[known]


def _listed(tree: Tree, path: str) -> list[FileEntry]:
    kind = tree.kind(path)
    if kind != FOLDER:
        raise NotADirectoryError(path) if kind == FILE else FileNotFoundError(path)
    return [_shown(entry) for entry in tree.entries(path)]


def _make_folder(tree: Tree, path: str) -> None:
    if tree.kind(path) == FILE:
        raise FileExistsError(path)
    try:
        tree.make_folder(path)
    except LocatorConflictError as error:
        raise NotADirectoryError(error.message) from error


def _shown(entry: Entry) -> FileEntry:
    path = posixpath.join(WORKING_DIR, entry.path) if entry.path else WORKING_DIR
    size = None if entry.is_dir else entry.size
    return FileEntry(name=posixpath.basename(path), path=path, is_dir=entry.is_dir, size=size)


def _inside(path: str) -> str:
    """The path below the folder; there is nothing anywhere else."""
    path = posixpath.normpath(path)
    if path != WORKING_DIR and not path.startswith(f"{WORKING_DIR}/"):
        raise FileNotFoundError(f"{path} is outside of the workspace, which is {WORKING_DIR}")
    return path.removeprefix(WORKING_DIR).removeprefix("/")


def _is_at_or_above(path: str) -> bool:
    path = posixpath.normpath(path)
    return posixpath.commonpath((WORKING_DIR, path)) == path
