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
from agentm_kernel.files.append_records import NoRecord, Record
from agentm_kernel.files.atomic import write_all
from agentm_kernel.files.failures import changed
from agentm_kernel.files.reading import identity_of, kind_of
from agentm_kernel.files.tree import APPEND_FLAGS
from agentm_kernel.seam.content import check_size
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.tree import Directory
    from agentm_kernel.files.writing import StoreWriter

_PATIENCE = 10
_SETTLING = 0.3  # seconds that a program may need from emptying a file, or from half a line, to the rest
_PAUSE = 0.01
_EDITED_LATER = 60.0
_RECENT = 2.0
_MOST_RECENT = 32
_ANY_SIZE = 1 << 30


def append(writer: StoreWriter, parent: Directory, locator: Locator, data: bytes, recent: list[Record]) -> bool:
    """Whether `data` could be added to the file at `locator`, on a line of its own; `False` if there is none.

    `recent`: the records that `settle_records` has left.
    """
    for _ in range(_PATIENCE):
        status = parent.status(locator.name)
        if status is None:
            return False
        if not stat.S_ISREG(status.st_mode):
            raise LocatorConflictError(f"'{locator}' is {kind_of(status)}, so nothing can be added to it")
        writer.reader.medium.before_reading(locator, status)
        if _add(writer, parent, locator, data, recent):
            return True
    raise changed(locator, "another program replaces it all the time")


def _add(writer: StoreWriter, parent: Directory, locator: Locator, data: bytes, recent: list[Record]) -> bool:
    """Whether the data is now in the file that has the name; `False` if another one got the name meanwhile."""
    try:
        descriptor = parent.open_file(locator.name, APPEND_FLAGS)
    except FileNotFoundError:
        return False
    try:
        status = wait_until_settled(descriptor)
        if status.st_size and _last_byte(descriptor, status.st_size) != b"\n":
            data = b"\n" + data
        check_size(status.st_size + len(data), locator, limit=writer.reader.size_limit)
        record = Record(locator.key, identity_of(status)[1], status.st_size, time.time(), data)
        writer.append_records.write([*recent, record])
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    now = parent.status(locator.name)
    if now is not None and identity_of(now) == identity_of(status):
        return True
    # The file lost its name. Its successor may have been made from it, with these bytes.
    return data in _content(parent, locator.name)


def add_lines(writer: StoreWriter, parent: Directory, locator: Locator, lines: bytes) -> bool:
    """`append`, for what was found in a displaced version of the note; half a line at its end gets its end."""
    if not lines.endswith(b"\n"):
        lines += b"\n"
    try:
        return append(writer, parent, locator, lines, settle_records(writer))
    except (AgentmError, NoRecord):
        return False  # too large by now, or no file: it is kept as a version of its own


def wait_until_settled(descriptor: int) -> os.stat_result:
    """The status of a file, once it is not just emptied, and does not just have half a line at its end.

    Programs empty a file and then write it, or write a line in two pieces. What is older than that is meant.
    """
    while True:
        status = os.fstat(descriptor)
        is_whole = status.st_size > 0 and _last_byte(descriptor, status.st_size) == b"\n"
        if is_whole or not 0 <= time.time() - status.st_mtime < _SETTLING:
            return status
        time.sleep(_PAUSE)


def settle_records(writer: StoreWriter) -> list[Record]:
    """Look whether the bytes of the last appends are where they belong; the records that need another look."""
    found = [record for record in writer.append_records.read() if _settle_one(writer, record)]
    now = time.time()
    return [record for record in found if 0 <= now - record.time < _RECENT][-_MOST_RECENT:]


def settle_records_of(writer: StoreWriter, locator: Locator) -> None:
    """The same for a note that is about to be replaced or deleted, and wherever the time of a record is over: there
    may be no other look.
    """
    records = writer.append_records.read()
    now = time.time()
    waiting = [record for record in records if record.key != locator.key and 0 <= now - record.time < _RECENT]
    if len(waiting) < len(records):
        for record in records:
            if record not in waiting:
                _settle_one(writer, record)
        writer.append_records.forget_all_but(waiting)


def _settle_one(writer: StoreWriter, record: Record) -> bool:
    """Whether its bytes are in the note now."""
    note = Locator(record.key)
    try:
        folder = writer.reader.open_parent(note)
    except NotFoundError:
        return _keep_if_recent(writer, note, record, time.time())
    with folder:
        return _settle(writer, folder, note, record)


def _settle(writer: StoreWriter, parent: Directory, note: Locator, record: Record) -> bool:
    descriptor = _open_when_back(parent, note.name)
    if descriptor is None:
        return _keep_if_recent(writer, note, record, time.time())
    try:
        status = os.fstat(descriptor)
        if status.st_size < record.offset + len(record.data):
            status = wait_until_settled(descriptor)
        os.lseek(descriptor, record.offset, os.SEEK_SET)
        rest = os.read(descriptor, len(record.data) + 1)
    finally:
        os.close(descriptor)
    if rest.startswith(record.data):
        return True
    is_same = identity_of(status)[1] == record.inode and status.st_size >= record.offset
    if is_same and _is_cut_short(rest, record.data):
        _complete(parent, note, record)
        return True
    if record.data in _content(parent, note.name):
        return True
    return _keep_if_recent(writer, note, record, status.st_mtime)


def _open_when_back(parent: Directory, name: str) -> int | None:
    """Some editors move a file away before they save: it has gone only if it does not come back."""
    deadline = time.monotonic() + _SETTLING
    while True:
        status = parent.status(name)
        if status is not None:
            if not stat.S_ISREG(status.st_mode):
                return None
            try:
                return parent.open_file(name)
            except FileNotFoundError:
                pass
        if time.monotonic() > deadline:
            return None
        time.sleep(_PAUSE)


def _content(parent: Directory, name: str) -> bytes:
    try:
        return parent.read_file(name, _ANY_SIZE)[0]
    except FileNotFoundError:
        return b""


def _is_cut_short(rest: bytes, data: bytes) -> bool:
    """Whether `rest` is a beginning of `data` and nothing else; a power cut may leave zeros for what it lost."""
    return len(rest) <= len(data) and data.startswith((rest, rest.rstrip(b"\0")))


def _complete(parent: Directory, note: Locator, record: Record) -> None:
    descriptor = parent.open_file(note.name, APPEND_FLAGS & ~os.O_APPEND)
    try:
        os.lseek(descriptor, record.offset, os.SEEK_SET)
        write_all(descriptor, record.data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_if_recent(writer: StoreWriter, note: Locator, record: Record, changed_at: float) -> bool:
    if changed_at - record.time < _EDITED_LATER:
        writer.keep_bytes(note, record.data.removeprefix(b"\n"))
    return False


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)
