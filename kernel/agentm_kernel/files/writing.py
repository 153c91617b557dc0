"""Changing what is stored: one writer at a time, conditions checked where nobody can come between."""

from __future__ import annotations

import os
import stat
import time
from itertools import accumulate

from agentm_kernel.errors import (
    AgentmError,
    ConcurrentModificationError,
    InvalidLocatorError,
    LocatorConflictError,
    NotFoundError,
)
from agentm_kernel.files import user_directory
from agentm_kernel.files.append_records import AppendRecords, NoRecord
from agentm_kernel.files.appending import append, settle_records, settle_records_of, wait_until_settled
from agentm_kernel.files.atomic import replace_file
from agentm_kernel.files.displaced import DisplacedVersions
from agentm_kernel.files.draft import Draft
from agentm_kernel.files.failures import Failures, changed
from agentm_kernel.files.known_names import FolderNames, KnownNames
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.reading import enter_exactly, identity_of, is_spelled_like_this, kind_of
from agentm_kernel.files.root import make_root
from agentm_kernel.files.swap import ConflictKeeper, SwapPublisher, hash_of_note, remove
from agentm_kernel.files.tree import NO_DIRECTORY, Directory
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import check_size, content_hash, encode_content
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.mutex import StoreMutex
    from agentm_kernel.files.reading import StoreReader
    from agentm_kernel.seam.backend import Absent

    _Condition = str | Absent | None

_PATIENCE = 10
_CROWDED = 0.1  # seconds after meeting another writer for which more are expected


class StoreWriter:
    """The changing half of a `FileStore`, over the same tree as its reader."""

    def __init__(
        self, reader: StoreReader, *, create_root: bool, private: bool, lock_timeout: float, state_dir: str
    ) -> None:
        self.reader = reader
        self._state_dir = state_dir
        self._create_root = create_root
        self._dir_mode = 0o700 if private else 0o777
        self._lock_timeout = lock_timeout
        self.displaced = DisplacedVersions()
        self._keeper = ConflictKeeper(reader.medium, self)
        self._names = KnownNames()
        self._append_records: AppendRecords | None = None
        self.swept: set[tuple[int, int]] = set()
        self._crowded_until = 0.0
        self._durable: set[tuple[int, int]] = set()

    def write_text(self, locator: Locator, content: str, if_match: _Condition) -> None:
        self.write(locator, encode_content(content, locator, limit=self.reader.size_limit), if_match)

    def write(self, locator: Locator, data: bytes, if_match: _Condition) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; name a note below it")
        with (
            Failures("write", locator),
            Draft(self, locator, data) as draft,
            self._exclusively(draft) as mutex,
            self._parent_for_writing(locator, if_match, self._root(mutex)) as parent,
        ):
            try:
                settle_records_of(self, locator)
                self._replace(parent, locator, data, if_match, draft)
            finally:  # after the write: what a displaced version has more is added to the note as it is then
                self.displaced.settle(self._keeper, parent, locator.parent)

    def append_text(self, locator: Locator, text: str) -> None:
        """Add to the end of a note, on a line of its own, without replacing it; one that is missing is made."""
        data = encode_content(text, locator, limit=self.reader.size_limit)
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; name a note below it")
        with (
            Failures("append to", locator),
            self._exclusively() as mutex,
            self.make_directories(locator.parent, self._root(mutex)) as parent,
        ):
            try:
                self._append(parent, locator, data)
            finally:
                self.displaced.settle(self._keeper, parent, locator.parent)

    def make_directory(self, locator: Locator) -> None:
        with (
            Failures("make the directory", locator),
            self._exclusively() as mutex,
            self.make_directories(locator, self._root(mutex)) as directory,
        ):
            self.displaced.settle(self._keeper, directory, locator)

    def delete(self, locator: Locator, if_match: str | None) -> None:
        if not locator.key:
            raise LocatorConflictError("the root of the store is a directory; only files are deleted")
        with (
            Failures("delete", locator),
            self._exclusively() as mutex,
            self._swept_once(self.reader.open_parent(locator, self._root(mutex)), locator.parent) as parent,
        ):
            status = self.reader.existing(parent, locator)
            if stat.S_ISDIR(status.st_mode):
                raise LocatorConflictError(f"'{locator}' is a directory; only files are deleted")
            try:
                settle_records_of(self, locator)
                self._remove(parent, locator, status, if_match)
                parent.sync()
            finally:
                self.displaced.settle(self._keeper, parent, locator.parent)

    # -- one file -------------------------------------------------------------------------------------------

    def _append(self, parent: Directory, locator: Locator, data: bytes) -> None:
        name = locator.name
        self._check_not_hidden(locator, is_copy=self.reader.medium.is_copy(name, parent.has_file))
        recent = settle_records(self)
        for _ in range(_PATIENCE):
            status = parent.status(name)
            try:
                if status is None or not is_spelled_like_this(parent, name, identity_of(status)):
                    self.append_records.forget_all_but(recent)
                    self._replace(parent, locator, data, ABSENT)
                    return
                if append(self, parent, locator, data, recent):
                    return
            except NoRecord:
                self._append_by_replacing(parent, locator, data)
                return
            except ConcurrentModificationError:
                continue  # another program has just made it
        raise changed(locator, "another program creates and deletes it all the time")

    def _append_by_replacing(self, parent: Directory, locator: Locator, data: bytes) -> None:
        """Where no record can be kept: in a sandbox that leaves only the checkout to write to."""
        for _ in range(_PATIENCE):
            current = self.reader.read_bytes(parent, locator)
            joined = current + (b"" if not current or current.endswith(b"\n") else b"\n") + data
            check_size(len(joined), locator, limit=self.reader.size_limit)
            try:
                self._replace(parent, locator, joined, content_hash(current))
                return
            except ConcurrentModificationError:
                continue
        raise changed(locator, "another program changes it all the time")

    @property
    def append_records(self) -> AppendRecords:
        """The records of the last appends to this store. For the holder of the mutex."""
        if self._append_records is None:
            assert self.reader.root_identity is not None
            state_dir = self._state_dir or user_directory("state", os.environ)
            self._append_records = AppendRecords(self.reader.root, self.reader.root_identity[1], state_dir)
        return self._append_records

    def keep_bytes(self, note: Locator, data: bytes) -> None:
        """Put bytes where versions of `note` go that nobody has seen."""
        self._keeper.keep_bytes(note, data)

    def _replace(
        self, parent: Directory, locator: Locator, data: bytes, if_match: _Condition, draft: Draft | None = None
    ) -> None:
        name = locator.name
        self._check_not_hidden(locator, is_copy=self.reader.medium.is_copy(name, parent.has_file))
        listed, known = None, None if isinstance(if_match, str) else self._names.known(parent)
        status = parent.status(name) if known is None or known.may_have(name) else None
        if status is None or not is_spelled_like_this(parent, name, identity_of(status)):
            if if_match is not None and if_match is not ABSENT:
                raise changed(locator, "it is not there any more")
            self.reader.medium.when_missing(parent, locator)
            listed = self._check_new_name(parent, locator, known if status is None else None)
            self.reader.medium.check_new_name(locator, listed)
            status = None
        elif not stat.S_ISREG(status.st_mode):
            raise LocatorConflictError(f"'{locator}' is {kind_of(status)}, so no note can be stored there")
        elif if_match is ABSENT:
            raise changed(locator, "it exists already")
        elif isinstance(if_match, str):
            self._compare(parent, locator, if_match)
        seen = self._seen(parent, locator, status, if_match)
        publisher = SwapPublisher(self._keeper, locator, data, seen, is_conditional=if_match is not None)

        def publish(directory: Directory, temp: str, name: str) -> None:
            publisher(directory, temp, name)
            if listed is not None:
                self._names.remember(directory, listed, name)

        try:
            replace_file(parent, name, data, status, publish=publish, draft=draft)
        except FileExistsError:
            raise changed(locator, "it exists already") from None
        except OSError:
            self.sweep_again(parent)  # a failing disk may have kept the temp file
            raise

    def _seen(
        self, parent: Directory, locator: Locator, status: os.stat_result | None, if_match: _Condition
    ) -> str | None:
        """The content hash of the note that has `status`; `None` if there is none."""
        if status is None:
            return None
        if isinstance(if_match, str):
            return if_match  # compared a moment ago
        try:
            return hash_of_note(self.reader.medium, parent, locator, status)
        except FileNotFoundError:
            return None  # it has just gone

    def _remove(self, parent: Directory, locator: Locator, status: os.stat_result, if_match: str | None) -> None:
        if if_match is not None:
            self._compare(parent, locator, if_match)
            remove(self._keeper, parent, locator, if_match, is_conditional=True)
            return
        try:
            seen = hash_of_note(self.reader.medium, parent, locator, status)
        except (OSError, AgentmError):
            parent.unlink(locator.name)  # what cannot be read can still be deleted
            return
        remove(self._keeper, parent, locator, seen, is_conditional=False)

    def _compare(self, parent: Directory, locator: Locator, expected: str) -> None:
        try:
            data = self.reader.read_bytes(parent, locator)
            if not data:
                data = self._read_again(parent, locator)
        except (NotFoundError, FileNotFoundError):
            raise changed(locator, "it is not there any more") from None
        if content_hash(data) != expected:
            raise changed(locator, "its content is not what was expected")

    def _read_again(self, parent: Directory, locator: Locator) -> bytes:
        """The bytes of a file that is empty, once a program that has just emptied it had the time to write."""
        descriptor = parent.open_file(locator.name)
        try:
            wait_until_settled(descriptor)
        finally:
            os.close(descriptor)
        return self.reader.read_bytes(parent, locator)

    def _check_not_hidden(self, locator: Locator, *, is_copy: bool = False) -> None:
        if is_copy or self.reader.medium.is_hidden(locator.name):
            raise InvalidLocatorError(
                f"invalid locator '{locator}': {ascii(locator.name)} is a name that the store's sync tool uses here",
                hint="choose another name for the note",
            )

    def _check_new_name(self, directory: Directory, locator: Locator, known: FolderNames | None) -> FolderNames:
        """Raise unless the last name of `locator` may come into being beside those that `directory` has: these."""
        listed = FolderNames(directory.names()) if known is None else known
        other = listed.clashing_with(locator.name)
        if other is not None:
            raise LocatorConflictError(
                f"'{locator}' differs only in case or Unicode form from the stored {ascii(other)} beside it",
                hint="use the stored spelling: on Windows and macOS the two would be one file",
            )
        return listed

    # -- directories ----------------------------------------------------------------------------------------

    def _exclusively(self, draft: Draft | None = None) -> StoreMutex:
        """The store's mutex, having made the root where this store may.

        The draft is made by who has to wait, and at once in a crowd: nobody gets ahead by finding the mutex free.
        """
        root = self.reader.root
        self.reader.check_root_link()
        if self._create_root and self.reader.root_identity is None:
            make_root(root, self._dir_mode)
        if draft is not None and time.monotonic() < self._crowded_until:
            draft.make()
        meanwhile = None if draft is None else lambda: self._meet_others(draft)
        return store_mutex(root, timeout=self._lock_timeout, meanwhile=meanwhile)

    def _meet_others(self, draft: Draft) -> None:
        self._crowded_until = time.monotonic() + _CROWDED
        draft.make()

    def _root(self, mutex: StoreMutex) -> Directory:
        """The root, by the very descriptor that was locked where there is one: nothing can come between the two."""
        descriptor = mutex.root_descriptor
        self.reader.check_root_link()  # once more: the mutex follows links
        return self.reader.open_root() if descriptor is None else self.reader.pin(Directory(descriptor, lent=True))

    def _parent_for_writing(self, locator: Locator, if_match: _Condition, root: Directory) -> Directory:
        if isinstance(if_match, str):  # a note that must exist has its directories already
            try:
                return self._swept_once(self.reader.open_parent(locator, root), locator.parent)
            except NotFoundError:
                raise changed(locator, "it is not there any more") from None
        return self.make_directories(locator.parent, root)

    def make_directories(self, locator: Locator, root: Directory | None = None) -> Directory:
        """The directory at `locator`, made if need be, to be closed by the caller, who holds the mutex."""
        directory = root or self.reader.open_root()
        for made in Locator().known_children(accumulate(locator.parts, "{}/{}".format)):
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
        self._check_new_name(directory, made, self._names.known(directory))
        try:
            directory.make_dir(made.name, self._dir_mode)
        except FileExistsError:
            pass  # a sync client was faster; entering what it made will tell
        return directory.enter(made.name)

    def sweep_again(self, directory: Directory) -> None:
        """Let the next write to `directory` look for leftovers once more."""
        self.swept.discard(directory.identity)

    def _swept_once(self, directory: Directory, locator: Locator) -> Directory:
        """`directory`, without what killed writers left in it: looked for once per process, under the mutex."""
        if directory.identity_or_close() not in self.swept:
            self.swept.add(directory.identity)  # before the sweep, which may have something to keep in here
            try:
                self.displaced.find(directory, directory.sweep())
            except BaseException:
                self.sweep_again(directory)
                directory.close()
                raise
        return directory
