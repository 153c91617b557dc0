"""Whether what was said has arrived: open lines of the ledger are looked for in the host's own transcript.

Only what the host wrote down as context counts. A look is bounded in bytes and time; what is not found yet stays
open, and "dropped" is said only of a session that has ended and whose transcript was read to its end.
"""

from __future__ import annotations

import json
import math
import os
import stat
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agentm_hosts.ledger import deliveries_folder, ledger_path
from agentm_hosts.receipt import found_in, is_whole
from agentm_kernel.plugin import StorageIOError, atomic_write, layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentm_hosts.adapter import HostAdapter
    from agentm_kernel.plugin import Device

MOST_BYTES = 8_000_000
MOST_SECONDS = 0.1
_PENDING_FOR = 86_400.0
_NOT_BEFORE = 65_536
"""A host may write a context down before its hook is told how long the transcript is: look a little earlier."""

DELIVERED, CUT, PENDING, UNKNOWN, DROPPED, SILENT = "delivered", "cut", "pending", "unknown", "dropped", "silent"
_FINAL = (DELIVERED, CUT, DROPPED)
_COMPACTS = ("pre-compact", "post-compact")


@dataclass(frozen=True)
class Delivery:
    """One line of the ledger, and what became of it."""

    host: str
    time: float
    session: str
    agent: str
    event: str
    receipt: str
    length: int
    notes: tuple[str, ...]
    cwd: str
    transcript: str
    size: int
    status: str = PENDING
    store: str = ""
    """The further store that the project is in; empty for the default one."""

    @property
    def stores(self) -> list[str]:
        """The store that each note came from: what is personal is in the default one."""
        own = f"{layout.PERSONAL}/"
        return [(self.store if not key.startswith(own) else "") or "default" for key in self.notes]

    @property
    def name(self) -> str:
        return f"{self.time:.3f} {self.receipt}"


_WRITTEN: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("session", "agent", "event", "receipt", "cwd", "transcript", "store"), str),
    **dict.fromkeys(("length", "size"), int),
    "time": (int, float),
    "notes": list,
}
"""What a line of the ledger holds."""


def deliveries(device: Device, host: str) -> list[Delivery]:
    """Every line of a host's ledger, the oldest first, as it was settled last."""
    settled = _settled(device.state_dir, host)
    entries = (fields for line in _lines(device.state_dir, host) for fields in _entry(line))
    lines = (_delivery(host, fields) for fields in entries)
    return [_with_status(line, settled) for line in lines if line is not None]


def count_damaged(device: Device, host: str) -> int:
    """The lines of a host's ledger that say nothing any more."""
    written = sum(1 for _ in _lines(device.state_dir, host))
    return max(0, written - len(deliveries(device, host)))  # a hook may have added one meanwhile


def _delivery(host: str, fields: dict[str, Any]) -> Delivery | None:
    """A line of the ledger; `None` if it is damaged. What another version added to it is passed over."""
    known = {name: value for name, value in fields.items() if name in _WRITTEN}
    try:
        line = Delivery(host=host, **{**known, "notes": tuple(fields["notes"]), "time": float(fields["time"])})
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    is_right = math.isfinite(line.time) and isinstance(fields["notes"], list)
    is_right = is_right and all(isinstance(value, _WRITTEN[name]) for name, value in known.items())
    return line if is_right and all(isinstance(key, str) for key in line.notes) else None


def settle(device: Device, adapter: HostAdapter, *, seconds: float = MOST_SECONDS) -> list[Delivery]:
    """Look for what is open, write down what was found, and return every line."""
    lines = deliveries(device, adapter.name)
    if not adapter.writes_down or device.config.get("plugins.hosts.read_transcripts") is False:
        return [replace(line, status=UNKNOWN if line.length else SILENT) for line in lines]
    folder = adapter.user_folder(device)
    deadline = time.monotonic() + seconds
    groups: dict[str, list[Delivery]] = {}
    for line in lines:
        if line.receipt and line.status not in _FINAL and line.event in adapter.writes_down:
            groups.setdefault(line.transcript or adapter.find_transcript(folder, line.session), []).append(line)
    statuses: dict[str, str] = {}
    read_to_the_end: list[Delivery] = []
    for transcript, waiting in reversed(groups.items()):  # the newest first: time may run out
        if transcript and time.monotonic() < deadline:
            reading = _Reading(transcript, min(line.size for line in waiting), deadline)
            statuses |= _found(adapter, reading, waiting)
            # One that is shorter than it was then was cut, or is another: it does not say what became of the text.
            read_to_the_end += [line for line in waiting if reading.is_complete and line.size <= reading.size]
    statuses |= _held(lines, statuses)
    ended = {line.session: line.time for line in lines if line.event == "session-end"}  # resumed, it goes on
    statuses |= {
        line.name: DROPPED
        for line in read_to_the_end
        if line.time <= ended.get(line.session, 0.0) and line.name not in statuses
    }
    if statuses:
        _write_down(device.state_dir, adapter.name, lines, statuses)
    return [
        line if not line.receipt or line.event in adapter.writes_down else replace(line, status=UNKNOWN)
        for line in deliveries(device, adapter.name)
    ]


def _found(adapter: HostAdapter, reading: _Reading, waiting: Sequence[Delivery]) -> dict[str, str]:
    """What a transcript says about the lines that wait for it."""
    found: dict[str, set[bool]] = {}
    lengths = {line.receipt: line.length for line in waiting}
    for entry in reading.entries(adapter):
        for text in adapter.contexts(entry):
            for receipt, following in found_in(text):
                if receipt in lengths:
                    found.setdefault(receipt, set()).add(is_whole(receipt, following, lengths[receipt]))
    return {line.name: DELIVERED if True in found[line.receipt] else CUT for line in waiting if line.receipt in found}


def _held(lines: Sequence[Delivery], statuses: dict[str, str]) -> dict[str, str]:
    """What a session that goes on was told again in the same words: a host keeps the one copy that it has, and writes
    no second one down. A compaction takes the copy away.
    """
    held: dict[str, set[str]] = {}
    again = {}
    for line in lines:
        status = statuses.get(line.name, line.status)
        texts = held.setdefault(line.session, set())
        if line.event in _COMPACTS:
            texts.clear()
        elif status == DELIVERED:
            texts.add(line.receipt)
        elif line.receipt and status not in _FINAL and line.receipt in texts:
            again[line.name] = DELIVERED
    return again


class _Reading:
    """A look at a transcript from a position on."""

    def __init__(self, path: str, start: int, deadline: float) -> None:
        self._path, self._start, self._deadline = path, max(0, start - _NOT_BEFORE), deadline
        self.is_complete = False
        self.size = 0

    def entries(self, adapter: HostAdapter) -> Iterator[dict[str, Any]]:
        """The entries that may be about our context."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            return
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return
        self.size = status.st_size
        with os.fdopen(descriptor, "rb") as file:
            file.seek(min(self._start, status.st_size))
            room = MOST_BYTES
            while room > 0 and time.monotonic() < self._deadline:
                line = file.readline(room)
                if not line:
                    self.is_complete = True
                    return
                room -= len(line)
                if adapter.is_about_context(line):
                    yield from _entry(line)


def _entry(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return  # half a line at the start or the end
    if isinstance(value, dict):
        yield value


# ------------------------------------------------------------------------------------------------ what is known


def _with_status(line: Delivery, settled: dict[str, str]) -> Delivery:
    if not line.receipt:
        status = UNKNOWN if line.length else SILENT  # no transcript has what a summariser is told
    else:
        status = settled.get(line.name) or (PENDING if time.time() - line.time < _PENDING_FOR else UNKNOWN)
    return replace(line, status=status)


def _lines(state_dir: str, host: str) -> Iterator[bytes]:
    path = ledger_path(state_dir, host)
    for file in (f"{path}.1", path):
        try:
            with open(file, "rb") as lines:
                yield from lines
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageIOError(
                f"cannot read {file}, where it is written down what agents were told: {error.strerror}",
                errno=error.errno,
                hint="check who owns it, or move it away: hooks of this user have to write to it",
            ) from error


def _settled_path(state_dir: str, host: str) -> str:
    return os.path.join(deliveries_folder(state_dir), f"{host}.settled.json")


def _settled(state_dir: str, host: str) -> dict[str, str]:
    try:
        with open(_settled_path(state_dir, host), "rb") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: status for name, status in found.items() if status in _FINAL} if isinstance(found, dict) else {}


def _write_down(state_dir: str, host: str, lines: Sequence[Delivery], statuses: dict[str, str]) -> None:
    """Of two that settle at once, one may overwrite the other's finds: they are found again."""
    known = {line.name for line in lines}
    merged = {name: status for name, status in (_settled(state_dir, host) | statuses).items() if name in known}
    atomic_write(_settled_path(state_dir, host), json.dumps(merged))
