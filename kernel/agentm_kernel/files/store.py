"""`FileStore`: the seam's verbs over a directory tree, composed from confinement, mutex and atomic replacement.

device-local and the vault build on it; neither writes a verb of its own.
"""

from __future__ import annotations

import errno
import os
import stat

from agentm_kernel.errors import (
    ConcurrentModificationError,
    InvalidLocatorError,
    LocatorConflictError,
    NotFoundError,
    StorageIOError,
    StorageSelectionError,
    StoreIdentityError,
)
from agentm_kernel.files.failures import Failures
from agentm_kernel.files.spelling import clashing_name, is_same_entry, is_spelled_like_this
from agentm_kernel.files.tree import TooLarge, open_root
from agentm_kernel.seam.backend import ABSENT, HostFiles, StorageBackend
from agentm_kernel.seam.content import MAX_CONTENT_BYTES, check_size, decode_content, encode_content
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.values import Capabilities, Info

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_kernel.files.mutex import StoreMutex
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.backend import Absent

_CAPABILITIES = Capabilities(concurrent_writers=True, host_files=True, delete=True)


class FileStore(StorageBackend, HostFiles):
    """A store that is a tree of files below `root`.

    `create_root`: whether the first write may make a root that is missing. Where it may not, a missing root is an
    error for every verb: a folder that should be mounted and is not must not look empty.
    `private`: whether directories and files that are made belong to this user alone.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        create_root: bool = False,
        private: bool = False,
        size_limit: int = MAX_CONTENT_BYTES,
        lock_timeout: float = 10.0,
    ) -> None:
        self._root = os.path.abspath(root)
        self._create_root = create_root
        self._dir_mode = 0o700 if private else 0o777
        self._size_limit = size_limit
        self._lock_timeout = lock_timeout
        self._root_identity: tuple[int, int] | None = None
        self._swept: set[tuple[int, int]] = set()
        self._durable: set[tuple[int, int]] = set()

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def describe(self) -> str:
        return self._root

    def host_path(self, locator: Locator) -> str:
        return os.path.join(self._root, *locator.parts)

    def check_usable(self, *, read_only: bool) -> None:
        place = self._root
        while self._create_root and not os.path.lexists(place):
            place = os.path.dirname(place)  # the first write will make the root here
        if not os.path.isdir(place):
            what = "is not a folder" if os.path.lexists(place) else "is missing"
            raise StorageSelectionError(
                f"the store's folder {place} {what}",
                hint="mount or restore the folder, then try again; agentm does not make a new one in its place",
            )
        if not read_only and not os.access(place, os.W_OK | os.X_OK):
            raise StorageSelectionError(
                f"the store's folder {place} is not writable",
                hint="check who owns the folder and whether it is mounted read-only",
            )

    def is_hidden(self, name: str) -> bool:
        """Whether `name` belongs to the medium rather than to the store. Never listed, and refused as a key."""
        return False

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        with Failures("read", locator, reading=True), self._open_parent(locator) as parent:
            return decode_content(self._read_bytes(parent, locator), locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        with Failures("list", locator, reading=True):
            try:
                directory = self._open_directory(locator)
            except NotFoundError:
                return []
            with directory:
                return [child for child, _ in self._children(directory, locator)]

    def exists(self, locator: Locator) -> bool:
        try:
            self.info(locator)
        except NotFoundError:
            return False
        return True

    def info(self, locator: Locator) -> Info:
        with Failures("look at", locator, reading=True):
            if not locator.key:
                return self._root_info(locator)
            with self._open_parent(locator) as parent:
                return _info(locator, _existing(parent, locator))

    def walk(self, locator: Locator) -> Iterator[Info]:
        with Failures("walk", locator, reading=True):
            try:
                directory = self._open_directory(locator)
            except NotFoundError:
                return
            with directory:
                found = [
                    _info(child, status)
                    for child, name in self._children(directory, locator)
                    if (status := directory.status(name)) is not None
                ]
        for info in found:
            yield info
            if info.is_dir:
                yield from self.walk(info.locator)

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        """Names below `locator` that no key can express, or that are neither file nor directory: shown by doctor."""
        with Failures("walk", locator, reading=True):
            try:
                directory = self._open_directory(locator)
            except NotFoundError:
                return
            with directory:
                listed = {name for _, name in self._children(directory, locator)}
                names = sorted(directory.names())
        for name in names:
            if name in listed:
                child = locator.child(name)
                if self.info(child).is_dir:
                    yield from self.foreign_entries(child)
            elif not self.is_hidden(name):
                yield os.path.join(*locator.parts, name)

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        data = encode_content(content, locator, limit=self._size_limit)
        self._check_writable_key(locator)
        with (
            Failures("write", locator),
            self._exclusively(),
            self._parent_for_writing(locator, if_match) as parent,
        ):
            self._replace(parent, locator, data, if_match)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        if locator.key:
            self._check_writable_key(locator)
        with Failures("make the directory", locator), self._exclusively():
            self._make_directories(locator).close()
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; only files are deleted")
        with Failures("delete", locator), self._exclusively(), self._open_parent(locator) as parent:
            status = _existing(parent, locator)
            if stat.S_ISDIR(status.st_mode):
                raise LocatorConflictError(f"'{locator}' is a directory; only files are deleted")
            if if_match is not None:
                self._compare(parent, locator, if_match)
            parent.unlink(locator.name)
            parent.sync()

    def _replace(self, parent: Directory, locator: Locator, data: bytes, if_match: str | Absent | None) -> None:
        from agentm_kernel.files.atomic import replace_file

        name = locator.name
        status = parent.status(name)
        if status is None or not is_spelled_like_this(parent, name, status):
            if if_match is not None and if_match is not ABSENT:
                raise _changed(locator, "it is not there any more")
            self._check_no_clash(parent, locator)
            status = None
        elif not stat.S_ISREG(status.st_mode):
            raise _not_a_file(locator, status)
        elif if_match is ABSENT:
            raise _changed(locator, "it exists already")
        elif isinstance(if_match, str):
            self._compare(parent, locator, if_match)
        try:
            replace_file(parent, name, data, status, exclusive=if_match is ABSENT)
        except FileExistsError:
            raise _changed(locator, "it exists already") from None

    def _compare(self, parent: Directory, locator: Locator, expected: str) -> None:
        from agentm_kernel.seam.content import content_hash

        if content_hash(self._read_bytes(parent, locator)) != expected:
            raise _changed(locator, "its content is not what was expected")

    def _check_writable_key(self, locator: Locator) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; name a note below it")
        for part in locator.parts:
            if self.is_hidden(part):
                raise InvalidLocatorError(
                    f"invalid locator '{locator}': {ascii(part)} is a name that the store's sync tool uses",
                    hint="choose another name for the note",
                )

    def _check_no_clash(self, directory: Directory, locator: Locator) -> None:
        other = clashing_name(directory, locator.name)
        if other is not None:
            raise LocatorConflictError(
                f"'{locator}' differs only in case or Unicode form from the stored {ascii(other)} beside it",
                hint="use the stored spelling: on Windows and macOS the two would be one file",
            )

    # -- the tree -------------------------------------------------------------------------------------------

    def _exclusively(self) -> StoreMutex:
        """The store's mutex, having made the root where this store may."""
        from agentm_kernel.files.mutex import store_mutex

        if self._create_root and self._root_identity is None:
            _make_root(self._root, self._dir_mode)
        return store_mutex(self._root, timeout=self._lock_timeout)

    def _open_root(self) -> Directory:
        try:
            root = open_root(self._root)
        except FileNotFoundError:
            if self._create_root and self._root_identity is None:
                raise NotFoundError(f"the store at {self._root} has not been written to yet") from None
            raise StorageIOError(
                f"the store's folder {self._root} is missing",
                errno=errno.ENOENT,
                hint="mount or restore the folder, then try again; agentm does not make a new one in its place",
            ) from None
        if self._root_identity is None:
            self._root_identity = root.identity
        elif self._root_identity != root.identity:
            root.close()
            raise StoreIdentityError(
                f"the folder {self._root} is not the one this process opened: it was replaced or unmounted meanwhile",
                hint="mount the store again and start over; `agentm doctor` shows what is there now",
            )
        return root

    def _open_directory(self, locator: Locator) -> Directory:
        directory = self._open_root()
        for depth, name in enumerate(locator.parts, start=1):
            with directory:
                directory = self._enter(directory, name, locator, depth)
        return directory

    def _open_parent(self, locator: Locator) -> Directory:
        if not locator.key:
            raise NotFoundError("the root of the store is a directory, not a note")
        return self._open_directory(locator.parent)

    def _enter(self, directory: Directory, name: str, locator: Locator, depth: int) -> Directory:
        status = directory.status(name)
        if status is None or not is_spelled_like_this(directory, name, status):
            raise NotFoundError(f"'{locator}' does not exist")
        if stat.S_ISREG(status.st_mode):
            raise NotFoundError(f"'{_prefix(locator, depth)}' is a file, so nothing is stored below it")
        if not stat.S_ISDIR(status.st_mode):
            raise _not_followed(_prefix(locator, depth), status)
        return directory.enter(name)

    def _parent_for_writing(self, locator: Locator, if_match: str | Absent | None) -> Directory:
        if isinstance(if_match, str):  # a note that must exist has its directories already
            try:
                return self._swept_once(self._open_parent(locator))
            except NotFoundError:
                raise _changed(locator, "it is not there any more") from None
        return self._make_directories(locator.parent)

    def _make_directories(self, locator: Locator) -> Directory:
        directory = self._open_root()
        made = Locator()
        for name in locator.parts:
            made = made.child(name)
            with directory:
                directory = self._enter_or_make(directory, made)
        return self._swept_once(directory)

    def _enter_or_make(self, directory: Directory, made: Locator) -> Directory:
        name = made.name
        status = directory.status(name)
        is_missing = status is None or not is_spelled_like_this(directory, name, status)
        if is_missing:
            self._check_no_clash(directory, made)
            try:
                directory.make_dir(name, self._dir_mode)
            except FileExistsError:
                pass  # a sync client was faster; what it made is looked at below
            status = directory.status(name)
        if status is None or not stat.S_ISDIR(status.st_mode):
            raise LocatorConflictError(f"'{made}' is not a directory, so nothing can be stored below it")
        identity = (status.st_dev, status.st_ino)
        if is_missing or identity not in self._durable:  # one that is there: its maker may have died before this
            directory.sync()
            self._durable.add(identity)
        return directory.enter(name)

    def _swept_once(self, directory: Directory) -> Directory:
        """`directory`, without what killed writers left in it: looked for once per process, under the mutex."""
        if directory.identity not in self._swept:
            try:
                directory.sweep()
            except BaseException:
                directory.close()
                raise
            self._swept.add(directory.identity)
        return directory

    def _children(self, directory: Directory, locator: Locator) -> builtins.list[tuple[Locator, str]]:
        """The entries that keys can express, each with the name that the directory has for it, sorted by key."""
        children = []
        for entry in directory.entries():
            if not (entry.is_dir or entry.is_file) or self.is_hidden(entry.name):
                continue
            try:
                child = locator.child(entry.name)
            except InvalidLocatorError:
                continue
            if child.name != entry.name and not is_same_entry(directory, child.name, entry.name):
                continue  # a decomposed name that its composed key does not reach
            children.append((child, entry.name))
        children.sort()
        return children

    def _read_bytes(self, parent: Directory, locator: Locator) -> bytes:
        status = _existing(parent, locator)
        if stat.S_ISDIR(status.st_mode):
            raise NotFoundError(f"'{locator}' is a directory, not a note")
        self.before_reading(locator, status)
        try:
            return parent.read_file(locator.name, self._size_limit)[0]
        except TooLarge as error:
            check_size(error.size, locator, limit=self._size_limit)
            raise

    def before_reading(self, locator: Locator, status: os.stat_result) -> None:
        """For stores whose files may not be here yet: raise rather than wait. Here nothing can be missing."""

    def _root_info(self, locator: Locator) -> Info:
        try:
            with self._open_root():
                return _info(locator, os.stat(self._root))
        except NotFoundError:
            return Info(locator, True, 0, 0.0, "")


def _existing(parent: Directory, locator: Locator) -> os.stat_result:
    """The status of what is stored at `locator`: a file or a directory, or an error."""
    status = parent.status(locator.name)
    if status is None or not is_spelled_like_this(parent, locator.name, status):
        raise NotFoundError(f"'{locator}' does not exist")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise _not_followed(locator.key, status)
    return status


def _info(locator: Locator, status: os.stat_result) -> Info:
    is_dir = stat.S_ISDIR(status.st_mode)
    version = f"{status.st_ino:x}-{status.st_ctime_ns:x}-{status.st_size:x}"
    return Info(locator, is_dir, 0 if is_dir else status.st_size, status.st_mtime, version)


def _prefix(locator: Locator, depth: int) -> str:
    return "/".join(locator.parts[:depth])


def _kind(status: os.stat_result) -> str:
    return "a symbolic link" if stat.S_ISLNK(status.st_mode) else "neither a file nor a directory"


def _not_followed(key: str, status: os.stat_result) -> StorageIOError:
    return StorageIOError(
        f"'{key}' is {_kind(status)}; agentm does not follow or open it",
        errno=errno.ELOOP if stat.S_ISLNK(status.st_mode) else errno.EINVAL,
        hint="replace it by the file or directory itself, or move it out of the store",
    )


def _not_a_file(locator: Locator, status: os.stat_result) -> LocatorConflictError:
    what = "a directory" if stat.S_ISDIR(status.st_mode) else _kind(status)
    return LocatorConflictError(f"'{locator}' is {what}, so no note can be stored there")


def _changed(locator: Locator, why: str) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"'{locator}' was not written: {why}",
        hint="read it again, redo the change, and write with the new hash",
    )


def _make_root(path: str, mode: int) -> None:
    """Make the root and what is missing above it, each durable before the next.

    One that is there but empty may be new too, its maker dead before it was durable.
    """
    if os.path.isdir(path) and not _is_empty(path):
        return
    parent = os.path.dirname(path)
    _make_root(parent, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        pass  # another writer was faster, or a file is in the way: opening it will tell
    with open_root(parent) as directory:
        directory.sync()


def _is_empty(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is None
