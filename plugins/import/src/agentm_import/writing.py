"""Carrying out a plan: each note by one conditional write, the record after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agentm_import.ledger import Entry, digest
from agentm_import.note_text import note_mark
from agentm_import.planning import CREATE, SKIP, UNCHANGED, UPDATE, Plan
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    InvalidContentError,
    InvalidLocatorError,
    Locator,
    LocatorConflictError,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_import.contract import NoteFormat
    from agentm_import.ledger import Ledger
    from agentm_import.planning import Step
    from agentm_kernel.plugin import StorageBackend


def carry_out(steps: Iterable[Step], backend: StorageBackend, notes: NoteFormat, ledger: Ledger) -> Plan:
    """Do what was planned; what somebody else was faster at, or the store refuses, is skipped with the reason."""
    try:
        return Plan(list(_carried_out(steps, backend, notes, ledger)))
    finally:
        ledger.save()


def _carried_out(steps: Iterable[Step], backend: StorageBackend, notes: NoteFormat, ledger: Ledger) -> Iterator[Step]:
    for step in steps:
        done = step
        if step.action in (CREATE, UPDATE):
            done = _write(step, step.store or backend)
        if step.item is not None and step.item.key == "" and done.action in (CREATE, UPDATE, UNCHANGED):
            _record(done, notes, ledger)
        yield done


def _record(step: Step, notes: NoteFormat, ledger: Ledger) -> None:
    assert step.item is not None
    if step.action == UNCHANGED:
        if ledger.get(step.item.identity) is None and step.current == step.text:
            ledger.add(step.item.identity, Entry(step.key, digest(step.text), note_mark(notes, step.text)))
        return
    ledger.add(step.item.identity, Entry(step.key, digest(step.planned or step.text), note_mark(notes, step.text)))


def _write(step: Step, backend: StorageBackend) -> Step:
    condition = ABSENT if step.current is None else content_hash(step.current)
    try:
        backend.write(Locator(step.key), step.text, if_match=condition)
    except ConcurrentModificationError:
        return _left(step, "somebody else changed the note meanwhile: run the import again")
    except (LocatorConflictError, InvalidContentError, InvalidLocatorError) as error:
        return _left(step, error.message)
    return step


def _left(step: Step, reason: str) -> Step:
    return replace(step, action=SKIP, reason=reason, is_problem=True)
