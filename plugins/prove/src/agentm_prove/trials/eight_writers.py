"""Eight processes add lines to one note, and make notes of their own beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_prove.trial import Broken

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory

WRITERS = 8
LINES = 15
_NOTE = "shared.md"


def run(laboratory: Laboratory) -> str:
    home = laboratory.fresh()
    first = home.opened()
    workers = [first, *(home.start() for _ in range(WRITERS - 1))]
    for worker in workers[1:]:
        worker.send("reopen")
    for worker in workers[1:]:
        worker.answer(limit=30)
    for name, worker in enumerate(workers):
        worker.send("add_lines", key=_NOTE, lines=[f"writer {name} line {number}" for number in range(LINES)])
        worker.send("add_lines", key=f"own/{name}.md", lines=["mine"])
    for worker in workers:
        worker.answer(limit=30)
        worker.answer(limit=30)
    wanted = {f"writer {name} line {number}" for name in range(WRITERS) for number in range(LINES)}
    found = first.ask("read", key=_NOTE).splitlines()
    own = [key for key in first.ask("keys") if key.startswith("own/")]
    if len(found) != len(wanted) or set(found) != wanted:
        raise Broken(
            f"of {len(wanted)} lines {len(wanted - set(found))} are lost, {len(found) - len(set(found))} are there "
            f"twice and {len(set(found) - wanted)} are damaged"
        )
    if len(own) != WRITERS:
        raise Broken(f"of {WRITERS} notes that were made beside it, {WRITERS - len(own)} are missing")
    return f"{WRITERS} programs added {LINES} lines each to one note: all {len(wanted)} are there, each once"
