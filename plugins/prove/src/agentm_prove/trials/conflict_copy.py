"""Another device's version comes in through a sync tool: in the place of the note, and as a copy beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken
from agentm_prove.worker_handle import Refused

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory
    from agentm_prove.worker_handle import Worker

_NOTE = "decision.md"
_OURS, _THEIRS = "what we read\n", "what the other device wrote\n"
_COPY = "decision.sync-conflict-20260102-030405-ABCDEFG.md"


def run(laboratory: Laboratory) -> str:
    worker = laboratory.fresh().opened()
    worker.ask("write", key=_NOTE, text=_OURS)
    path = worker.ask("file_of", key=_NOTE)
    _put(path, _THEIRS)
    try:
        worker.ask("write", key=_NOTE, text="ours, made from what we read\n", after=_OURS)
    except Refused as refusal:
        if "ConcurrentModificationError" not in refusal.kinds:
            raise Broken(f"a write over a version that nobody had read ended with {refusal}") from None
    else:
        raise Broken("a version that the sync tool had just brought was overwritten, although nobody had read it")
    if worker.ask("read", key=_NOTE) != _THEIRS:
        raise Broken("the refused write changed the note all the same")
    said = "a version that came in meanwhile was kept, and the write refused"
    if not worker.ask("facts")["conflict_files"]:
        return f"{said}; no sync tool is expected in this kind of store, so its copies were not tried"
    return f"{said}; {_try_copy(worker, path)}"


def _try_copy(worker: Worker, path: str) -> str:
    _put(os.path.join(os.path.dirname(path), _COPY), "a conflict copy\n")
    if _COPY in worker.ask("keys"):
        raise Broken("a sync tool's conflict copy was listed as a note")
    if [_NOTE, "a conflict copy\n"] not in worker.ask("copies"):
        raise Broken("a sync tool's conflict copy is not in the list of conflict copies")
    if worker.ask("read", key=_NOTE) != _THEIRS:
        raise Broken("the note was read from its conflict copy")
    return "a conflict copy is listed as one, and not as a note"


def _put(path: str, text: str) -> None:
    """Write as a sync tool does: a file of its own, renamed over the old one."""
    with open(f"{path}.incoming", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(f"{path}.incoming", path)
