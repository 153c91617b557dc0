"""The records of a store's last appends, in this device's state directory (see `appending`)."""

from __future__ import annotations

import os

from agentm_kernel.files import read_small_file
from agentm_kernel.files.atomic import write_all
from agentm_kernel.files.root import make_private_folder, open_root
from agentm_kernel.seam.content import content_hash

_LIMIT = 1 << 30
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)


class Record:
    """What an append is about to do: `data` at `offset` of the file that has `inode`."""

    __slots__ = ("data", "inode", "key", "offset", "time")

    def __init__(self, key: str, inode: int, offset: int, when: float, data: bytes) -> None:
        self.key, self.inode, self.offset, self.time, self.data = key, inode, offset, when, data

    def encode(self) -> bytes:
        head = f"{self.inode} {self.offset} {self.time:.3f} {len(self.data)}\n{self.key}\n"
        return head.encode() + self.data


def decode_records(text: bytes) -> list[Record]:
    """None of them, if the file was cut short: then the last one's bytes were not added yet."""
    digest, _, body = text.partition(b"\n")
    if content_hash(body).encode() != digest:
        return []
    records = []
    while body:
        numbers, key, body = body.split(b"\n", 2)
        inode, offset, when, size = numbers.split()
        data, body = body[: int(size)], body[int(size) :]
        records.append(Record(key.decode(), int(inode), int(offset), float(when), data))
    return records


class AppendRecords:
    """The file with the records of the store at `root`, which has `inode`. For the holder of the store's mutex."""

    def __init__(self, root: str, inode: int, state_dir: str) -> None:
        self._folder = os.path.join(state_dir, "appends")
        self._path = os.path.join(self._folder, f"{_file_system(root):x}-{inode:x}")

    def read(self) -> list[Record]:
        """None where there are none, or none can be kept on this device: then nothing is appended in place."""
        if not os.access(self._path, os.F_OK):  # as nearly always, and for half the price of an exception
            return []
        try:
            return decode_records(read_small_file(self._path, _LIMIT))
        except OSError:
            return []

    def write(self, records: list[Record]) -> None:
        """Make them durable, in the place of those before; `NoRecord` where that cannot be."""
        try:
            make_private_folder(self._folder)
            is_new = not os.path.lexists(self._path)
            self._write(_FLAGS, records, is_durable=True)
            if is_new:
                with open_root(self._folder) as folder:
                    folder.sync()
        except OSError as error:
            raise NoRecord from error

    def forget_all_but(self, records: list[Record]) -> None:
        """The file stays: making it anew would cost the next append a sync of its folder."""
        try:
            self._write(_FLAGS & ~os.O_CREAT, records, is_durable=False)
        except OSError:
            pass  # the bytes were found, and the next append finds them again

    def _write(self, flags: int, records: list[Record], *, is_durable: bool) -> None:
        body = b"".join(record.encode() for record in records)
        descriptor = os.open(self._path, flags, 0o600)
        try:
            if records:
                write_all(descriptor, content_hash(body).encode() + b"\n" + body)
            if is_durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _file_system(path: str) -> int:
    """A number of the file system at `path`: if it has one, that which is the same after a power cut, too."""
    try:
        return os.statvfs(path).f_fsid or os.stat(path).st_dev
    except AttributeError:  # Windows
        return os.stat(path).st_dev


class NoRecord(Exception):
    """This device's state directory cannot be written to."""
