"""Programs that write into notes with tools of their own, while agentm replaces those notes and adds to them.

Each has a note of its own beside agentm: `>>` of a shell, `tee -a`, a descriptor that is held and written through,
one that goes to the end by itself (`r+`), an editor that saves by renaming, one that moves the file away first as vim
does. Every line that either side wrote must be in a note or in a kept version afterwards, and no half of one glued to
another. An editor that empties the file and writes it (Obsidian) has read it before: what it did to the other
program's lines is counted apart, and nothing of agentm's may be gone.

An append that is killed at any of its bytes is absent or whole after the next one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from unittest import mock

from agentm_kernel.errors import ConcurrentModificationError
from agentm_kernel.files import appending
from agentm_kernel.files.appending import AppendRecords
from agentm_kernel.files.displaced import DisplacedVersions
from agentm_kernel.seam.backend import Appends
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from agentm_kernel.seam.update import append, update
from tests.faults.controls import until_caught
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from agentm_kernel.files.tree import Directory
    from agentm_kernel.seam.backend import StorageBackend

_PROGRAM = """
import os, sys, time
style, path, lines = sys.argv[1:4]
beside = path + ".saved"
def read():
    with open(path) as file:
        return file.read()
def save(target, text):
    with open(target, "w") as file:
        file.write(text)
for number in range(int(lines)):
    line = f"<{style} {number}>\\n"
    time.sleep(0.002)
    try:
        if style == "held":
            if number % 50 == 0:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
            os.write(descriptor, line.encode())
        elif style == "in-place":
            if number % 50 == 0:
                file = open(path, "r+b", buffering=0)
            file.seek(0, 2)
            file.write(line.encode())
        elif style == "rename-over":
            save(beside, read() + line)
            os.rename(beside, path)
        elif style == "vim":
            text = read() + line
            os.rename(path, path + "~")
            save(path, text)
            os.unlink(path + "~")
        elif style == "truncating":
            save(path, read() + line)
    except FileNotFoundError:
        pass
    else:
        print(number, flush=True)
"""
_BY_PIPE = {"shell": 'while read -r line; do echo "$line" >> "$0"; done', "tee": 'exec tee -a "$0" >/dev/null'}
_STYLES = ("shell", "tee", "held", "in-place", "rename-over", "vim", "truncating")
_APART = ("in-place", "rename-over", "vim", "truncating")
"""Editors: they save what they have read, or where the end was, so lines of others may go that came in between."""
_TAG = re.compile(r"<[a-z-]+ ")
_GRACE = 2.2


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("lines written beside programs that hold the file")
    lines = intensity.pick(short=60, full=3_500)
    for adds in ("append", "update"):
        _run(outcome, intensity.store, lines, adds, nullcontext())
    outcome.control("dropping_at_once", until_caught(lambda broken: _control(broken, intensity.store)))
    if _kill_appends(outcome, intensity.store, nullcontext()):
        unrecorded = Outcome("kills")
        _kill_appends(unrecorded, intensity.store, mock.patch.object(AppendRecords, "write"))
        outcome.control("without_records", unrecorded)
    return outcome


# ------------------------------------------------------------------------------------------------ kills at every byte


def _kill_appends(outcome: Outcome, store: StoreUnderTest, build: AbstractContextManager[Any]) -> bool:
    """Whether the store adds in place; one that replaces the note is killed by other campaigns."""
    with scratch() as folder, mock.patch.dict(os.environ, {"XDG_STATE_HOME": os.path.join(folder, "state")}), build:
        backend = store.open(os.path.join(folder, "store"))
        if backend.facet(Appends) is None:
            return False
        line = "<killed somewhere in this line>\n"
        for at in range(len(line) + 1):
            note = Locator(f"notes/killed-{at}.md")
            backend.write(note, "<start>\n")
            child = os.fork()
            if not child:
                _append_and_die(backend, note, line, at)
            os.waitpid(child, 0)
            append(backend, note, "<next>\n")
            outcome.count += 1
            if backend.read(note) not in ("<start>\n<next>\n", f"<start>\n{line}<next>\n"):
                outcome.violation("torn", f"killed after {at} bytes: {backend.read(note)!r}")
    return True


def _append_and_die(backend: StorageBackend, note: Locator, line: str, at: int) -> None:
    def write_some(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:at])
        os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(appending, "write_all", write_some):
        append(backend, note, line)
    os._exit(1)


def _control(broken: Outcome, store: StoreUnderTest) -> None:
    """What was displaced is dropped when it is what we saw, as if nobody could still write into it."""

    def drop(self: DisplacedVersions, directory: Directory, swap: str, *, is_unwritten: bool | None = False) -> None:
        directory.unlink(swap)

    _run(broken, store, 200, "update", mock.patch.object(DisplacedVersions, "add", drop), ("tee", "held"))


def _run(
    outcome: Outcome,
    store: StoreUnderTest,
    lines: int,
    adds: str,
    build: AbstractContextManager[Any],
    styles: tuple[str, ...] = _STYLES,
) -> None:
    with scratch() as folder, mock.patch.dict(os.environ, {"XDG_STATE_HOME": os.path.join(folder, "state")}), build:
        root = os.path.join(folder, "store")
        backend = store.open(root)
        backend.mkdir(Locator("notes"))
        benches = [_Bench(outcome, backend, root, style, adds) for style in styles]
        for bench in benches:
            bench.run(lines)
        time.sleep(_GRACE)
        for text in ("one", "two"):
            backend.write(Locator("notes/other.md"), text)
        for bench in benches:
            bench.check()


class _Bench:
    """One program and agentm, both at work on one note."""

    def __init__(self, outcome: Outcome, backend: StorageBackend, root: str, style: str, adds: str) -> None:
        self._outcome = outcome
        self._backend = backend
        self._root = root
        self._style = style
        self._adds = adds
        self._note = Locator(f"notes/{style}.md")
        self._path = os.path.join(root, *self._note.parts)
        self._ours: list[str] = []
        self._theirs: list[str] = []

    def run(self, lines: int) -> None:
        self._backend.write(self._note, "<start 0>\n")
        done = threading.Event()
        theirs: list[str] = []
        program = threading.Thread(target=self._program, args=(lines, theirs, done))
        program.start()
        number = 0
        while not done.is_set() or number < lines // 20:
            line = f"<{self._style}-ours {number}>"
            try:
                self._add(f"{line}\n")
                self._ours.append(line)
            except ConcurrentModificationError:
                self._count(f"{self._style}: refused, and said so", 1)  # it saves faster than a busy disk can follow
            number += 1
        program.join()
        self._theirs = theirs

    def _add(self, line: str) -> None:
        if self._adds == "append":
            append(self._backend, self._note, line)
        else:
            update(self._backend, self._note, lambda text: (text or "") + line)

    def _program(self, lines: int, theirs: list[str], done: threading.Event) -> None:
        try:
            if self._style in _BY_PIPE:
                self._feed(lines)
                theirs += [f"<{self._style} {number}>" for number in range(lines)]
            else:
                command = [sys.executable, "-c", _PROGRAM, self._style, self._path, str(lines)]
                saved = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                theirs += [f"<{self._style} {number}>" for number in saved]
        finally:
            done.set()

    def _feed(self, lines: int) -> None:
        command = ["bash", "-c", _BY_PIPE[self._style], self._path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as program:
            assert program.stdin is not None
            for number in range(lines):
                program.stdin.write(f"<{self._style} {number}>\n")
                program.stdin.flush()
                time.sleep(0.002)

    def check(self) -> None:
        ours, theirs = self._ours, self._theirs
        found = set(self._lines())
        self._outcome.count += len(ours) + len(theirs)
        is_apart = self._style in _APART
        for line in ours:
            if line not in found and not (is_apart and self._adds == "update"):
                self._outcome.violation("lost", f"{line} beside {self._style}, by {self._adds}")
        gone = [line for line in theirs if line not in found]
        if is_apart:
            self._count(f"{self._style}: its own lines lost", len(gone))
            self._count(f"{self._style}: updates saved over", len(set(ours) - found))
        else:
            for line in gone:
                self._outcome.violation("lost", f"{line} beside {self._adds}")
        for line in found:
            if len(_TAG.findall(line)) > 1:
                self._outcome.violation("glued", f"{line!r} by {self._style}, beside {self._adds}")

    def _count(self, kind: str, number: int) -> None:
        self._outcome.measured[kind] = self._outcome.measured.get(kind, 0) + number

    def _lines(self) -> list[str]:
        """Every line in a file that is not hidden."""
        lines: list[str] = []
        for folder, _, names in os.walk(self._root):
            for name in names:
                if not name.startswith(TEMP_PREFIX):
                    with open(os.path.join(folder, name), errors="replace") as file:
                        lines += file.read().split("\n")
        return lines
