"""The history of a store: every version that a write through agentm replaced, on this device.

One file, an archive as the image is: for each change the bytes that were replaced and an entry that names the entry
before it, so that the newest entry's id stands for all of them. One append and one sync for each change; that the
newest entry is found from the end of the file keeps the cost the same however long the history is.
"""

from __future__ import annotations

import os
import time

from agentm_checkpoint.car import encode_frame, encode_header, last_frame, verified_frames
from agentm_checkpoint.cids import DAG_CBOR, cid_text, decode_node, encode_node, node_cid, raw_cid
from agentm_checkpoint.directories import make_folder
from agentm_checkpoint.reading import part_cids, read_note
from agentm_checkpoint.tree import note_blocks
from agentm_kernel.plugin import IntegrityError, StorageIOError, atomic_write, store_mutex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentm_checkpoint.car import Frame, Gap
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.tree import Blocks, Leaf

FORMAT = "agentm-history/1"
_ANY_FORMAT = "agentm-history/"
_MARK = _ANY_FORMAT.encode()
_TAIL = 8192
"""An entry is shorter: it holds one key of at most 1,000 bytes, and a few hashes."""
_DAY = 86_400_000


class Entry:
    """One change of one note."""

    __slots__ = ("before", "cid", "key", "new", "old", "time")

    def __init__(self, cid: Cid, fields: dict[str, Any]) -> None:
        try:
            self.cid = cid
            self.before: str | None = fields["before"]
            """The id of the entry before it in the history."""
            self.key: str = fields["key"]
            self.old: Leaf | None = None if fields["old"] is None else (fields["old"][0], fields["old"][1])
            """What was replaced; `None` for a new note."""
            self.new: str | None = fields["new"]
            """The id of what replaced it; `None` for a deletion."""
            self.time: int = fields["time"]
        except (KeyError, TypeError, IndexError):
            raise IntegrityError("an entry of the history lacks a field") from None

    @property
    def id(self) -> str:
        return cid_text(self.cid)

    @property
    def when(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(self.time / 1000))

    @property
    def version(self) -> str | None:
        """A short name for what was replaced."""
        return None if self.old is None else self.old[1][4:].hex()[:12]

    @property
    def what(self) -> str:
        if self.new is None:
            return "deleted"
        return "created" if self.old is None else "changed"


class Changes:
    """What a history file holds, as far as it is whole."""

    def __init__(self, data: bytes, *, is_emptied: bool = False) -> None:
        self._data = data
        self._is_emptied = is_emptied
        self.entries: list[Entry] = []
        """Oldest first."""
        self.gaps: list[Gap] = []
        self.end = 0
        """Where the last whole entry ends."""
        self.groups: list[list[Frame]] = []
        """What belongs to each entry: the bytes that were replaced, and the entry itself."""
        self.is_newer = False
        """Whether there are entries of a newer agentm."""
        self._places: dict[Cid, tuple[int, int]] = {}
        group: list[Frame] = []
        for frame in verified_frames(data, len(_PREAMBLE) if data.startswith(_PREAMBLE) else 0, self.gaps):
            cid, first, last = frame
            self._places[cid] = first, last
            group.append(frame)
            if cid[1] == DAG_CBOR and _MARK in data[first:last]:
                fields = decode_node(data[first:last])
                form = fields.get("format") if isinstance(fields, dict) else None
                self.is_newer |= form != FORMAT and str(form).startswith(_ANY_FORMAT)
                if form == FORMAT:
                    self.entries.append(Entry(cid, fields))
                    self.groups.append(group)
                    group = []
                    self.end = last

    def of(self, key: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.key == key]

    def fetch(self, cid: Cid) -> bytes:
        place = self._places.get(cid)
        if place is None:
            raise IntegrityError(
                f"the history lacks the block {cid_text(cid)}", hint="`agentm checkpoint verify` says what is whole"
            )
        return self._data[place[0] : place[1]]

    def read(self, leaf: Leaf) -> bytes:
        """The bytes of a version."""
        return read_note(leaf, self.fetch)

    @property
    def head(self) -> str | None:
        """The id that stands for the whole history: that of its newest entry."""
        return self.entries[-1].id if self.entries else None

    def damage(self) -> list[str]:
        """What of the file cannot be read."""
        found = ["it has entries of a newer agentm"] if self.is_newer else []
        found += ["it is empty"] if self._is_emptied else []
        return found + [f"{end - start:,} bytes at byte {start:,} are damaged" for start, end in self.gaps]

    def problems(self) -> list[str]:
        """What is wrong with it: places that are damaged, links that do not lead on, versions that are gone."""
        found = self.damage()
        for one, other in zip(self.entries, self.entries[1:], strict=False):
            if other.before != one.id:
                found.append(f"what was between {one.when} and {other.when} is missing")
        for entry in self.entries:
            try:
                if entry.old is not None:
                    for _, cid in part_cids(entry.old, self.fetch):
                        self.fetch(cid)
            except IntegrityError:
                found.append(f"the version of {ascii(entry.key)} that was replaced at {entry.when} is missing")
        return found


class History:
    """The history of one store, in `folder`, at most `megabytes` long, of the newest `days` with a change."""

    def __init__(self, folder: str, *, days: float, megabytes: float) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "history.car")
        self._days = days
        self._limit = int(megabytes * (1 << 20))

    def read(self) -> Changes:
        """All of it, compared with its hashes. No file is an empty history."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
            return Changes(data, is_emptied=not data)
        except FileNotFoundError:
            return Changes(b"")
        except OSError as error:
            raise self._failed("read", error) from error

    def head(self) -> str | None:
        """The id of the newest entry, without reading the rest; `None` if there is none, or it is damaged."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("read", error) from error
        try:
            last = _last_entry(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
        return None if last is None else last.id

    def check(self) -> None:
        """`StorageIOError` if this user could not add the next change."""
        path, why = self.path, ""
        while not why and not os.access(path, os.W_OK):
            try:
                os.stat(path)
                why = "Permission denied"
            except FileNotFoundError:
                path = os.path.dirname(path)  # it will be made there
            except OSError as error:
                why = error.strerror or str(error)
        if why:
            raise self._failed("write", why)

    def record(self, key: str, old: str | None, new: str | None) -> None:
        """Add a change. What was replaced is on the disk on return; that a note is new need not be."""
        leaf: Leaf | None = None
        blocks: Blocks = {}
        if old is not None:
            leaf, blocks = note_blocks(old.encode())
        fields = {
            "format": FORMAT,
            "key": key,
            "old": None if leaf is None else [*leaf],
            "new": None if new is None else cid_text(raw_cid(new.encode())),
            "time": int(time.time() * 1000),
        }
        make_folder(self.folder)
        try:
            with store_mutex(self.folder):
                self._append(fields, blocks, must_last=old is not None)
        except OSError as error:
            if isinstance(error, StorageIOError):
                raise
            raise self._failed("write", error) from error

    def _append(self, fields: dict[str, Any], blocks: Blocks, *, must_last: bool) -> None:
        descriptor = self._open()
        try:
            size = os.fstat(descriptor).st_size
            last = _last_entry(descriptor, size) if size else None
            if size and last is None:  # a writer was killed, or the file is damaged
                os.close(descriptor)
                descriptor = -1
                self._rewrite(lambda _: True)
                descriptor = self._open()
                size = os.fstat(descriptor).st_size
                last = _last_entry(descriptor, size)
            if last is not None and _says_the_same(last, fields):
                return  # the write was tried again
            entry = encode_node({**fields, "before": None if last is None else last.id})
            pieces = [b"" if size else _PREAMBLE, *(encode_frame(cid, block) for cid, block in blocks.items())]
            view = memoryview(b"".join([*pieces, encode_frame(node_cid(entry), entry)]))
            while view:
                view = view[os.write(descriptor, view) :]
            if must_last:
                getattr(os, "fdatasync", os.fsync)(descriptor)
            size = os.fstat(descriptor).st_size
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        if size > self._limit:
            self._rewrite(lambda _: True, self._limit * 3 // 4)

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)

    def prune(self) -> None:
        """Forget all but the newest days on which something was changed.

        They are counted, and not compared with the clock: one that is years ahead for an hour must cost nothing.
        """
        if not os.path.exists(self.path):
            return
        try:
            with store_mutex(self.folder):
                entries = self.read().entries
                kept = _of_newest_days(entries, self._days)
                if len(kept) < len(entries):
                    self._rewrite(lambda entry: entry.id in kept)
        except OSError as error:
            if isinstance(error, StorageIOError):
                raise
            raise self._failed("prune", error) from error

    def _rewrite(self, is_kept: Callable[[Entry], bool], limit: int | None = None) -> None:
        """Replace the file by one with the newest entries that are kept; a damaged one is set aside first."""
        with open(self.path, "rb") as file:
            data = file.read()
        changes = Changes(data)
        if changes.is_newer:
            why = f"the history {self.path} has entries of a newer agentm, and was left as it is"
            raise StorageIOError(why, hint="upgrade agentm")
        if any(start < changes.end for start, _ in changes.gaps) or _MARK in data[changes.end :]:
            _set_aside(self.path)
        pieces: list[bytes] = []
        size = len(_PREAMBLE)
        for entry, group in reversed([*zip(changes.entries, changes.groups, strict=True)]):
            whole = b"".join(encode_frame(cid, data[first:last]) for cid, first, last in group)
            size += len(whole)
            if not is_kept(entry) or (limit is not None and size > limit and pieces):
                break
            pieces.append(whole)
        atomic_write(self.path, b"".join([_PREAMBLE, *reversed(pieces)]))

    def _failed(self, verb: str, error: OSError | str) -> StorageIOError:
        why, number = (error, None) if isinstance(error, str) else (error.strerror, error.errno)
        return StorageIOError(
            f"cannot {verb} the history {self.path}: {why}",
            errno=number,
            hint="check the disk and the permissions",
        )


_PREAMBLE = encode_header([])


def _last_entry(descriptor: int, size: int) -> Entry | None:
    """The entry that the file ends with; `None` if it does not end with one."""
    length = min(size, _TAIL)
    if hasattr(os, "pread"):
        tail = os.pread(descriptor, length, size - length)
    else:
        os.lseek(descriptor, size - length, os.SEEK_SET)
        tail = os.read(descriptor, length)
    frame = last_frame(tail)
    if frame is None or frame[0][1] != DAG_CBOR:
        return None
    fields = decode_node(tail[frame[1] : frame[2]])
    return Entry(frame[0], fields) if isinstance(fields, dict) and fields.get("format") == FORMAT else None


def _says_the_same(entry: Entry, fields: dict[str, Any]) -> bool:
    old = None if entry.old is None else [*entry.old]
    return (entry.key, old, entry.new) == (fields["key"], fields["old"], fields["new"])


def _of_newest_days(entries: list[Entry], most: float) -> set[str]:
    days: set[int] = set()
    kept: set[str] = set()
    for entry in reversed(entries):
        days.add(entry.time // _DAY)
        if len(days) > most:
            break
        kept.add(entry.id)
    return kept


def _set_aside(path: str) -> None:
    number = 1
    while os.path.lexists(name := f"{path}.damaged-{number}"):
        number += 1
    with open(path, "rb") as file:
        atomic_write(name, file.read())
