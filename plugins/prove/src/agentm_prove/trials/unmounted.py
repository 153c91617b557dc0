"""The disk of the store is taken away, and an empty folder is left where it was, as after a failed mount."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken
from agentm_prove.worker_handle import Refused

if TYPE_CHECKING:
    from agentm_prove.laboratory import Home, Laboratory
    from agentm_prove.worker_handle import Worker

_NOTE = "note.md"
_TEXT = "still here\n"


def run(laboratory: Laboratory) -> str:
    home = laboratory.fresh()
    before = home.opened()
    before.ask("write", key=_NOTE, text=_TEXT)
    away = f"{home.place}-away"
    os.rename(home.place, away)
    refusals = []
    for folder, how in ((home.store_folder, "an empty folder"), (home.place, "no folder")):
        if folder == home.store_folder:
            os.makedirs(folder)
        for worker, who in ((before, "a program that had it open"), (home.start(), "a new program")):
            refusals.append(
                _refusal(worker, f"{who} found {how} in the place of the store", is_new=worker is not before)
            )
            if left := _files_in(home.place):
                raise Broken(f"{who} made {left[0]} where the store's disk should have been mounted")
        _remove_folders(home)
    os.rename(away, home.place)
    again = home.start()
    again.ask("reopen")
    if again.ask("read", key=_NOTE) != _TEXT:
        raise Broken("when the disk was back, the note was another one")
    return f"reading and writing were refused {len(refusals)} times, nothing was made, and all was there afterwards"


def _refusal(worker: Worker, what: str, *, is_new: bool) -> str:
    try:
        if is_new:
            worker.ask("reopen")
        worker.ask("write", key="lost.md", text="lost\n")
    except Refused as refusal:
        if "AgentmError" not in refusal.kinds:
            raise Broken(f"{what}, and got {refusal}") from None
        return refusal.message
    raise Broken(f"{what}, and wrote into it: the note is not where it belongs")


def _files_in(folder: str) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


def _remove_folders(home: Home) -> None:
    for folder, _, _ in os.walk(home.place, topdown=False):
        os.rmdir(folder)
