"""A folder of a store as a tree of files: what the adapters with paths build on.

A store has no folders of its own to count on: some cannot hold an empty one, and none can remove one. So a folder is
there while something lies below it, and one that was made on purpose holds a small file that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    content_hash,
    layout,
)
from agentm_mcp.adapters.octets import bytes_of, may_be_octets, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_kernel.plugin import Absent, Info, StorageBackend

FILE, FOLDER = "file", "directory"
KEEP = ".keep"
"""What a folder holds that was made on purpose; it is not listed."""
_OURS = frozenset({layout.META, layout.INBOX, layout.PROJECT_RECORD})
"""What agentm keeps for itself in a store: whose it is, and what waits for its operator."""


class Entry(NamedTuple):
    """A file or a folder."""

    path: str
    is_dir: bool
    size: int
    """Bytes of a file, as its reader gets them; 0 for a folder."""
    mtime: float

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Tree:
    """Paths below one folder of a store. The empty path is the folder itself, which is always there."""

    def __init__(self, store: StorageBackend | str | None, folder: str) -> None:
        self.store = open_store(store)
        self.root = Locator(folder)

    def locator(self, path: str) -> Locator:
        """The place of `path`; one that leads out, or that no store may hold, is an `InvalidLocatorError`."""
        inside = Locator(path).key
        return self.root.child(*inside.split("/")) if inside else self.root

    def path_of(self, locator: Locator) -> str:
        """The path that a locator below the folder has here."""
        return locator.key.removeprefix(self.root.key).removeprefix("/") if self.root.key else locator.key

    # -- looking ----------------------------------------------------------------------------------------------

    def kind(self, path: str) -> str | None:
        """`file`, `directory`, or `None` if there is nothing. A folder in which nothing is left is not there."""
        place = self.locator(path)
        if place == self.root:
            return FOLDER
        try:
            if not self.store.info(place).is_dir:
                return FILE
        except NotFoundError:
            return None
        return FOLDER if self._holds_something(place) else None

    def entry(self, path: str) -> Entry:
        """One file or folder; `NotFoundError` if there is neither."""
        kind = self.kind(path)
        if kind is None:
            raise NotFoundError(f"there is nothing at '{path}'")
        if path == "":
            return Entry("", True, 0, 0.0)
        return self._entry(self.store.info(self.locator(path)))

    def entries(self, path: str) -> list[Entry]:
        """What lies immediately below, by name."""
        found = []
        for child in self.store.list(self.locator(path)):
            try:
                info = self.store.info(child)
            except NotFoundError:
                continue  # it went just now
            if child.name != KEEP and (not info.is_dir or self._holds_something(child)):
                found.append(self._entry(info))
        return found

    def files(self, path: str = "") -> Iterator[Info]:
        """Every file below, with those that only keep a folder."""
        return (info for info in self.store.walk(self.locator(path)) if not info.is_dir)

    def _holds_something(self, place: Locator) -> bool:
        return any(not info.is_dir for info in self.store.walk(place))

    def _entry(self, info: Info) -> Entry:
        size = info.size
        if not info.is_dir and may_be_octets(info.locator.key, size):
            size = len(bytes_of(info.locator.key, self.store.read(info.locator)))
        return Entry(self.path_of(info.locator), info.is_dir, size, info.mtime)

    # -- one file ---------------------------------------------------------------------------------------------

    def read(self, path: str) -> str:
        return self.store.read(self.locator(path))

    def read_bytes(self, path: str) -> bytes:
        return bytes_of(path, self.read(path))

    def create(self, path: str, text: str) -> None:
        """Write a new file; `ConcurrentModificationError` if there is one."""
        self.write(path, text, if_match=ABSENT)

    def write(self, path: str, text: str, *, if_match: str | Absent | None = None) -> None:
        self.store.write(self._writable(path), text, if_match=if_match)

    def write_bytes(self, path: str, data: bytes, *, if_match: str | Absent | None = None) -> None:
        self.write(path, text_of(path, data), if_match=if_match)

    def edit(self, path: str, change: Callable[[str], str]) -> str:
        """Change a file that is there, without losing anyone's edit; its text afterwards."""
        done = ""

        def changed(current: str | None) -> str:
            nonlocal done
            if current is None:
                raise NotFoundError(f"there is nothing at '{path}'")
            done = change(current)
            return done

        self.update(path, changed)
        return done

    def update(self, path: str, change: Callable[[str | None], str]) -> None:
        """Replace a file by what `change` makes of its text, `None` if there is none; it may be asked again."""
        from agentm_kernel import update

        update(self.store, self._writable(path), change)

    # -- folders, and whatever lies below ---------------------------------------------------------------------

    def make_folder(self, path: str) -> None:
        """Make sure that a folder is there, and stays when nothing else is in it."""
        if self.kind(path) == FOLDER:
            return
        try:
            self.create(f"{path}/{KEEP}", "")
        except ConcurrentModificationError:
            pass  # somebody else has made it

    def delete(self, path: str) -> None:
        """Remove a file, or everything below a folder."""
        place = self._writable(path)
        if self.kind(path) == FILE:
            self.store.delete(place)
            return
        for info in self._writable_files(path):
            try:
                self.store.delete(info.locator)
            except NotFoundError:
                continue  # somebody else has removed it

    def move(self, old: str, new: str) -> None:
        """Move a file, or a folder file by file. Nothing is overwritten; nothing goes before its copy is there."""
        source, target = self._writable(old), self._writable(new)
        if self.kind(old) == FILE:
            self._move_file(source, target)
            return
        if target.key.startswith(f"{source.key}/"):
            raise LocatorConflictError(f"'{old}' cannot be moved into itself")
        for info in self._writable_files(old):
            rest = info.locator.key.removeprefix(source.key).lstrip("/")
            self._move_file(info.locator, target.child(*rest.split("/")))

    def _move_file(self, old: Locator, new: Locator) -> None:
        text = self.store.read(old)
        self.store.write(new, text, if_match=ABSENT)
        try:
            self.store.delete(old, if_match=content_hash(text))
        except ConcurrentModificationError:
            # What somebody wrote to it meanwhile stays where it was written; the copy would be a stale second one.
            self.store.delete(new, if_match=content_hash(text))
            raise

    def _writable(self, path: str) -> Locator:
        return _not_ours(self.locator(path))

    def _writable_files(self, path: str) -> list[Info]:
        """Every file below; nothing is touched if one of them is not to be."""
        found = list(self.files(path))
        for info in found:
            _not_ours(info.locator)
        return found


def _not_ours(place: Locator) -> Locator:
    if not _OURS.isdisjoint(place.key.split("/")):
        raise InvalidLocatorError(
            f"'{place}' is agentm's own record", hint="read it here, and change it with the commands of agentm"
        )
    return place


def open_store(store: StorageBackend | str | None) -> StorageBackend:
    """The store that is meant: itself, the one that the configuration calls by this name, or this device's."""
    if store is None:
        from agentm_kernel import select_backend

        return select_backend()
    if isinstance(store, str):
        from agentm_kernel.plugin import Device

        return Device.now().store(store, read_only=False)
    return store
