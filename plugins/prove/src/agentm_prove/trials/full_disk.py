"""A disk of two megabytes, made for this trial alone, is filled; then agentm is asked to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_prove.trial import Broken, NotTried
from agentm_prove.worker_handle import Refused

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory

_DISK = 2 * 1024 * 1024
_NOTE = "note.md"
_TEXT = "before the disk was full\n" * 1_000


def run(laboratory: Laboratory) -> str:
    try:
        worker = laboratory.fresh().opened(disk_of=_DISK)
    except Refused as refusal:
        if "AgentmError" in refusal.kinds:
            raise
        raise NotTried(
            f"a small disk cannot be made here without rights that this user does not have ({refusal.message}), and "
            "your own disk is not filled"
        ) from None
    worker.ask("write", key=_NOTE, text=_TEXT)
    worker.ask("fill")
    for verb, arguments in (("write", {"text": "x" * 500_000}), ("add_lines", {"lines": ["y" * 200_000]})):
        try:
            worker.ask(verb, key=_NOTE, **arguments)
        except Refused as refusal:
            if "StorageIOError" not in refusal.kinds:
                raise Broken(f"a write to a full disk ended with {refusal}") from None
        else:
            raise Broken("a write to a full disk was called done")
        if worker.ask("read", key=_NOTE) != _TEXT:
            raise Broken("a write that failed for want of room changed the note")
    worker.ask("make_room")
    worker.ask("write", key=_NOTE, text="after\n")
    if worker.ask("keys") != [_NOTE]:
        raise Broken("failed writes left something behind that looks like a note")
    return "two writes failed with an error on a full scratch disk, the note stayed whole, and writing works again"
