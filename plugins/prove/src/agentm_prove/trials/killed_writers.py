"""Writers are killed in the middle of their work; the note is one whole version, and the next writer goes on."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken
from agentm_prove.worker import whole_version

if TYPE_CHECKING:
    from agentm_prove.laboratory import Laboratory
    from agentm_prove.worker_handle import Worker

KILLS = 12
ENOUGH = 4
"""How many kills there are on a slow disk too."""
_SECONDS = 6.0
_NOTE = "plan.md"
_SIZE = 400_000
_LONGEST = 0.03


def run(laboratory: Laboratory) -> str:
    home = laboratory.fresh()
    reader = home.opened()
    reader.ask("write", key=_NOTE, text=whole_version(0, _SIZE))
    slowest, kills = 0.0, 0
    writer = home.start()
    until = time.monotonic() + _SECONDS
    for number in range(KILLS):
        if number >= ENOUGH and time.monotonic() > until:
            break
        kills = number + 1
        following = home.start()  # it starts up while the other one writes
        writer.ask("reopen", limit=30)
        writer.send("write_until_killed", key=_NOTE, size=_SIZE)
        writer.hear()
        time.sleep(random.random() * _LONGEST)
        writer.kill()
        _judge(reader.ask("read", key=_NOTE), writer)
        began = time.monotonic()
        reader.ask("write", key=_NOTE, text=whole_version(0, _SIZE))
        slowest = max(slowest, time.monotonic() - began)
        writer = following
    writer.kill()
    if stray := [key for key in reader.ask("keys") if key != _NOTE]:
        raise Broken(f"killed writers left {len(stray)} things that look like notes: {stray[0]}")
    return (
        f"{kills} writers were killed with -9: no note torn, the next writer waited {slowest * 1000:.0f} ms at most"
    )


def _judge(text: str, killed: Worker) -> None:
    lines = set(text.splitlines())
    acknowledged = max(killed.said_so_far(), default=1)
    if len(lines) != 1 or len(text) != len(whole_version(0, _SIZE)):
        raise Broken(f"a note was torn: it held {len(text):,} characters of {len(lines)} versions")
    version = int(lines.pop().split()[1])
    if version < acknowledged:
        raise Broken(f"version {acknowledged} was called saved, and the note held version {version}")
