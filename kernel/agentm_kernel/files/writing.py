"""Changing what is stored: one writer at a time, conditions checked where nobody can come between."""

from __future__ import annotations

import stat

from agentm_kernel.errors import InvalidLocatorError, LocatorConflictError, NotFoundError
from agentm_kernel.files.atomic import publish_new, publish_over, replace_file
from agentm_kernel.files.failures import Failures, changed
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.reading import enter_exactly, identity_of, kind_of
from agentm_kernel.files.root import make_root
from agentm_kernel.files.small_files import signature_of
from agentm_kernel.files.spelling import clashing_name, is_spelled_like_this
from agentm_kernel.files.tree import NO_DIRECTORY, FdDirectory
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash, encode_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from agentm_kernel.files.atomic import Publish
    from agentm_kernel.files.mutex import StoreMutex
    from agentm_kernel.files.reading import StoreReader
    from agentm_kernel.files.swap import ConflictKeeper
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.backend import Absent
    from agentm_kernel.seam.locator import Locator


class StoreWriter:
    """The changing half of a `FileStore`, over the same tree as its reader."""

    def __init__(self, reader: StoreReader, *, create_root: bool, private: bool, lock_timeout: float) -> None:
        self._reader = reader
        self._create_root = create_root
        self._dir_mode = 0o700 if private else 0o777
        self._lock_timeout = lock_timeout
        self._swept: set[tuple[int, int]] = set()
        self._durable: set[tuple[int, int]] = set()

    def write_text(self, locator: Locator, content: str, if_match: str | Absent | None) -> None:
        self.write(locator, encode_content(content, locator, limit=self._reader.size_limit), if_match)

    def write(self, locator: Locator, data: bytes, if_match: str | Absent | None) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; name a note below it")
        with (
            Failures("write", locator),
            self._exclusively() as mutex,
            self._parent_for_writing(locator, if_match, self._root(mutex)) as parent,
        ):
            self._replace(parent, locator, data, if_match)

    def make_directory(self, locator: Locator) -> None:
        with Failures("make the directory", locator), self._exclusively() as mutex:
            self.make_directories(locator, self._root(mutex)).close()

    def delete(self, locator: Locator, if_match: str | None) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; only files are deleted")
        with (
            Failures("delete", locator),
            self._exclusively() as mutex,
            self._swept_once(self._reader.open_parent(locator, self._root(mutex)), locator.parent) as parent,
        ):
            status = self._reader.existing(parent, locator)
            if stat.S_ISDIR(status.st_mode):
                raise LocatorConflictError(f"'{locator}' is a directory; only files are deleted")
            self._remove(parent, locator, if_match)
            parent.sync()

    # -- one file -------------------------------------------------------------------------------------------

    def _replace(self, parent: Directory, locator: Locator, data: bytes, if_match: str | Absent | None) -> None:
        name = locator.name
        self._check_not_hidden(locator, is_copy=self._reader.medium.is_copy(name, parent.has_file))
        status = parent.status(name)
        if status is None or not is_spelled_like_this(parent, name, identity_of(status)):
            if if_match is not None and if_match is not ABSENT:
                raise changed(locator, "it is not there any more")
            self._reader.medium.when_missing(parent, locator)
            self._reader.medium.check_new_name(locator, self._check_new_name(parent, locator))
            status = None
        elif not stat.S_ISREG(status.st_mode):
            raise LocatorConflictError(f"'{locator}' is {kind_of(status)}, so no note can be stored there")
        elif if_match is ABSENT:
            raise changed(locator, "it exists already")
        elif isinstance(if_match, str):
            self._compare(parent, locator, if_match)
        try:
            replace_file(parent, name, data, status, publish=self._publisher(parent, locator, data, status, if_match))
        except FileExistsError:
            raise changed(locator, "it exists already") from None
        except OSError:
            self.sweep_again(parent)  # a failing disk may have kept the temp file
            raise

    def _publisher(
        self,
        parent: Directory,
        locator: Locator,
        data: bytes,
        status: os.stat_result | None,
        if_match: str | Absent | None,
    ) -> Publish:
        """How the finished temp file with `data` takes the note's name; `status` is what has the name now."""
        medium = self._reader.medium
        if not medium.has_other_writers:
            if isinstance(if_match, str) and status is not None:
                return _PublishUnlessChanged(locator, status)
            return publish_new if if_match is ABSENT else publish_over
        from agentm_kernel.files.swap import SwapPublisher, hash_of_note

        if status is None:
            seen = None
        elif isinstance(if_match, str):
            seen = if_match  # compared a moment ago
        else:
            try:
                seen = hash_of_note(medium, parent, locator, status)
            except FileNotFoundError:
                seen = None  # it has just gone
        return SwapPublisher(self._keeper, locator, data, seen, is_conditional=if_match is not None)

    def _remove(self, parent: Directory, locator: Locator, if_match: str | None) -> None:
        if if_match is not None:
            self._compare(parent, locator, if_match)
            if self._reader.medium.has_other_writers:
                from agentm_kernel.files.swap import remove

                remove(self._keeper, parent, locator, if_match)
                return
        parent.unlink(locator.name)

    @property
    def _keeper(self) -> ConflictKeeper:
        from agentm_kernel.files.swap import ConflictKeeper

        return ConflictKeeper(self._reader.medium, self)

    def _compare(self, parent: Directory, locator: Locator, expected: str) -> None:
        try:
            data = self._reader.read_bytes(parent, locator)
        except (NotFoundError, FileNotFoundError):
            raise changed(locator, "it is not there any more") from None
        if content_hash(data) != expected:
            raise changed(locator, "its content is not what was expected")

    def _check_not_hidden(self, locator: Locator, *, is_copy: bool = False) -> None:
        if is_copy or self._reader.medium.is_hidden(locator.name):
            raise InvalidLocatorError(
                f"invalid locator '{locator}': {ascii(locator.name)} is a name that the store's sync tool uses here",
                hint="choose another name for the note",
            )

    def _check_new_name(self, directory: Directory, locator: Locator) -> list[str]:
        """Raise unless the last name of `locator` may come into being beside those that `directory` has: these."""
        name = locator.name
        names = directory.names()
        other = clashing_name(names, name)
        if other is not None:
            raise LocatorConflictError(
                f"'{locator}' differs only in case or Unicode form from the stored {ascii(other)} beside it",
                hint="use the stored spelling: on Windows and macOS the two would be one file",
            )
        return names

    # -- directories ----------------------------------------------------------------------------------------

    def _exclusively(self) -> StoreMutex:
        """The store's mutex, having made the root where this store may."""
        root = self._reader.root
        if self._create_root and not self._reader.has_seen_root:
            make_root(root, self._dir_mode)
        return store_mutex(root, timeout=self._lock_timeout)

    def _root(self, mutex: StoreMutex) -> Directory:
        """The root, by the very descriptor that was locked where there is one: nothing can come between the two."""
        descriptor = mutex.root_descriptor
        return (
            self._reader.open_root() if descriptor is None else self._reader.pin(FdDirectory(descriptor, lent=True))
        )

    def _parent_for_writing(self, locator: Locator, if_match: str | Absent | None, root: Directory) -> Directory:
        if isinstance(if_match, str):  # a note that must exist has its directories already
            try:
                return self._swept_once(self._reader.open_parent(locator, root), locator.parent)
            except NotFoundError:
                raise changed(locator, "it is not there any more") from None
        return self.make_directories(locator.parent, root)

    def make_directories(self, locator: Locator, root: Directory | None = None) -> Directory:
        """The directory at `locator`, made if need be, to be closed by the caller, who holds the mutex."""
        directory = root or self._reader.open_root()
        for made in _lineage(locator):
            with directory:
                directory = self._enter_or_make(directory, made)
        return self._swept_once(directory, locator)

    def _enter_or_make(self, directory: Directory, made: Locator) -> Directory:
        self._check_not_hidden(made)
        try:
            child = enter_exactly(directory, made.name)
            is_new = child is None
            if child is None:
                child = self._make(directory, made)
        except OSError as error:
            if error.errno not in NO_DIRECTORY:
                raise
            raise LocatorConflictError(f"'{made}' is not a directory, so nothing can be stored below it") from None
        try:
            # One that was there already: its maker may have died before it was durable.
            if is_new or child.identity not in self._durable:
                directory.sync()
                self._durable.add(child.identity)
        except BaseException:
            child.close()
            raise
        return child

    def _make(self, directory: Directory, made: Locator) -> Directory:
        self._check_new_name(directory, made)
        try:
            directory.make_dir(made.name, self._dir_mode)
        except FileExistsError:
            pass  # a sync client was faster; entering what it made will tell
        return directory.enter(made.name)

    def sweep_again(self, directory: Directory) -> None:
        """Let the next write to `directory` look for leftovers once more."""
        self._swept.discard(directory.identity)

    def _swept_once(self, directory: Directory, locator: Locator) -> Directory:
        """`directory`, without what killed writers left in it: looked for once per process, under the mutex."""
        if directory.identity not in self._swept:
            self._swept.add(directory.identity)  # before the sweep, which may have something to keep in here
            try:
                self._sweep(directory, locator)
            except BaseException:
                self.sweep_again(directory)
                directory.close()
                raise
        return directory

    def _sweep(self, directory: Directory, locator: Locator) -> None:
        if not self._reader.medium.has_other_writers:
            directory.sweep()
            return
        from agentm_kernel.files.swap import recover

        recover(self._keeper, directory, locator)


class _PublishUnlessChanged:
    """Looks once more before the rename: writing the temp file took long enough for an editor to save."""

    def __init__(self, locator: Locator, seen: os.stat_result) -> None:
        self._locator = locator
        self._seen = signature_of(seen)

    def __call__(self, directory: Directory, temp: str, name: str) -> None:
        status = directory.status(name)
        if status is None or signature_of(status) != self._seen:
            raise changed(self._locator, "another program has just changed it")
        directory.replace(temp, name)


def _lineage(locator: Locator) -> list[Locator]:
    """`locator` and what is above it, outermost first, without the root."""
    lineage = []
    while locator.key:
        lineage.append(locator)
        locator = locator.parent
    lineage.reverse()
    return lineage
