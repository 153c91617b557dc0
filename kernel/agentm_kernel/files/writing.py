"""Changing what is stored: one writer at a time, conditions checked where nobody can come between."""

from __future__ import annotations

import os
import stat
import time

from agentm_kernel import errors
from agentm_kernel.errors import AgentmError, LocatorConflictError, NotFoundError
from agentm_kernel.files import Opened, exchange, user_directory
from agentm_kernel.files.appending import Appending, NoRecord, wait_until_settled
from agentm_kernel.files.atomic import Draft, replace_file
from agentm_kernel.files.displaced import DisplacedVersions
from agentm_kernel.files.known_names import FolderNames, KnownNames
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.reading import Failures, StoreReader, enter_exactly, is_spelled_like_this, kind_of
from agentm_kernel.files.swap import GONE, SwapPublisher, changed, remove
from agentm_kernel.files.tree import NO_DIRECTORY, Directory, Identity, make_root
from agentm_kernel.seam import update
from agentm_kernel.seam.backend import ABSENT, Absent
from agentm_kernel.seam.content import content_hash, encode_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.files.store import FileStore
    from agentm_kernel.seam.locator import Locator

    _Condition = str | Absent | None
    _OpenFolder = Callable[[Locator, Directory], Directory]
    _Change = Callable[[Directory], bool]

_USED_UNDER_THE_MUTEX = (exchange, update)
"""Imported before it is taken: a child that is forked during an import waits for that import for ever."""

_PATIENCE = 10
_EMPTY = content_hash(b"")


class StoreWriter:
    """The same tree as the verbs of a `FileStore` see, by bytes, under the store's mutex; and what its verbs change.

    `FileStore.tree` gives it to plugins that compare or bring in whole files. The medium's naming rules hold; its
    `before_change` and `after_change` are not called.
    """

    def __init__(self, store: FileStore, reader: StoreReader) -> None:
        self.reader = reader
        self.displaced = DisplacedVersions(self)
        self.appending = Appending(self, store.state_dir or user_directory("state", os.environ))
        self.crowded_until = 0.0
        self.store, self._names = store, KnownNames()
        self._dir_mode = 0o700 if store.private else 0o777
        self._durable: set[Identity] = set()

    def read(self, locator: Locator) -> bytes | None:
        """What is stored at `locator`; `None` for nothing, and for a directory."""
        try:
            with Failures("read", locator, reading=True), self.reader.open_parent(locator) as parent:
                return self.reader.read_bytes(parent, locator)
        except NotFoundError:
            return None

    def hash(self, locator: Locator) -> str | None:
        """The content hash of the file at `locator`, of any size and kind of text; `None` where no file is."""
        try:
            with Failures("read", locator, reading=True), self.reader.open_parent(locator) as parent:
                status = parent.status(locator.name)
                if status is None or not stat.S_ISREG(status.st_mode):
                    return None
                return self.reader.hash_of(parent, locator, status)
        except NotFoundError:
            return None

    def write_text(self, locator: Locator, content: str, if_match: _Condition) -> None:
        self.write(locator, encode_content(content, locator, limit=self.reader.size_limit), if_match)

    def write(self, locator: Locator, data: bytes, if_match: _Condition = None) -> None:
        """As the verb, with bytes that need not be text."""

        def change(parent: Directory) -> bool:
            self.appending.settle(locator)
            self._replace(parent, locator, data, if_match, draft)
            return True

        _check_not_root(locator)
        # A note that must exist has its directories already.
        open_folder = self.reader.open_directory if isinstance(if_match, str) else self.make_directories
        draft = Draft(self, locator, data)
        with Failures("write", locator):
            try:
                self._change(locator.parent, open_folder, change, draft)
            except NotFoundError:
                if isinstance(if_match, str):
                    raise changed(locator, GONE) from None
                raise
            finally:
                draft.drop()

    def append_text(self, locator: Locator, text: str) -> bool:
        """Add to the end of a note, on a line of its own, without replacing it; one that is missing is made.

        `False`, and nothing done, where no record can be kept of that.
        """

        def change(parent: Directory) -> bool:
            """Whether that took a new file."""
            name = locator.name
            self._check_not_hidden(locator, name, is_copy=self.reader.medium.is_copy(name, parent.has_file))
            recent = self.appending.settle()
            for _ in range(_PATIENCE):
                status = parent.status(name)
                if status is not None and is_spelled_like_this(parent, name, status):
                    if self.appending.add(parent, locator, status, data, recent):
                        return False
                    continue  # another program has just replaced it
                try:
                    # Recorded too: an editor that has just moved the file away will write over the new one.
                    self.appending.announce(locator, 0, 0, data, recent)
                    self._replace(parent, locator, data, ABSENT)
                    return True
                except errors.ConcurrentModificationError:
                    continue  # another program has just made it
            raise changed(locator, "another program replaces it all the time")

        data = encode_content(text, locator, limit=self.reader.size_limit)
        _check_not_root(locator)
        try:
            with Failures("append to", locator):
                self._change(locator.parent, self.make_directories, change)
        except NoRecord:
            return False
        return True

    def make_directory(self, locator: Locator) -> None:
        with Failures("make the directory", locator):
            self._change(locator, self.make_directories, lambda _: False)

    def remove_empty_directory(self, locator: Locator) -> bool:
        """Whether there was an empty directory, which is gone now."""
        try:
            with self.reader.open_parent(locator) as parent:
                parent.remove_dir(locator.name)
        except OSError:  # not found, not empty, not a directory
            return False
        return True

    def delete(self, locator: Locator, if_match: str | None = None) -> None:
        """As the verb."""

        def change(parent: Directory) -> bool:
            status = self.reader.existing(parent, locator)
            if stat.S_ISDIR(status.st_mode):
                raise LocatorConflictError(f"'{locator}' is a directory; only files are deleted")
            self.appending.settle(locator)
            try:
                seen = self._seen(parent, locator, status, if_match)
            except (OSError, AgentmError):
                if if_match is not None:
                    raise
                seen = None  # what cannot be read can still be deleted
            if seen is None:
                parent.unlink(locator.name)
            else:
                remove(self.displaced, parent, locator, seen, is_conditional=if_match is not None)
            return True

        _check_not_root(locator)
        with Failures("delete", locator):
            self._change(locator.parent, self.reader.open_directory, change)

    def _change(self, folder: Locator, open_folder: _OpenFolder, change: _Change, draft: Draft | None = None) -> None:
        """Do it in the open folder, alone with the store. If it says so, the folder's names are made durable then.

        That needs no mutex. Nobody has been told yet that the change is there; and whoever sees it meanwhile, and
        changes the same folder, makes both durable.
        """
        self.reader.check_root_link()
        if self.store.create_root and self.reader.root_identity is None:
            make_root(self.reader.root, self._dir_mode)
        if draft is not None and time.monotonic() < self.crowded_until:
            draft.make()  # others were met just now: nobody gets ahead by finding the mutex free
        mutex = store_mutex(
            self.reader.root,
            timeout=self.store.lock_timeout,
            meanwhile=None if draft is None else draft.meet_others,
            follow_link=self.store.follow_root_link,
        )
        with mutex:
            lent = mutex.root  # the very descriptor that was locked: nothing can come between the two
            root = self.reader.open_root() if lent is None else self.reader.pin(Directory(*lent, lent=True))
            with self.displaced.swept_once(open_folder(folder, root)) as directory:
                try:
                    has_changed = change(directory)
                finally:  # after the change: what a displaced version has more is added to the note as it is then
                    self.displaced.settle(directory, folder)
                mutex.unlock()
                if has_changed:
                    directory.sync()

    def _replace(
        self, parent: Directory, locator: Locator, data: bytes, if_match: _Condition, draft: Draft | None = None
    ) -> None:
        name, medium, seen, listed = locator.name, self.reader.medium, None, None
        self._check_not_hidden(locator, name, is_copy=medium.is_copy(name, parent.has_file))
        known = None if isinstance(if_match, str) else self._names.known(parent)
        if known is not None and known.may_have(name):
            known = None
        parent.known_names = known
        status = parent.status(name) if known is None else None
        if status is None or not is_spelled_like_this(parent, name, status):
            if isinstance(if_match, str):
                raise changed(locator, GONE)
            medium.when_missing(parent, locator)
            listed = self._check_new_name(parent, locator, name) if known is None else known
            medium.check_new_name(locator, listed)
            status = None
        elif not stat.S_ISREG(status.st_mode):
            raise LocatorConflictError(f"'{locator}' is {kind_of(status)}, so no note can be stored there")
        elif if_match is ABSENT:
            raise changed(locator, "it exists already")
        else:
            seen = self._seen(parent, locator, status, if_match if isinstance(if_match, str) else None)
        publish = SwapPublisher(self.displaced, locator, data, seen, is_conditional=if_match is not None)
        try:
            replace_file(parent, name, data, status, publish, draft, is_synced_later=True)
        except FileExistsError:
            raise changed(locator, "it exists already") from None
        except OSError:
            self.displaced.sweep_again(parent)  # a failing disk may have kept the temp file
            raise
        if listed is not None:
            self._names.remember(parent, listed, name)

    def _seen(self, parent: Directory, locator: Locator, status: os.stat_result, expected: str | None) -> str | None:
        """The content hash of the note that has `status`, and must be as expected; `None` if it has just gone."""
        try:
            digest = self.reader.hash_of(parent, locator, status)
            if digest == _EMPTY and expected is not None:
                with Opened(parent.open_file(locator.name)) as descriptor:
                    wait_until_settled(descriptor)  # a program that has just emptied it gets the time to write
                digest = self.reader.hash_of(parent, locator, status)
        except FileNotFoundError:
            if expected is not None:
                raise changed(locator, GONE) from None
            return None
        if expected not in (None, digest):
            raise changed(locator, "its content is not what was expected")
        return digest

    def _check_not_hidden(self, key: Locator | str, name: str, *, is_copy: bool = False) -> None:
        if is_copy or self.reader.medium.is_hidden(name):
            raise errors.InvalidLocatorError(
                f"invalid locator '{key}': {ascii(name)} is a name that the store's sync tool uses here",
                hint="choose another name for the note",
            )

    def _check_new_name(self, directory: Directory, key: Locator | str, name: str) -> FolderNames:
        """Raise unless `name`, the last of `key`, may come into being beside those that `directory` has: these."""
        listed = FolderNames(directory.names())
        other = listed.clashing_with(name)
        if other is not None:
            raise LocatorConflictError(
                f"'{key}' differs only in case or Unicode form from the stored {ascii(other)} beside it",
                hint="use the stored spelling: on Windows and macOS the two would be one file",
            )
        return listed

    def make_directories(self, locator: Locator, root: Directory | None = None) -> Directory:
        """The directory at `locator`, made if need be, to be closed by the caller, who holds the mutex."""
        directory, parts = root or self.reader.open_root(), locator.parts
        for depth, name in enumerate(parts, 1):
            with directory:
                directory = self._enter_or_make(directory, "/".join(parts[:depth]), name)
        return directory

    def _enter_or_make(self, directory: Directory, key: str, name: str) -> Directory:
        self._check_not_hidden(key, name)
        try:
            child = enter_exactly(directory, name)
            is_new = child is None
            if child is None:
                self._check_new_name(directory, key, name)
                try:
                    directory.make_dir(name, self._dir_mode)
                except FileExistsError:
                    pass  # a sync client was faster; entering what it made will tell
                child = directory.enter(name)
                if not self.store.private:
                    directory.share(child)
        except OSError as error:
            if error.errno not in NO_DIRECTORY:
                raise
            raise LocatorConflictError(f"'{key}' is not a directory, so nothing can be stored below it") from None
        try:
            # One that was there already: its maker may have died before it was durable.
            if is_new or child.identity not in self._durable:
                directory.sync()
                self._durable.add(child.identity)
        except BaseException:
            child.close()
            raise
        return child


def _check_not_root(locator: Locator) -> None:
    if not locator.key:
        raise LocatorConflictError("the root of the store is a directory; name a note below it")


BytesTree = StoreWriter
