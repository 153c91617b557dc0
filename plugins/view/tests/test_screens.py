"""What each screen chooses to show: how many, in which order, and what it says about the rest."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import AgentmError, DoctorRow, NotFoundError, Panel
from agentm_view.links import ExportLinks, Links
from agentm_view.memory import Listing, Memory
from agentm_view.moments import seconds_of
from agentm_view.routes import asked_for, make_screen, split

NOW = 1_780_000_000.0
FAILED = SimpleNamespace(message="a plugin failed", hint="run `agentm doctor`")


def note(number: int, **fields: Any) -> dict[str, Any]:
    usual = {
        "key": f"projects/payments/facts/n{number:03}.md",
        "title": f"N{number:03}",
        "kind": "fact",
        "project": "payments",
        "current": True,
        "status": "active",
        "changed": "",
        "problem": "",
        "supersedes": [],
    }
    return {**usual, **fields}


class Page:
    """Screens of notes that nobody had to write."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.memory = memory
        self.panels: list[Panel] = []
        self.failures: list[Any] = []
        self.rows: list[DoctorRow] = []
        self.edges: list[tuple[str, str, str, str]] = []
        service = SimpleNamespace(links=lambda: self.edges)
        monkeypatch.setattr(memory, "panels", lambda: (self.panels, self.failures))
        monkeypatch.setattr(memory, "doctor_rows", lambda: (self.rows, self.failures))
        monkeypatch.setattr(memory, "notes", lambda: service)

    def draw(self, address: str, notes: list[dict[str, Any]], *, may_write: bool = True, is_live: bool = True) -> str:
        path, query = split(address)
        listing = Listing(notes, [], 0, {note["key"]: note for note in notes})
        links = Links() if is_live else ExportLinks(0)
        return str(make_screen(asked_for(self.memory, links, listing, query, may_write=may_write), path).html)


@pytest.fixture
def page(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Page:
    home = tmp_path_factory.mktemp("home")
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("agentm_view.screens.today.time", SimpleNamespace(time=lambda: NOW))
    return Page(Memory(read_only=False, cwd=str(home)), monkeypatch)


def titles(drawn: str) -> list[str]:
    return re.findall(r'class="title" dir="auto">([^<]*)<', drawn)


def ago(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(NOW - seconds, UTC).isoformat()


# -- today ----------------------------------------------------------------------------------------------------


def test_a_day_and_a_half_is_since_yesterday(page: Page) -> None:
    notes = [note(1, changed=ago(36 * 3600 - 1)), note(2, changed=ago(36 * 3600)), note(3, changed="soon")]
    drawn = page.draw("", notes)
    assert titles(drawn) == ["N001"]
    assert "Nothing has changed since yesterday" not in drawn


def test_of_many_new_notes_forty_are_shown_and_all_are_counted(page: Page) -> None:
    drawn = page.draw("", [note(number, changed=ago(number)) for number in range(41)])
    assert titles(drawn) == [f"N{number:03}" for number in range(40)]
    assert '<span class="count">41</span>' in drawn


def test_where_nothing_is_new_the_latest_six_are_shown(page: Page) -> None:
    notes = [note(0, current=False), *(note(number) for number in range(1, 9))]
    drawn = page.draw("", notes)
    assert titles(drawn) == [f"N{number:03}" for number in range(1, 7)]
    assert '<p class="quiet">Nothing has changed since yesterday. These are the latest.</p>' in drawn
    assert "8 notes in 1 project<" in drawn


@pytest.mark.parametrize("may_write", [True, False])
def test_an_empty_memory_asks_for_a_note_whoever_may_write_one(page: Page, may_write: bool) -> None:
    drawn = page.draw("", [], may_write=may_write)
    assert ("Write the first note" in drawn) == may_write
    assert "Nothing is remembered yet" in drawn


@pytest.mark.parametrize(
    ("place", "is_live", "is_hidden"),
    [("decide", True, True), ("decide", False, False), ("today", True, False), ("today", False, False)],
)
def test_that_nothing_waits_is_said_unless_a_panel_may_still_have_something(
    page: Page, place: str, is_live: bool, is_hidden: bool
) -> None:
    page.panels = [Panel("one", "One", place, lambda _query: [])]
    drawn = page.draw("", [note(1)], is_live=is_live)
    assert ('class="quiet settled" hidden>' in drawn) == is_hidden
    assert "Nothing waits for you." in drawn


def test_a_plugin_that_failed_is_named_on_the_first_screen(page: Page) -> None:
    page.failures = [FAILED]
    drawn = page.draw("", [])
    assert "<p>a plugin failed</p>" in drawn
    assert "<code>agentm doctor</code>" in drawn


@dataclass(frozen=True, eq=False)
class Device:
    """One that shows a store, in a folder whose project may have another."""

    store_name: str | None
    default: SimpleNamespace
    home = "/home/ana"

    def of_store(self, _name: str) -> object:
        return SimpleNamespace(renewed=lambda: self.default)


@pytest.mark.parametrize(
    ("of_project", "shown", "said"),
    [
        (None, None, None),
        ("team", None, "in the store <strong>team</strong>: <code>agentm --store team view</code>"),
        ("team", "other", "in the store <strong>team</strong>: <code>agentm --store team view</code>"),
        ("team", "team", "Your own notes are in the default store: <code>agentm --store default view</code>"),
        (None, "team", "Your own notes are in the default store: <code>agentm --store default view</code>"),
    ],
)
def test_notes_in_another_store_are_pointed_at(
    page: Page, monkeypatch: pytest.MonkeyPatch, of_project: str | None, shown: str | None, said: str | None
) -> None:
    default = SimpleNamespace(project=lambda _cwd: SimpleNamespace(store_name=of_project))
    device = Device(shown, default)
    monkeypatch.setattr(page.memory, "device", lambda: device)
    previews = {device: SimpleNamespace(line="a folder: /home/ana/notes")}
    monkeypatch.setattr("agentm_view.screens.today.storage_preview", lambda *, device: previews[device])
    drawn = page.draw("", [note(1)])
    assert (said in drawn) if said else ('class="notice"' not in drawn)
    assert "<small>a folder: ~/notes</small>" in drawn


# -- notes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "shown"),
    [("0", 100), ("1", 100), ("99", 3), ("1000000000", 100), ("-1", 100), ("\u0661", 100), ("x", 100), ("", 100)],
)
def test_a_page_of_notes_begins_where_the_address_says_if_it_says_a_number(
    page: Page, first: str, shown: int
) -> None:
    drawn = page.draw(f"notes?from={first}", [note(number) for number in range(102)])
    assert len(titles(drawn)) == shown
    begins = int(first) if first in ("1", "99") else 0
    assert titles(drawn)[0] == f"N{begins:03}"


def test_a_hundred_notes_are_one_page(page: Page) -> None:
    assert 'class="pages"' not in page.draw("notes", [note(number) for number in range(100)])
    more = page.draw("notes", [note(number) for number in range(101)])
    assert '<span class="quiet">1 to 100 of 101</span>' in more
    assert "newer" not in more
    assert 'href="/notes?from=100">older' in more


def test_the_page_before_begins_with_the_first_note_at_least(page: Page) -> None:
    notes = [note(number) for number in range(150)]
    second = page.draw("notes?from=50", notes)
    assert 'href="/notes?from=0">← newer' in second
    assert '<span class="quiet">51 to 150 of 150</span>' in second
    assert "older" not in second


def test_an_export_lists_every_note_on_one_page(page: Page) -> None:
    drawn = page.draw("notes", [note(number) for number in range(102)], is_live=False)
    assert len(titles(drawn)) == 102
    assert 'class="pages"' not in drawn
    assert 'class="choices"' not in drawn


def test_beyond_the_last_note_there_is_none_that_fits(page: Page) -> None:
    assert "No note fits" in page.draw("notes?from=1", [note(1)])


# -- projects -------------------------------------------------------------------------------------------------


def test_a_project_says_its_four_most_frequent_kinds_of_current_notes(page: Page) -> None:
    kinds = ["fact", "fact", "decision", "decision", "decision", "rule", "issue", "plan"]
    notes = [note(number, kind=kind, changed="2026-05-01") for number, kind in enumerate(kinds)]
    drawn = page.draw("projects", [*notes, note(90, kind="past", current=False)])
    assert '<span class="said">8 notes</span>' in drawn
    assert '<span class="quiet">3 decision, 2 fact, 1 rule, 1 issue</span>' in drawn
    assert '<time datetime="2026-05-01"' in drawn


def test_a_project_of_which_everything_is_past_has_no_time(page: Page) -> None:
    drawn = page.draw("projects", [note(1, current=False, changed="2026-05-01")])
    assert '<span class="said">0 notes</span>' in drawn
    assert "<time" not in drawn


def test_a_project_lists_its_notes_by_kind_and_a_hundred_that_are_past(page: Page) -> None:
    notes = [note(1, kind="known-issue"), note(2, kind="news"), note(3, project="others")]
    drawn = page.draw("project/payments", [*notes, *(note(200 + n, current=False) for n in range(101))])
    assert re.findall(r"<h2>([^<]*)<", drawn) == ["Known issues", "News", "Past"]
    assert re.findall(r'class="count">(\d+)<', drawn) == ["1", "1", "101"]
    assert len(titles(drawn)) == 2 + 100
    assert "N003" not in drawn
    assert '<p class="said">2 notes</p>' in drawn


# -- graph and health -----------------------------------------------------------------------------------------


def nodes(drawn: str) -> list[dict[str, Any]]:
    found = re.search('data-graph="([^"]*)"', drawn)
    assert found
    return list(json.loads(html.unescape(found[1]))["nodes"])


def test_the_graph_draws_the_hundred_and_fifty_best_connected_notes(page: Page) -> None:
    notes = [note(number, title=f"{number:03}" + "x" * 90) for number in range(152)]
    keys = [one["key"] for one in notes]
    page.edges = [(keys[0], key, "link", "") for key in keys[1:]] + [(keys[1], keys[151], "file", "a.py")]
    drawn = page.draw("graph", notes)
    shown = nodes(drawn)
    assert [one["key"] for one in shown] == [*keys[:149], keys[151]]
    assert shown[0]["degree"] == 151
    assert shown[0]["title"] == "000" + "x" * 57
    assert '<p class="said">150 notes, 150 connections; not drawn: 2 more</p>' in drawn
    assert "<td>speaks of the same file as (a.py)</td>" in drawn


def test_a_graph_of_few_notes_draws_all(page: Page) -> None:
    notes = [note(1), note(2)]
    page.edges = [(notes[0]["key"], notes[1]["key"], "echoes", "")]
    drawn = page.draw("graph", notes)
    assert '<p class="said">2 notes, 1 connection</p>' in drawn
    assert "<td>echoes</td>" in drawn


def test_a_note_that_is_not_listed_is_not_drawn(page: Page) -> None:
    page.edges = [(note(1)["key"], note(2)["key"], "link", ""), (note(2)["key"], note(1)["key"], "link", "")]
    assert "No connections yet" in page.draw("graph", [note(1)])


@pytest.mark.parametrize(("project", "drawn"), [("one", 2), ("two", 2), ("", 3), ("three", 0)])
def test_the_graph_of_a_project_has_what_is_connected_with_it(page: Page, project: str, drawn: int) -> None:
    notes = [note(1, project="one"), note(2, project="two"), note(3, project=None)]
    keys = [one["key"] for one in notes]
    page.edges = [(keys[0], keys[1], "link", "")]
    if not project:
        page.edges.append((keys[1], keys[2], "link", ""))
    shown = page.draw(f"graph?project={project}", notes)
    assert ("No connections yet" in shown) == (drawn == 0)
    assert drawn == 0 or len(nodes(shown)) == drawn


def test_health_shows_the_worst_first_and_counts_what_wants_a_look(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = object()
    monkeypatch.setattr(page.memory, "device", lambda: device)
    preview = {device: SimpleNamespace(status="ok", line="a folder")}
    monkeypatch.setattr("agentm_view.screens.health.storage_preview", lambda *, device: preview[device])
    page.rows = [DoctorRow(status, status, "said") for status in ("ok", "warn", "fail")]
    drawn = page.draw("health", [])
    assert re.findall("<strong>([a-z]*)</strong>", drawn) == ["fail", "warn", "storage", "ok"]
    assert '<p class="said">2 of 4 want a look.</p>' in drawn
    page.failures = [FAILED]
    assert "3 of 5 want a look." in page.draw("health", [])
    page.rows, page.failures = [DoctorRow("ok", "index", "said")], []
    assert '<p class="said">Everything is fine.</p>' in page.draw("health", [])


def test_a_panel_that_is_not_there_says_why(page: Page) -> None:
    with pytest.raises(NotFoundError) as missing:
        page.draw("panel/inbox", [])
    assert missing.value.message == ("there is no panel 'inbox': the plugin that it belongs to is not installed")
    assert missing.value.hint == "`agentm plugins list` shows what is installed"
    page.failures = [FAILED]
    with pytest.raises(NotFoundError, match="there is no panel 'inbox': a plugin failed"):
        page.draw("panel/inbox", [])


@pytest.mark.parametrize("address", ["nowhere", "note/", "project/", "panel/", "note", "project", "panel"])
def test_an_address_without_a_screen_says_where_to_begin(page: Page, address: str) -> None:
    with pytest.raises(NotFoundError) as missing:
        page.draw(address, [])
    assert missing.value.message == f"there is no screen at /{address}"
    assert missing.value.hint == "begin at the first screen: /"


def test_a_panel_that_raises_says_so_in_its_own_place(page: Page) -> None:
    def raises(_query: object) -> Any:
        raise AgentmError("the store is away", hint="mount it")

    def fails(_query: object) -> Any:
        raise SystemExit(3)

    page.panels = [Panel("away", "Away", "more", raises), Panel("wrong", "Wrong", "more", fails)]
    away = page.draw("panel/away", [])
    assert (
        '<div class="failure" role="alert"><p>the store is away</p><p class="hint">Next: mount it</p></div>' in away
    )
    assert "the panel &#39;Wrong&#39; failed: " in page.draw("panel/wrong", [])


# -- dates ----------------------------------------------------------------------------------------------------


def test_a_date_without_a_zone_is_the_same_moment_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        with monkeypatch.context() as there:
            there.setenv("TZ", zone)
            time.tzset()
            assert seconds_of(" 2026-05-01 ") == 1_777_593_600.0
            assert seconds_of("2026-05-01T02:00:00+02:00") == 1_777_593_600.0
    time.tzset()
    assert seconds_of("soon") is None
    for beyond in ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"):  # one such note, and no page was shown
        assert seconds_of(beyond) is None


def test_what_is_no_date_is_shown_as_it_begins_and_can_be_pointed_at_as_a_whole(page: Page) -> None:
    drawn = page.draw("notes", [note(1, changed="in the spring of 2026")])
    said = "in the spring of 2026"
    assert f'<time datetime="{said}" title="{said}">in the spr</time>' in drawn
    assert "<time" not in page.draw("notes", [note(1, changed="")])
