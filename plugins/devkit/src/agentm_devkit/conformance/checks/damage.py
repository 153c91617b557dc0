"""Files under a store that is no tree of files, a database say: they are replaced, damaged, not written in time.

What `Subject(break_medium=…)` tries where the author gives it, tried here as far as it goes without: on whatever
files the store keeps in its scratch folder.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, Warned, right_or_refused, shown
from agentm_kernel.plugin import AgentmError, Locator, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child
    from agentm_kernel.plugin import StorageBackend

_NOTE = Locator("dir/note.md")
_TEXT = "the text that is looked for\n"
_LOGS = ("-wal", "-journal", ".lock")
"""Files that their program may throw away when they are damaged: what they held was not yet in the store."""


def _files(bench: Bench) -> list[str]:
    """The files that the store has made in its folder."""
    found = [os.path.join(parent, name) for parent, _, names in os.walk(bench.scratch) for name in names]
    return sorted(path for path in found if os.path.isfile(path) and not os.path.islink(path))


def _needs_files(bench: Bench) -> list[str]:
    bench.store.write(_NOTE, _TEXT)
    files = [path for path in _files(bench) if not path.endswith(_LOGS)]
    if not files:
        raise NotApplicable("the store keeps no files in its scratch folder")
    return files


def _rewrite(path: str, change: Callable[[bytes], bytes]) -> bool:
    """Change a file in place, as a bad sector does; whether that changed anything."""
    with open(path, "r+b") as file:
        before = file.read()
        after = change(before)
        file.seek(0)
        file.write(after)
    return after != before


def _right_or_refused(store: StorageBackend, when: str) -> None:
    """What is damaged is neither absent nor something else."""
    answers: tuple[tuple[str, Callable[[], object], object], ...] = (
        (f"read({shown(_NOTE)})", lambda: store.read(_NOTE), _TEXT),
        (f"exists({shown(_NOTE)})", lambda: store.exists(_NOTE), True),
        (f"info({shown(_NOTE)}).size", lambda: store.info(_NOTE).size, len(_TEXT)),
        ("list('dir')", lambda: store.list(Locator("dir")), [_NOTE]),
    )
    right_or_refused(answers, f"{when}, ")


@check("damage", lacks=("device_files",), persistent=True, rows=(45,))
def check_damaged_files(bench: Bench) -> None:
    """A store whose files were damaged gives the right answer or a typed error: it is never empty."""
    for path in _needs_files(bench):
        _rewrite(path, lambda data: b"\xff" * len(data))
    try:
        store = bench.subject.open(bench.scratch)
    except AgentmError as error:
        if isinstance(error, NotFoundError):
            raise Violation(f"opening it reported absence: {error}") from error
        return
    _right_or_refused(store, "with every byte of its files overwritten")


@check("damage", lacks=("device_files",), persistent=True, rows=(22,))
def check_undecodable_bytes(bench: Bench) -> None:
    """Stored bytes that are no UTF-8 are a typed error: never a text with other characters in their place."""
    damaged = _TEXT.encode().replace(b"looked", b"look\xffd")
    changed = [_rewrite(path, lambda data: data.replace(_TEXT.encode(), damaged)) for path in _needs_files(bench)]
    if not any(changed):
        raise NotApplicable("the store does not keep notes as they are in files of its scratch folder")
    _right_or_refused(bench.subject.open(bench.scratch), "with a byte in the note that is not UTF-8")


@check("damage", lacks=("device_files",), persistent=True, rows=(50,))
def check_replaced_files(bench: Bench) -> None:
    """When a backup or a sync tool replaces the files of an open store, it answers from the new ones or refuses."""
    _needs_files(bench)
    shutil.copytree(bench.scratch, bench.scratch + ".backup")
    bench.store.write(_NOTE, "later than the backup\n")
    os.rename(bench.scratch, bench.scratch + ".away")
    os.rename(bench.scratch + ".backup", bench.scratch)
    try:
        found = bench.store.read(_NOTE)
        if found != _TEXT:
            if bench.run(_read_note) == found:
                raise NotApplicable("the store does not keep notes in files of its scratch folder")
            raise Violation(f"it read {shown(found)} from files that are elsewhere now")
        bench.store.write(_NOTE, "later than the replacement\n")
    except AgentmError as error:
        if isinstance(error, NotFoundError):
            raise Violation(f"it reported absence: {error}") from error
        return
    found = bench.subject.open(bench.scratch).read(_NOTE)
    if found != "later than the replacement\n":
        raise Violation(f"what it wrote went to files that are elsewhere now: here is {shown(found)}")


def _read_note(child: Child) -> str:
    """What a program finds that starts now, and has nothing open from before."""
    return child.store.read(_NOTE)


_SYNCHRONOUS = re.compile(r"pragma\s+(?:\w+\.)?synchronous\s*[=(]\s*\'?(\w+)", re.IGNORECASE)
_WAL = re.compile(r"pragma\s+(?:\w+\.)?journal_mode\s*[=(]\s*\'?wal", re.IGNORECASE)


@check("damage", persistent=True, rows=(48,))
def check_sqlite_is_durable(bench: Bench) -> None:
    """A store on SQLite lets it wait for the disk: what was acknowledged outlives a power cut."""
    statements: list[str] = bench.run(_statements_of_a_write)
    if not statements:
        raise NotApplicable("writing a note asks nothing of SQLite in Python")
    levels = {level.lower() for statement in statements for level in _SYNCHRONOUS.findall(statement)}
    if levels & {"off", "0"}:
        raise Violation("it runs `PRAGMA synchronous=OFF`: a power cut loses notes, and may destroy the file")
    if levels & {"normal", "1"} and any(map(_WAL.search, statements)):
        raise Warned(
            "with `journal_mode=WAL` and `synchronous=NORMAL` a power cut may lose the last notes that were "
            "acknowledged; `synchronous=FULL` keeps them"
        )


def _statements_of_a_write(child: Child) -> list[str]:
    """What a first write asks of SQLite. The process ends after it: an audit hook cannot be taken away again."""
    statements: list[str] = []
    new: list[Any] = []

    def listen(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "sqlite3.connect/handle":
            new.append(arguments[0])  # it is not ready for anything yet

    def attach(*_: object) -> None:
        while new:
            new.pop().set_trace_callback(statements.append)

    sys.addaudithook(listen)
    sys.setprofile(attach)
    try:
        child.store.write(_NOTE, _TEXT)
    finally:
        sys.setprofile(None)
    return statements
