"""Adding to the end of a note without replacing it: programs that hold the file open lose nothing by that.

A write in place can be cut short, or be overwritten by a program that does not append. So

1. a record of what will be added, and where, is made durable in this device's state directory;
2. the bytes are added in one call, and made durable;
3. the name must still lead to the file that was added to; otherwise the new file gets the bytes too;
4. the record stays. Later appends, the next write of the note, and any write after two seconds look whether the bytes
   are there. Once they were found after two seconds the record is dropped. Bytes that were cut short are completed.
   Bytes that another program wrote over within a minute are kept as a version that nobody has seen; later than that,
   somebody edited the note, and may remove a line.
"""

from __future__ import annotations

import os
import stat
import time

from agentm_kernel.errors import AgentmError, LocatorConflictError, NotFoundError
from agentm_kernel.files import Opened, read_open_file, read_small_file
from agentm_kernel.files.atomic import write_all
from agentm_kernel.files.reading import kind_of
from agentm_kernel.files.tree import APPEND_FLAGS, Directory, identity_of, make_private_folder, open_root
from agentm_kernel.seam.content import check_size, content_hash
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.writing import StoreWriter

_SETTLING = 0.3  # seconds that a program may need from emptying a file, or from half a line, to the rest
_LONGEST_WAIT = 1.0  # for a program that is never through with its line
_PAUSE = 0.01
_EDITED_LATER = 60.0
_RECENT = 2.0
_MOST_JOINED = 4_096
_ANY_SIZE = 1 << 30
_RECORD_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)


class NoRecord(Exception):
    """Nothing is added in place: this device's state directory cannot be written to, or the file has two names."""


class Record:
    """What an append is about to do: `data` at `offset` of the file that has `inode`, 0 if it has to be made."""

    __slots__ = ("data", "inode", "key", "offset", "time")

    def __init__(self, key: str, inode: int, offset: int, when: float, data: bytes) -> None:
        self.key, self.inode, self.offset, self.time, self.data = key, inode, offset, when, data

    def encode(self) -> bytes:
        head = f"{self.inode} {self.offset} {self.time:.3f} {len(self.data)}\n{self.key}\n"
        return head.encode() + self.data

    def is_recent(self) -> bool:
        return abs(time.time() - self.time) < _RECENT  # its time is rounded: of one just made it may be to come

    def joined_to(self, last: Record) -> Record | None:
        """One record for both, if these bytes come right behind those of `last`. There may be hundreds of lines in
        the time for which they are recent, and each is looked for at every append.
        """
        is_next = (last.key, last.inode, last.offset + len(last.data)) == (self.key, self.inode, self.offset)
        if not is_next or len(last.data) + len(self.data) > _MOST_JOINED:
            return None
        return Record(self.key, self.inode, last.offset, self.time, last.data + self.data)


class AppendRecords:
    """The file with the records of one store's last appends. For the holder of the store's mutex."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._path = folder, os.path.join(folder, name)

    def read(self) -> list[Record]:
        """None where there are none, or none can be kept on this device: then nothing is appended in place."""
        if not os.access(self._path, os.F_OK):  # as nearly always, and for half the price of an exception
            return []
        try:
            digest, _, body = read_small_file(self._path, _ANY_SIZE).partition(b"\n")
        except OSError:
            return []
        records: list[Record] = []
        if content_hash(body).encode() != digest:
            return records  # it was cut short: then the last one's bytes were not added yet
        while body:
            numbers, key, body = body.split(b"\n", 2)
            inode, offset, when, size = numbers.split()
            data, body = body[: int(size)], body[int(size) :]
            records.append(Record(key.decode(), int(inode), int(offset), float(when), data))
        return records

    def write(self, records: list[Record]) -> None:
        """Make them durable, in the place of those before; `NoRecord` where that cannot be."""
        try:
            make_private_folder(self._folder)
            is_new = not os.path.lexists(self._path)
            self._write(_RECORD_FLAGS, records, is_durable=True)
            if is_new:
                with open_root(self._folder) as folder:
                    folder.sync()
        except OSError as error:
            raise NoRecord from error

    def forget_all_but(self, records: list[Record]) -> None:
        """The file stays: making it anew would cost the next append a sync of its folder."""
        try:
            self._write(_RECORD_FLAGS & ~os.O_CREAT, records, is_durable=False)
        except OSError:
            pass  # the bytes were found, and the next append finds them again

    def _write(self, flags: int, records: list[Record], *, is_durable: bool) -> None:
        body = b"".join(record.encode() for record in records)
        with Opened(os.open(self._path, flags, 0o600)) as descriptor:
            if records:
                write_all(descriptor, content_hash(body).encode() + b"\n" + body)
            if is_durable:
                os.fsync(descriptor)


class Appending:
    """Appends to one store, and what became of the last ones. For the holder of the store's mutex."""

    def __init__(self, writer: StoreWriter, state_dir: str) -> None:
        self._writer, self._reader = writer, writer.reader
        self._folder = os.path.join(state_dir, "appends")
        self._records: AppendRecords | None = None

    @property
    def records(self) -> AppendRecords:
        if self._records is None:
            with self._reader.open_root() as root:
                self._records = AppendRecords(self._folder, root.lasting_number(os.path.realpath(self._reader.root)))
        return self._records

    def add(
        self, parent: Directory, locator: Locator, status: os.stat_result, data: bytes, recent: list[Record]
    ) -> bool:
        """Whether `data` is now in the file at `locator`, which has `status`, on a line of its own; `False` if
        another file got the name meanwhile.

        `recent`: the records that `settle` has left. `NoRecord` where this device cannot keep any.
        """
        if not stat.S_ISREG(status.st_mode):
            raise LocatorConflictError(f"'{locator}' is {kind_of(status)}, so nothing can be added to it")
        if status.st_nlink > 1:
            raise NoRecord  # the file's other name, in a backup perhaps, is not ours to change
        self._reader.medium.before_reading(locator, status)
        try:
            opened = Opened(parent.open_file(locator.name, APPEND_FLAGS))
        except FileNotFoundError:
            return False
        with opened as descriptor:
            status = wait_until_settled(descriptor)
            if status.st_size and not _ends_with_a_line(descriptor, status.st_size):
                data = b"\n" + data
            check_size(status.st_size + len(data), locator, limit=self._reader.size_limit)
            self.announce(locator, identity_of(status)[1], status.st_size, data, recent)
            try:
                write_all(descriptor, data)
            except OSError:
                if os.fstat(descriptor).st_size == status.st_size:
                    self.records.forget_all_but(recent)  # nothing of it is there, and its writer is told so
                raise
            os.fsync(descriptor)
        now = parent.status(locator.name)
        if now is not None and identity_of(now) == identity_of(status):
            return True
        try:  # The file lost its name. Its successor may have been made from it, with these bytes.
            return data in parent.read_file(locator.name, _ANY_SIZE)[0]
        except FileNotFoundError:
            return False

    def announce(self, locator: Locator, inode: int, offset: int, data: bytes, recent: list[Record]) -> None:
        """Record what will be added next, besides `recent`; `NoRecord` where this device cannot."""
        record = Record(locator.key, inode, offset, time.time(), data)
        joined = record.joined_to(recent[-1]) if recent else None
        self.records.write([*recent[:-1], joined] if joined else [*recent, record])

    def add_lines(self, parent: Directory, locator: Locator, lines: bytes) -> bool:
        """The same for what was found in a displaced version of the note; half a line at its end gets its end."""
        status = parent.status(locator.name)
        try:
            lines = lines if lines.endswith(b"\n") else lines + b"\n"
            return status is not None and self.add(parent, locator, status, lines, self.settle())
        except (AgentmError, NoRecord):
            return False  # too large by now, or no file: it is kept as a version of its own

    def settle(self, note: Locator | None = None) -> list[Record]:
        """Look whether the bytes of the last appends are where they belong; the records that need another look.

        Before `note` is replaced or deleted, only at those to it, and at those whose time is over: there may be no
        other look.
        """
        records = self.records.read()
        if not records:  # as nearly always
            return records
        waiting, due = list[Record](), dict[str, list[Record]]()
        for record in records:
            may_wait = note is not None and record.key != note.key and record.is_recent()
            (waiting if may_wait else due.setdefault(record.key, [])).append(record)
        for key, those in due.items():
            found = self._found(Locator(key), those)
            if found is None:  # which is no reason to write no other note
                waiting += (each for each in those if time.time() - each.time < _EDITED_LATER)
            elif note is None:
                waiting += (each for each in found if each.is_recent())
        waiting.sort(key=lambda record: record.time)
        if len(waiting) < len(records):
            self.records.forget_all_but(waiting)
        return waiting

    def _found(self, note: Locator, records: list[Record]) -> list[Record] | None:
        """Those of the records whose bytes are in the note now. What another program took away lately is kept.

        `None` if nobody can look: it is elsewhere, behind a link by now, or not for this user to read.
        """
        there, changed_at = list[Record](), None
        try:
            with self._reader.open_parent(note) as parent:
                descriptor = self._open_when_back(parent, note.name)
                if descriptor is not None:
                    with Opened(descriptor):
                        there = self._look(descriptor, parent, note, records)
                        changed_at = os.fstat(descriptor).st_mtime
        except NotFoundError:
            pass
        except OSError:
            return None
        if changed_at is None:  # no note: one that an append was to make was never made, or somebody wants it away
            changed_at, records = time.time(), [record for record in records if record.inode]
        gone = [each for each in set(records).difference(there) if changed_at - each.time < _EDITED_LATER]
        if gone:
            gone.sort(key=lambda record: record.time)
            texts = (record.data.removeprefix(b"\n").removesuffix(b"\n") for record in gone)
            self._writer.displaced.keep_bytes(note, b"\n".join(texts) + b"\n")
        return there

    def _open_when_back(self, parent: Directory, name: str) -> int | None:
        """Some editors move a file away before they save: it has gone only if it does not come back."""
        deadline = time.monotonic() + _SETTLING
        while True:
            status = parent.status(name)
            if status is not None:
                if not stat.S_ISREG(status.st_mode):
                    return None
                if not self._reader.medium.is_at_hand(status):
                    raise BlockingIOError  # opening it would wait for its content
                try:
                    return parent.open_file(name)
                except FileNotFoundError:
                    pass
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE)

    def _look(self, descriptor: int, parent: Directory, note: Locator, records: list[Record]) -> list[Record]:
        start = min(record.offset for record in records)
        rest = _read_at(descriptor, start, max(os.fstat(descriptor).st_size - start, 0))
        return [
            record
            for record in records
            if rest.startswith(record.data, record.offset - start) or self._is_there(descriptor, parent, note, record)
        ]

    def _is_there(self, descriptor: int, parent: Directory, note: Locator, record: Record) -> bool:
        """The closer look at one that was not where it should be."""
        status = os.fstat(descriptor)
        if status.st_size < record.offset + len(record.data):
            status = wait_until_settled(descriptor)
        rest = _read_at(descriptor, record.offset, len(record.data) + 1)
        is_same = identity_of(status)[1] == record.inode and status.st_size >= record.offset
        # Cut short: a beginning of it and nothing else. A power cut may leave zeros for what it lost.
        is_cut = len(rest) <= len(record.data) and record.data.startswith((rest, rest.rstrip(b"\0")))
        if is_same and is_cut and status.st_mtime - record.time < _EDITED_LATER:
            with Opened(parent.open_file(note.name, APPEND_FLAGS & ~os.O_APPEND)) as writable:
                os.lseek(writable, record.offset, os.SEEK_SET)
                write_all(writable, record.data)
                os.fsync(writable)
            return True
        os.lseek(descriptor, 0, os.SEEK_SET)
        return record.data in read_open_file(descriptor, _ANY_SIZE)[0]


def wait_until_settled(descriptor: int) -> os.stat_result:
    """The status of a file, once it is not just emptied, and does not just have half a line at its end.

    Programs empty a file and then write it, or write a line in two pieces. What is older than that is meant.
    """
    deadline = time.monotonic() + _LONGEST_WAIT
    while True:
        status = os.fstat(descriptor)
        is_whole = status.st_size > 0 and _ends_with_a_line(descriptor, status.st_size)
        is_settled = not 0 <= time.time() - status.st_mtime < _SETTLING
        if is_whole or is_settled or time.monotonic() > deadline:
            return status
        time.sleep(_PAUSE)


def _ends_with_a_line(descriptor: int, size: int) -> bool:
    return _read_at(descriptor, size - 1, 1) == b"\n"


def _read_at(descriptor: int, offset: int, count: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, count)
