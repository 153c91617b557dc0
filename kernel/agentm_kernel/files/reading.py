"""Finding what is stored at a locator: the walk from the open root, one name at a time."""

from __future__ import annotations

import errno
import os
import stat

from agentm_kernel import errors
from agentm_kernel.errors import AgentmError, NotFoundError, StorageIOError
from agentm_kernel.files import TooLarge, never_written
from agentm_kernel.files.medium import shows_all_names
from agentm_kernel.files.tree import NO_DIRECTORY, Directory, Identity, open_root
from agentm_kernel.seam import Info
from agentm_kernel.seam.content import check_size, decode_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.files.store import FileStore
    from agentm_kernel.seam.locator import Locator

_HINTS = {
    errno.ENOSPC: "the disk is full: free some space and try again; the stored note is unchanged",
    errno.EDQUOT: "the disk quota is used up: free some space and try again; the stored note is unchanged",
    errno.EROFS: "the file system is mounted read-only",
    errno.EACCES: "check who owns the store and its permissions",
    errno.EPERM: "check who owns the store and its permissions",
    errno.EIO: "the disk or the mount reports a failure: check it before trusting it with more",
}

_KIND = 0o170000  # what `stat.S_IFMT` leaves of a mode, for loops over thousands
_FILE = stat.S_IFREG
_STORED = frozenset((_FILE, stat.S_IFDIR))
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_OTHER_CASE = str.maketrans(_LETTERS + _LETTERS.upper(), _LETTERS.upper() + _LETTERS)


def is_spelled_like_this(directory: Directory, name: str, found: os.stat_result | Directory) -> bool:
    """Whether what `name` has reached really has that name, not another case of it.

    Asks for the name in another case: only where that reaches the same file is the directory read.
    """
    other = name.translate(_OTHER_CASE)
    if other == name:  # it has no ASCII letters
        other = name.swapcase()
    twin = None if other == name or directory.looks_free(other) else directory.status(other)
    if twin is None:
        return True
    status = found if isinstance(found, os.stat_result) else found.own_status()
    return not os.path.samestat(twin, status) or any(composed(listed) == name for listed in directory.names())


def composed(name: str) -> str:
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFC", name)


class Failures:
    """Around one verb: what it meets from the operating system leaves as `StorageIOError` (or absence, when seen)."""

    __slots__ = ("_doing", "_locator", "_reading")

    def __init__(self, doing: str, locator: Locator, *, reading: bool = False) -> None:
        self._doing, self._locator, self._reading = doing, locator, reading

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, value: BaseException | None, _trace: object) -> None:
        if not isinstance(value, OSError) or isinstance(value, AgentmError):
            return
        where = f"'{self._locator}'" if self._locator.key else "the store's root"
        if self._reading and isinstance(value, FileNotFoundError):
            raise NotFoundError(f"{where} does not exist") from value
        raise StorageIOError(
            f"cannot {self._doing} {where}: {value.strerror or value}",
            errno=value.errno,
            hint=_HINTS.get(value.errno or 0),
        ) from value


class StoreReader:
    """The tree below `root`. Pins the root's identity at first sight: what replaces it later is another store."""

    def __init__(self, store: FileStore, root_identity: Identity | None) -> None:
        self.medium, self.root, self.size_limit = store.medium, store.root, store.size_limit
        self.root_identity = root_identity
        self._may_be_missing, self._follow_root_link = store.create_root, store.follow_root_link
        self._shows_all_names = shows_all_names(store.medium)

    def read(self, locator: Locator) -> str:
        with Failures("read", locator, reading=True), self.open_parent(locator) as parent:
            return decode_content(self.read_bytes(parent, locator), locator)

    def info(self, locator: Locator) -> Info:
        with Failures("look at", locator, reading=True):
            if locator.key:
                with self.open_parent(locator) as parent:
                    return info_of(locator, self.existing(parent, locator))
            try:
                with self.open_root() as root:
                    return info_of(locator, root.own_status())
            except NotFoundError:
                return Info(locator, True, 0, 0.0, "")

    def children(self, locator: Locator) -> list[Locator]:
        with Failures("list", locator, reading=True):
            try:
                directory = self.open_directory(locator)
            except NotFoundError:
                return []
            with directory:
                return locator.known_children(self.listed(directory, locator, directory.kinds()))

    def open_root(self) -> Directory:
        may_be_missing = self._may_be_missing and self.root_identity is None  # asked first: threads share a reader
        self.check_root_link()
        try:
            root = open_root(self.root, follow_link=self._follow_root_link)
        except FileNotFoundError:
            if may_be_missing:
                raise never_written(self.root) from None
            raise StorageIOError(
                f"the store's folder {self.root} is missing",
                errno=errno.ENOENT,
                hint="mount or restore the folder, then try again; agentm does not make a new one in its place",
            ) from None
        return self.pin(root)

    def check_root_link(self) -> None:
        """Raise if the root is a symbolic link, and such a one is not followed here."""
        if not self._follow_root_link and os.path.islink(self.root):
            raise StorageIOError(
                f"{self.root} is a symbolic link; agentm does not follow it",
                errno=errno.ELOOP,
                hint="replace it by a folder: `ls -l` shows where it leads",
            )

    def pin(self, root: Directory) -> Directory:
        """`root`, which must be the directory that was the root before; another one is closed."""
        try:
            identity = root.identity
            if self.root_identity not in (None, identity):
                raise errors.StoreIdentityError(
                    f"the folder {self.root} is not the one this process opened: "
                    "it was replaced or unmounted meanwhile",
                    hint="mount the store again and start over; `agentm doctor` shows what is there now",
                )
            self.root_identity = identity
        except BaseException:
            root.close()
            raise
        return root

    def open_directory(self, locator: Locator, root: Directory | None = None) -> Directory:
        """The directory at `locator`, to be closed by the caller; nothing there, or a file: `NotFoundError`."""
        directory = root or self.open_root()
        parts = locator.parts
        for depth in range(1, len(parts) + 1):
            with directory:
                directory = self.enter(directory, parts[:depth], locator.key)
        return directory

    def enter(self, directory: Directory, parts: tuple[str, ...], wanted: str = "") -> Directory:
        """The directory that these names lead to, on the way to `wanted`; the one above it is open."""
        name, status = parts[-1], None
        try:
            if not self.medium.is_hidden(name) and (child := enter_exactly(directory, name)) is not None:
                return child
        except OSError as error:
            if error.errno not in NO_DIRECTORY:
                raise
            status = directory.status(name)
        key = "/".join(parts)
        if status is None:
            raise NotFoundError(f"'{wanted or key}' does not exist")
        if not stat.S_ISREG(status.st_mode):
            raise _not_followed(key, status)
        raise NotFoundError(f"'{key}' is a file, so nothing is stored below it")

    def open_parent(self, locator: Locator) -> Directory:
        if not locator.key:
            raise NotFoundError("the root of the store is a directory, not a note")
        return self.open_directory(locator.parent)

    def read_bytes(self, parent: Directory, locator: Locator) -> bytes:
        """The bytes of the file at `locator`, whose directory is open."""
        status = self.existing(parent, locator)
        if stat.S_ISDIR(status.st_mode):
            raise NotFoundError(f"'{locator}' is a directory, not a note")
        self.medium.before_reading(locator, status)
        try:
            return parent.read_file(locator.name, self.size_limit)[0]
        except TooLarge as error:
            check_size(error.size, locator, limit=self.size_limit)
            raise
        except OSError as error:
            self.medium.when_unreadable(locator, error)
            raise

    def hash_of(self, parent: Directory, locator: Locator, status: os.stat_result) -> str:
        """The content hash of the file at `locator`, of any size, unless the medium has a reason not to read it."""
        self.medium.before_reading(locator, status)
        try:
            return parent.hash_file(locator.name)
        except OSError as error:
            self.medium.when_unreadable(locator, error)
            raise

    def looked_at(self, directory: Directory, locator: Locator) -> dict[str, os.stat_result]:
        """The statuses of what keys below `locator` reach, by the names that the keys have, in any order."""
        try:
            found = directory.statuses()
        except OSError:  # something has vanished meanwhile, or fails that may not even be shown
            listed = self.listed(directory, locator, directory.kinds())
            statuses = {name: directory.status(stored) for name, stored in listed.items()}
            return {name: status for name, status in statuses.items() if status is not None}
        are_stored = {status[0] & _KIND for status in found.values()} <= _STORED
        if self._shows_all_names and are_stored and locator.takes_plainly([*found]):
            return found
        kinds = {name: status[0] & _KIND for name, status in found.items()}
        return {name: found[stored] for name, stored in self.listed(directory, locator, kinds).items()}

    def listed(self, directory: Directory, locator: Locator, kinds: dict[str, int]) -> dict[str, str]:
        """The names that keys below `locator` have, sorted, each with the name that the directory has for it."""
        names = sorted(name for name, kind in kinds.items() if kind in _STORED)
        shown = {name: name for name in names}
        if not self._shows_all_names:
            shown = dict(sorted(self._shown(names, frozenset(name for name in names if kinds[name] == _FILE))))
        if locator.takes_plainly([*shown]):
            return shown
        return dict(sorted(self._spelled(shown, directory, locator)))

    def _shown(self, names: list[str], files: frozenset[str]) -> Iterator[tuple[str, str]]:
        """What the medium makes of the names in a directory: the note that each stands for, if it shows one."""
        for stored in names:
            name = self.medium.note_name(stored)
            if self.medium.is_hidden(name) or (stored in files and self.medium.is_copy(name, files.__contains__)):
                continue
            if name == stored or name not in files:  # otherwise the note has come, and what held its place stayed
                yield name, stored

    def _spelled(self, names: dict[str, str], directory: Directory, locator: Locator) -> Iterator[tuple[str, str]]:
        """Those of the names that a key can have, as the key has them."""
        for name, stored in names.items():
            try:
                composed = locator.child(name).name
            except errors.InvalidLocatorError:
                continue
            if composed == name or directory.has_twice(composed, stored):
                yield composed, stored  # and not a decomposed name that its composed key does not reach

    def existing(self, parent: Directory, locator: Locator) -> os.stat_result:
        """The status of what is stored at `locator`: a file or a directory, or an error."""
        name = locator.name
        status = None if self.medium.is_hidden(name) else parent.status(name)
        if status is None or not is_spelled_like_this(parent, name, status):
            self.medium.when_missing(parent, locator)
            raise NotFoundError(f"'{locator}' does not exist")
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise _not_followed(locator.key, status)
        if stat.S_ISREG(status.st_mode) and self.medium.is_copy(name, parent.has_file):
            raise NotFoundError(f"'{locator}' is not a note but a conflict copy that a sync tool made of one")
        return status


def enter_exactly(directory: Directory, name: str) -> Directory | None:
    """The directory of exactly that name, or `None`; for a file or a link an `OSError` of the `NO_DIRECTORY` kind.

    It is entered before it is looked at: that follows no link and waits for nothing, so being wrong costs nothing.
    """
    try:
        child = directory.enter(name)
    except FileNotFoundError:
        return None
    is_it = False
    try:
        is_it = is_spelled_like_this(directory, name, child)
    finally:
        if not is_it:
            child.close()
    return child if is_it else None


def info_of(locator: Locator, status: os.stat_result) -> Info:
    """With a change token of its inode, time of change and size. A walk makes thousands: fields by number."""
    is_dir = stat.S_ISDIR(status[0])
    version = "%x-%x-%x" % (status[1], status.st_ctime_ns, status[6])  # noqa: UP031
    return Info(locator, is_dir, 0 if is_dir else status[6], status.st_mtime, version)


def versions_of_files(statuses: dict[str, os.stat_result]) -> dict[str, str]:
    """The same tokens of the files among them; thousands of calls are worth a second line like the one above."""
    return {
        name: "%x-%x-%x" % (status[1], status.st_ctime_ns, status[6])  # noqa: UP031
        for name, status in statuses.items()
        if status[0] & _KIND == _FILE
    }


def kind_of(status: os.stat_result) -> str:
    """What stands where a file or directory should, in words."""
    if stat.S_ISDIR(status.st_mode):
        return "a directory"
    return "a symbolic link" if stat.S_ISLNK(status.st_mode) else "neither a file nor a directory"


def _not_followed(key: str, status: os.stat_result) -> StorageIOError:
    return StorageIOError(
        f"'{key}' is {kind_of(status)}; agentm does not follow or open it",
        errno=errno.ELOOP if stat.S_ISLNK(status.st_mode) else errno.EINVAL,
        hint="replace it by the file or directory itself, or move it out of the store",
    )
