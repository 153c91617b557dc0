"""A writer is paused while the store is its own. Nobody may take the store from it; afterwards both writes count."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken, NotTried

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory

PAUSE = 2.0
_NOTE = "note.md"


def run(laboratory: Laboratory) -> str:
    if not hasattr(signal, "SIGSTOP"):
        raise NotTried("this system cannot pause a process")
    home = laboratory.fresh()
    waiter = home.opened()
    waiter.ask("write", key=_NOTE, text="before\n")
    holder = home.start()
    holder.ask("reopen", limit=30)
    holder.send("hold", key=_NOTE, text="the paused one\n")
    holder.hear()
    holder.pause()
    began = time.monotonic()
    waiter.send("add_lines", key=_NOTE, lines=["the waiting one"])
    if not waiter.is_silent_for(PAUSE):
        waited = time.monotonic() - began
        raise Broken(f"another program wrote after {waited:.2f} s, although a paused one had the store to itself")
    holder.go_on()
    holder.send("go on")
    holder.answer()
    waiter.answer()
    found = waiter.ask("read", key=_NOTE)
    if found != "the paused one\nthe waiting one\n":
        raise Broken(f"after both had written, the note held {found!r}")
    return f"the other one waited {time.monotonic() - began:.1f} s for its turn, and both writes are there"
