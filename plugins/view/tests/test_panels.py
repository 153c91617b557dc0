"""Panels of plugins: which are shown, and what one that fails or takes too long does to the page."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import AgentmError, Locator, NotFoundError, Panel, PluginError
from agentm_view.memory import Memory, asked


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Memory(read_only=False, cwd=str(tmp_path))


def test_of_two_panels_with_one_name_the_first_is_shown(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Panel("inbox", title, "more", lambda _query: []) for title in ("First", "Second"))
    caller = SimpleNamespace(page_panels=lambda: [first, second], failures=())
    monkeypatch.setattr(memory, "hooks", lambda: caller)
    panels, failures = memory.panels()
    assert [(panel.name, panel.title, panel.place) for panel in panels] == [
        ("inbox", "First", "more"),
        ("conflicts", "Conflicts", "decide"),
    ]
    assert failures == ()
    own = Panel("conflicts", "Mine", "decide", lambda _query: [])
    caller.page_panels = lambda: [own]
    assert memory.panels()[0] == [own]


def test_versions_beside_a_note_are_compared_twenty_at_most(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    note, gone = Locator("facts/port.md"), Locator("facts/gone.md")
    copies = [
        SimpleNamespace(note=gone if number else note, copy=Locator(f"facts/copy {number}.md"), origin="Syncthing")
        for number in range(21)
    ]

    def read(locator: Locator) -> str:
        if locator == gone:
            raise NotFoundError("gone")
        return "the note"

    kept = SimpleNamespace(conflict_copies=lambda _top: copies, read_copy=lambda copy: f"text of {copy.name}")
    store = SimpleNamespace(facet=lambda _kind: kept, exists=lambda one: one == note, read=read)
    monkeypatch.setattr(memory, "store", lambda: store)
    first, second, *others = memory._conflicts({})
    assert first == {
        "type": "sides",
        "title": "facts/port.md",
        "note": "facts/port.md",
        "text": "Kept beside it: facts/copy 0.md, from Syncthing.",
        "left": {"title": "The note", "text": "the note"},
        "right": {"title": "copy 0.md", "text": "text of copy 0.md"},
    }
    assert (second["note"], second["left"]) == ("", {"title": "The note", "text": ""})
    assert len(others) == 18
    store.facet = lambda _kind: None
    assert memory._conflicts({}) == []


def test_what_a_panel_raises_names_the_panel_unless_it_says_what_to_do_itself() -> None:
    panel = Panel("inbox", "Inbox", "more", lambda _query: [])

    def refuse() -> None:
        raise AgentmError("not now", hint="later")

    def fail() -> None:
        raise SystemExit(3)

    with pytest.raises(AgentmError, match=r"^not now"):
        asked(panel, refuse)
    with pytest.raises(PluginError, match=r"^the panel 'Inbox' failed: "):
        asked(panel, fail)


def test_a_panel_that_takes_too_long_keeps_nobody_waiting_and_nothing_from_ending() -> None:
    panel = Panel("slow", "Slow", "more", lambda _query: [])
    go_on = threading.Event()
    with pytest.raises(PluginError) as late:
        asked(panel, go_on.wait, 0.01)
    waiting = [thread for thread in threading.enumerate() if thread.name == "panel slow"]
    assert [thread.daemon for thread in waiting] == [True]
    assert late.value.hint == "reload the page to ask again"
    go_on.set()


def test_a_notes_service_that_cannot_be_opened_is_said(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentm_view.memory.load_plugin", lambda *_: "no function")
    with pytest.raises(PluginError, match="cannot be opened"):
        memory.notes()


def test_panels_are_asked_although_the_store_cannot_be_opened(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(**_: object) -> None:
        raise AgentmError("the store is away")

    device = SimpleNamespace(store=away)
    monkeypatch.setattr(memory, "device", lambda: device)
    seen: list[Any] = []
    monkeypatch.setattr("agentm_view.memory.HookCaller", lambda context: seen.append(context))
    memory.hooks()
    assert [(context.device, context.cwd, context.store) for context in seen] == [(device, memory.cwd, None)]
