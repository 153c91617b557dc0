"""`FileStore`: the seam's verbs over a directory tree, composed from confinement, mutex and atomic replacement.

Every store of files is one: what is special about the place says its `Medium`. Looking things up is `reading`,
changing them is `writing`. Each is imported when it is first needed: hooks never write, and many do not even read.
"""

from __future__ import annotations

import os
import stat
import sys
from _thread import RLock

from agentm_kernel import errors
from agentm_kernel.files import NOT_WAITING, close_quietly, never_written, read_open_file
from agentm_kernel.files.medium import Medium
from agentm_kernel.seam import MAX_CONTENT_BYTES, Capabilities, Info
from agentm_kernel.seam.backend import Absent, Appends, DeviceFiles, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from agentm_kernel.files.reading import StoreReader
    from agentm_kernel.files.writing import BytesTree, StoreWriter
    from agentm_kernel.seam.locator import Locator

    F = TypeVar("F")

_PLAIN_DISK = Medium()
_CAPABILITIES = Capabilities(concurrent_writers=True, device_files=True, delete=True)
_CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_SHORT = 65_535

_importing = RLock()
"""Held while a part of the store is imported. A fork waits for it: a child that is made while another thread imports
inherits an import that never ends, and would wait for it, perhaps holding the store's mutex.
"""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
    )


class FileStore(StorageBackend, DeviceFiles, Appends):
    """A store that is a tree of files below `root`. A subclass overrides public names only.

    `medium`: what is special about the place (see `Medium`); a plain disk if it is not given.
    `create_root`: whether the first write may make a root that is missing. Where it may not, a missing root is an
    error for every verb: a folder that should be mounted and is not must not look empty.
    `private`: whether directories and files that are made belong to this user alone.
    `follow_root_link`: whether the root may be a symbolic link. One that the operator configured may; one that came
    with somebody else's files must not lead out of them.
    """

    state_dir = ""
    """Where this device records what it appends; if empty, where the environment of this process says."""
    seal: Callable[[Locator, bytes], bytes] = staticmethod(lambda _, data: data)
    """What is kept of bytes that a program wrote to a note: these, unless a layer seals the notes (`keep_sealed`)."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        medium: Medium = _PLAIN_DISK,
        create_root: bool = False,
        private: bool = False,
        follow_root_link: bool = True,
        size_limit: int = MAX_CONTENT_BYTES,
        lock_timeout: float | None = None,
    ) -> None:
        if (names := sys.getfilesystemencoding()) != "utf-8":  # no other session would find what is written so
            hint = "set PYTHONUTF8=1 in the environment, or a locale with UTF-8"
            raise errors.StorageSelectionError(f"this process spells the names of files in {names}", hint=hint)
        self.root, self.medium = os.path.abspath(root), medium
        self.create_root, self.private, self.follow_root_link = create_root, private, follow_root_link
        self.size_limit, self.lock_timeout = size_limit, lock_timeout
        self._root_identity: tuple[int, int] | None = None
        self._lazy_reader: StoreReader | None = None
        self._lazy_writer: StoreWriter | None = None

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @property
    def tree(self) -> BytesTree:
        """The same files by their bytes, under the same mutex."""
        self.medium.check_here()
        return self._writer

    def describe(self) -> str:
        return self.root

    def device_path(self, locator: Locator) -> str:
        return os.path.join(self.root, *locator.parts)

    def check_usable(self, *, read_only: bool) -> None:
        place = self.root
        while self.create_root and not os.path.lexists(place):
            place = os.path.dirname(place)  # the first write will make the root here
        if not os.path.isdir(place):
            what = "is not a folder" if os.path.lexists(place) else "is missing"
            raise errors.StorageSelectionError(
                f"the store's folder {place} {what}",
                hint="mount or restore the folder, then try again; agentm does not make a new one in its place",
            )
        if not read_only and not os.access(place, os.W_OK | os.X_OK):
            raise errors.StorageSelectionError(
                f"the store's folder {place} is not writable",
                hint="check who owns the folder and whether it is mounted read-only",
            )

    def make_place(self) -> None:
        try:
            os.makedirs(self.root, mode=0o700 if self.private else 0o777, exist_ok=True)
        except OSError as error:
            message = f"cannot make the folder {self.root}: {error.strerror}"
            raise errors.StorageIOError(message, errno=error.errno) from error

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        reader = self._lazy_reader
        seen = self._root_identity if reader is None else reader.root_identity
        if reader is None or seen is not None:
            self.medium.check_here()
            glimpse = self._read_at_a_glance(locator)
            if glimpse is not None and seen in (None, glimpse[1]):
                text, self._root_identity = glimpse
                return text
        return self._reader.read(locator)

    def _read_at_a_glance(self, locator: Locator) -> tuple[str, tuple[int, int]] | None:
        """A short note, in half the time and without loading `reading`; and the identity of the root above it.

        It walks as `reading` does, from the open root and along no link. But what is wrong, and whether anything is,
        is for `reading` to find out: whatever is out of the ordinary is no answer here.
        """
        medium, parts, opened = self.medium, locator.parts, list[int]()
        if not (_CAN_WALK_BY_DESCRIPTOR and parts) or any(map(medium.is_hidden, parts)):
            return None
        try:
            at_root = 0 if self.follow_root_link else os.O_NOFOLLOW
            opened.append(os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | at_root))
            root = os.fstat(opened[-1])
            for folder in parts[:-1]:
                opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
            for part, at in zip(parts, opened, strict=True):
                if os.access(part.swapcase(), os.F_OK, dir_fd=at):
                    return None  # another case leads somewhere too: names may not be what they seem
            status = os.stat(parts[-1], dir_fd=opened[-1], follow_symlinks=False)
            # What may lie beside the note is not worth a look: it is taken to be there.
            if not stat.S_ISREG(status.st_mode) or medium.is_copy(parts[-1], lambda _: True):
                return None
            medium.before_reading(locator, status)
            opened.append(os.open(parts[-1], NOT_WAITING | os.O_NOFOLLOW, dir_fd=opened[-1]))
            data, found = read_open_file(opened[-1], min(self.size_limit, _SHORT))
            if data and os.path.samestat(found, status):
                return data.decode(), (root.st_dev, root.st_ino)
        except FileNotFoundError:
            if self.create_root and not opened and self._root_identity is None and self._lazy_reader is None:
                raise never_written(self.root) from None
        except (OSError, UnicodeDecodeError):
            pass
        finally:
            for descriptor in opened:
                close_quietly(descriptor)
        return None

    def list(self, locator: Locator) -> builtins.list[Locator]:
        return self._reader.children(locator)

    def exists(self, locator: Locator) -> bool:
        try:
            self.info(locator)
        except errors.NotFoundError:
            return False
        return True

    def info(self, locator: Locator) -> Info:
        return self._reader.info(locator)

    def walk(self, locator: Locator) -> Iterator[Info]:
        with _importing:
            from agentm_kernel.files.walking import TreeWalk

        return TreeWalk(self._reader, locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        with _importing:
            from agentm_kernel.files.walking import foreign_entries

        return foreign_entries(self._reader, locator)

    @property
    def _reader(self) -> StoreReader:
        self.medium.check_here()
        if self._lazy_reader is None:
            with _importing:
                from agentm_kernel.files.reading import StoreReader

            self._lazy_reader = StoreReader(self, self._root_identity)
        return self._lazy_reader

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self.medium.before_change(locator)
        self._writer.write_text(locator, content, if_match)
        self.medium.after_change(locator)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        self.medium.before_change(locator)
        self._writer.make_directory(locator)
        return locator

    def append(self, locator: Locator, text: str) -> Locator:
        self.medium.before_change(locator)
        if self._writer.append_text(locator, text):
            self.medium.after_change(locator)
            return locator
        from agentm_kernel.seam.update import update  # in a sandbox that leaves only the checkout to write to

        return update(self, locator, lambda old: (old or "") + ("" if not old or old.endswith("\n") else "\n") + text)

    def keep_sealed(self, seal: Callable[[Locator, bytes], bytes]) -> None:
        self.seal = seal

    def facet(self, kind: type[F]) -> F | None:
        own = type(self)
        if kind is Appends and own.write is not FileStore.write and own.append is FileStore.append:
            return None  # a rule that a subclass has for its writes would not be asked
        return super().facet(kind)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self.medium.before_change(locator)
        self._writer.delete(locator, if_match)
        self.medium.after_change(locator)

    @property
    def _writer(self) -> StoreWriter:
        if self._lazy_writer is None:
            with _importing:  # whatever a write needs, before it takes any lock
                from agentm_kernel.files.writing import StoreWriter

            self._lazy_writer = StoreWriter(self, self._reader)
        return self._lazy_writer
