"""The first screen: what wants a decision, what agents were told, what is new."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_kernel import storage_preview
from agentm_kernel.plugin import AgentmError
from agentm_view.html import Html, join, tag
from agentm_view.moments import seconds_of
from agentm_view.screens import Screen, empty, heading, section
from agentm_view.screens.pieces import count_words, failure_of, note_list, panel_place

if TYPE_CHECKING:
    from agentm_view.screens import Asked

_RECENT = 36 * 3600.0
"""Seconds that "since yesterday" reaches back: yesterday's noon is still yesterday in the evening."""
_LATEST = 6
_MOST = 40


def today(given: Asked) -> Screen:
    panels, failures = given.memory.panels()
    notes = [note for note in given.listing.notes if note["current"]]
    if not given.listing.notes:
        news = empty(
            "Nothing is remembered yet",
            "When an agent saves a fact, or you write one, it appears here.",
            given.may_write
            and tag("p", tag("a", "Write the first note", href=given.links.screen("new"), class_="button")),
        )
    else:
        recent = [note for note in notes if _is_recent(note["changed"])]
        if recent:
            news = section("New since yesterday", note_list(given, recent[:_MOST]), count=len(recent))
        else:
            said = tag("p", "Nothing has changed since yesterday. These are the latest.", class_="quiet")
            news = section("New since yesterday", said, note_list(given, notes[:_LATEST]))
    projects = len(given.listing.projects())
    said = join(
        count_words(len(notes), "note"), " in ", count_words(projects, "project"), tag("small", _place(given))
    )
    decide = [panel_place(given, panel, {}) for panel in panels if panel.place == "decide"]
    told = [panel_place(given, panel, {}) for panel in panels if panel.place == "today"]
    quiet = tag("p", "Nothing waits for you.", class_="quiet settled", hidden=bool(decide) and given.links.is_live)
    html = join(
        heading("Today", said=said),
        _elsewhere(given),
        tag("div", *decide, quiet, class_="decide", data_settled=True),
        tag("div", *told),
        news,
        *(failure_of(one) for one in failures),
    )
    return Screen("Today", html)


def _elsewhere(given: Asked) -> Html | None:
    """That there are notes in another store, which has a page of its own: those of the project here, or one's own."""
    device = given.memory.device()
    try:
        name = device.of_store("default").renewed().project(given.memory.cwd).store_name
    except AgentmError:
        return None
    if name is None and device.store_name is None:
        return None
    if name is None or name == device.store_name:
        words, name = join("Your own notes are in the default store: "), "default"
    else:
        words = join("The notes of the project in this folder are in the store ", tag("strong", name), ": ")
    return tag("p", words, tag("code", f"agentm --store {name} view"), " shows them.", class_="notice")


def _place(given: Asked) -> str:
    device = given.memory.device()
    return storage_preview(device=device).line.replace(f"{device.home}/", "~/")


def _is_recent(date: str) -> bool:
    seconds = seconds_of(date)
    return seconds is not None and time.time() - seconds < _RECENT
