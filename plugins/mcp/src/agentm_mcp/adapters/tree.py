"""A folder of a store as a tree of text files: what the adapters with paths build on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    InvalidContentError,
    Locator,
    NotFoundError,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_kernel.plugin import Absent, Info, StorageBackend

FILE, FOLDER = "file", "directory"


class Tree:
    """Paths below one folder of a store. The empty path is the folder itself, which is always there."""

    def __init__(self, store: StorageBackend | None, folder: str) -> None:
        if store is None:
            from agentm_kernel import select_backend

            store = select_backend()
        self.store = store
        self.root = Locator(folder)

    def locator(self, path: str) -> Locator:
        """The place of `path`; one that leads out, or that no store may hold, is an `InvalidLocatorError`."""
        inside = Locator(path).key
        return self.root.child(*inside.split("/")) if inside else self.root

    def kind(self, path: str) -> str | None:
        """`file`, `directory`, or `None` if there is nothing. A folder in which nothing is left is not there."""
        place = self.locator(path)
        if place == self.root:
            return FOLDER
        try:
            info = self.store.info(place)
        except NotFoundError:
            return None
        return FOLDER if info.is_dir else FILE

    def read(self, path: str) -> str:
        return self.store.read(self.locator(path))

    def create(self, path: str, text: str) -> None:
        """Write a new file; `ConcurrentModificationError` if there is one."""
        self.store.write(self.locator(path), text, if_match=ABSENT)

    def write(self, path: str, text: str, *, if_match: str | Absent | None = None) -> None:
        self.store.write(self.locator(path), text, if_match=if_match)

    def edit(self, path: str, change: Callable[[str], str]) -> str:
        """Change a file that is there, without losing anyone's edit; its text afterwards."""
        from agentm_kernel import update

        done = ""

        def changed(current: str | None) -> str:
            nonlocal done
            if current is None:
                raise NotFoundError(f"there is nothing at '{path}'")
            done = change(current)
            return done

        update(self.store, self.locator(path), changed)
        return done

    def entries(self, path: str) -> list[Info]:
        """What lies immediately below, by name."""
        return [self.store.info(child) for child in self.store.list(self.locator(path))]

    def files(self, path: str = "") -> Iterator[Info]:
        """Every file below."""
        return (info for info in self.store.walk(self.locator(path)) if not info.is_dir)

    def path_of(self, locator: Locator) -> str:
        """The path that a locator below the folder has here."""
        return locator.key.removeprefix(self.root.key).removeprefix("/") if self.root.key else locator.key

    def delete(self, path: str) -> None:
        """Remove a file, or everything below a folder."""
        place = self.locator(path)
        if self.kind(path) == FILE:
            self.store.delete(place)
            return
        for info in list(self.files(path)):
            try:
                self.store.delete(info.locator)
            except NotFoundError:
                continue  # somebody else has removed it

    def move(self, old: str, new: str) -> None:
        """Move a file, or a folder file by file. Nothing is overwritten; nothing goes before its copy is there."""
        if self.kind(old) == FILE:
            self._move_file(self.locator(old), self.locator(new))
            return
        for info in list(self.files(old)):
            rest = info.locator.key.removeprefix(self.locator(old).key).lstrip("/")
            self._move_file(info.locator, self.locator(new).child(*rest.split("/")))

    def _move_file(self, old: Locator, new: Locator) -> None:
        text = self.store.read(old)
        self.store.write(new, text, if_match=ABSENT)
        try:
            self.store.delete(old, if_match=content_hash(text))
        except ConcurrentModificationError:
            # What somebody wrote to it meanwhile stays where it was written; the copy would be a stale second one.
            self.store.delete(new, if_match=content_hash(text))
            raise


def text_of(data: bytes) -> str:
    """The text that bytes are; stores hold text and nothing else."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InvalidContentError(
            f"these bytes are not UTF-8 text ({error.reason} at {error.start})",
            hint="an agentm store holds text; keep other files elsewhere and a note of where they are",
        ) from None
