"""What is asked again and what is remembered: lists, and looks at the store."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import (
    AgentmError,
    DeviceCopy,
    Locator,
    NotFoundError,
)
from agentm_view import watching
from agentm_view.answers import Answers
from agentm_view.memory import Listing, Memory
from agentm_view.watching import Watcher


class Clock:
    """A clock that stands still until somebody turns it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Store:
    """A store whose folders have the versions that a test gives them."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.is_elsewhere = False
        self.trouble: AgentmError | None = None
        self.looks = 0

    def facet(self, kind: type) -> object | None:
        return object() if kind is DeviceCopy and self.is_elsewhere else None

    def info(self, locator: Locator) -> SimpleNamespace:
        self.looks += 1
        if self.trouble:
            raise self.trouble
        if locator.key not in self.versions:
            raise NotFoundError(f"there is no '{locator.key}'")
        return SimpleNamespace(version=self.versions[locator.key])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("memory", "watching", "answers"):
        monkeypatch.setattr(f"agentm_view.{module}.time", clock)
    return clock


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return Memory(read_only=False, cwd=str(tmp_path))


# -- the list -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked_for_notes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every list that is made."""
    made: list[int] = []

    def notes() -> dict[str, Any]:
        made.append(1)
        return {"notes": [], "problems": [], "unreached": 0}

    monkeypatch.setattr(memory, "notes", lambda: SimpleNamespace(notes=notes))
    return made


@pytest.mark.parametrize(
    ("first", "second", "later", "made"),
    [
        ("same", "same", 0.0, 1),
        ("same", "same", 30.0, 1),
        ("same", "same", 30.5, 2),
        ("same", "other", 0.0, 2),
        (None, None, 0.5, 1),
        (None, None, 1.0, 2),
    ],
)
def test_a_list_is_made_anew_when_a_folder_has_changed_or_nobody_can_tell(
    memory: Memory, clock: Clock, asked_for_notes: list[int], first: object, second: object, later: float, made: int
) -> None:
    memory.listing(first)
    clock.now += later
    memory.listing(second)
    assert len(asked_for_notes) == made


def test_a_list_that_was_forgotten_is_made_anew(memory: Memory, clock: Clock, asked_for_notes: list[int]) -> None:
    memory.listing("same")
    memory.forget_listing()
    memory.listing("same")
    assert len(asked_for_notes) == 2


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("port", "projects/a/facts/port.md"),
        ("port.md", "projects/a/facts/port.md"),
        ("facts/port", "projects/a/facts/port.md"),
        ("projects/a/facts/port.md", "projects/a/facts/port.md"),
        ("acts/port", None),
        ("host", None),
        ("b/facts/host", "projects/b/facts/host.md"),
        ("none", None),
    ],
)
def test_a_name_means_the_one_note_whose_path_ends_so(name: str, found: str | None) -> None:
    slugs = {
        "port": ["projects/a/facts/port.md"],
        "host": ["projects/a/facts/host.md", "projects/b/facts/host.md"],
    }
    assert Listing([], [], 0, {}, slugs).find(name) == found


# -- looking at the store -------------------------------------------------------------------------------------


@pytest.fixture
def store(memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    store = Store()
    state = tmp_path / "state"
    (state / "hosts").mkdir(parents=True)
    (state / "view").mkdir()
    monkeypatch.setattr(memory, "store", lambda: store)
    monkeypatch.setattr(memory, "device", lambda: SimpleNamespace(state_dir=str(state)))
    monkeypatch.setattr(memory, "known_keys", lambda: ["projects/a/facts/port.md"])
    return store


def test_the_store_is_looked_at_once_a_second(memory: Memory, store: Store, clock: Clock) -> None:
    watcher = Watcher(memory)
    before = watcher.token()
    store.versions["projects/a"] = "new"
    clock.now += 0.9
    assert watcher.token() == before
    clock.now += 0.1
    assert watcher.token() != before


def test_looking_takes_at_most_a_twentieth_of_the_time(
    memory: Memory, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow() -> dict[str, str]:
        clock.now += 2.0
        return {"": str(clock.now)}

    watcher = Watcher(memory)
    monkeypatch.setattr(watcher, "_versions", slow)
    before = watcher.token()
    clock.now += 39.9
    assert watcher.token() == before
    clock.now += 0.1
    assert watcher.token() != before


def test_every_folder_above_a_note_is_looked_at(memory: Memory, store: Store, clock: Clock) -> None:
    watcher = Watcher(memory)
    for folder in ("", "_meta", "projects", "projects/a", "projects/a/facts", "personal"):
        before = watcher.token()
        store.versions[folder] = "new"
        clock.now += 1.0
        assert watcher.token() != before, folder
    before = watcher.token()
    store.versions["projects/b"] = "new"
    clock.now += 1.0
    assert watcher.token() == before, "its own folder says so when there is a note in it"


def test_a_store_elsewhere_is_taken_for_changed_every_half_minute(memory: Memory, store: Store, clock: Clock) -> None:
    store.is_elsewhere = True
    clock.now = 3000.0
    watcher = Watcher(memory)
    before = watcher.token()
    clock.now = 3029.0
    assert watcher.token() == before
    clock.now = 3030.0
    assert watcher.token() != before
    assert store.looks == 0


def test_a_store_that_cannot_be_looked_at_is_told_and_so_is_its_return(
    memory: Memory, store: Store, clock: Clock
) -> None:
    watcher = Watcher(memory)
    watcher.look()
    news = watcher.news
    store.trouble = AgentmError("the store is away")
    clock.now += 1.0
    assert (watcher.token(), watcher.trouble) == (None, "the store is away")
    assert watcher.version_of("facts/port.md") == ""
    assert watcher.news == news + 1
    store.trouble = None
    clock.now += 1.0
    assert watcher.token() is not None
    assert (watcher.trouble, watcher.news) == (None, news + 2)


def test_what_plugins_write_on_this_device_is_news_and_the_notes_stay_the_same(
    memory: Memory, store: Store, clock: Clock
) -> None:
    state = Path(memory.device().state_dir)
    watcher = Watcher(memory)
    before, news = watcher.token(), watcher.news
    for name, is_news in (("hosts/told.json", 1), ("top.json", 1), ("view/open-1.html", 0)):
        (state / name).write_text("{}")
        os.utime(state / "view", (1, 1))
        clock.now += 1.0
        assert watcher.token() == before, name
        news += is_news
        if name != "view/open-1.html":
            assert watcher.news == news, name
    settled = watcher.news
    (state / "view" / "open-1.html").write_text("more")
    clock.now += 1.0
    watcher.look()
    assert watcher.news == settled, "the page's own file"


def test_of_a_folder_with_very_many_files_five_hundred_are_looked_at(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / str(number)).touch()
    assert len(watching._entries(str(tmp_path))) == 500
    assert watching._entries(str(tmp_path / "none")) == []


# -- answers --------------------------------------------------------------------------------------------------


def test_reading_ahead_does_not_keep_the_program_from_ending(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, reading = threading.Event(), []

    def listing(_token: object) -> None:
        reading.append(threading.current_thread())
        has_begun.set()
        go_on.wait(10)
        raise AgentmError("whoever asks is told")

    has_begun = threading.Event()
    monkeypatch.setattr(memory, "listing", listing)
    Answers(memory).warm_up()
    assert has_begun.wait(10)
    go_on.set()
    assert [thread.daemon for thread in reading] == [True]


def test_the_index_is_brought_up_to_date_only_when_the_store_has_changed(
    memory: Memory, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed: list[int] = []
    service = SimpleNamespace(
        refresh=lambda: refreshed.append(1),
        notes=lambda: {"notes": [], "problems": [], "unreached": 0},
        search=lambda _question: {"found": []},
    )
    monkeypatch.setattr(memory, "notes", lambda: service)
    answers = Answers(memory)
    for _ in range(2):
        assert answers.get("screen", {"at": "/search?q=port"})[0] == 200
    assert len(refreshed) == 1
    store.versions[""] = "new"
    clock.now += 1.0
    answers.get("screen", {"at": "/search?q=port"})
    assert len(refreshed) == 2
    answers.get("screen", {"at": "/notes"})
    assert len(refreshed) == 2


def test_what_the_page_does_not_have_is_said(memory: Memory) -> None:
    assert Answers(memory).get("riddle", {}) == (404, {"error": "the page has nothing called 'riddle'"})


# -- a stream -------------------------------------------------------------------------------------------------


class Turning:
    """An event that nobody sets; waiting for it turns the clock."""

    def __init__(self, clock: Clock, by: float, most: int) -> None:
        self.clock, self.by, self.most = clock, by, most

    def wait(self, _seconds: float) -> bool:
        self.clock.now += self.by
        self.most -= 1
        return self.most < 0


def test_a_stream_gives_a_sign_of_life_when_nothing_was_said_for_a_beat(
    memory: Memory, store: Store, clock: Clock
) -> None:
    answers = Answers(memory)
    answers.get("here", {})
    ending: Any = Turning(clock, 1.0, 6)
    said = list(answers.changes("", "", ending, 2.0))
    assert said[0] == {"trouble": None}
    assert said[1]["changed"]
    assert said[2:] == [{}, {"ended": True}]


def test_a_note_that_is_written_in_place_is_told_and_listed_anew(
    memory: Memory, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[int] = []
    monkeypatch.setattr(memory, "forget_listing", lambda: forgotten.append(1))
    store.versions["facts/port.md"] = "1"
    answers = Answers(memory)
    answers._watcher.look()
    lines: Iterator[dict[str, Any]] = answers.changes("facts/port.md", "", Turning(clock, 0.1, 9), 99.0)  # type: ignore[arg-type]
    assert next(lines) == {"trouble": None}
    store.versions["facts/port.md"] = "2"
    assert next(lines) == {"changed": True, "note": True, "trouble": None}
    assert len(forgotten) == 1
    answers._watcher.changed()
    assert next(lines) == {"changed": True, "note": False, "trouble": None}
    assert len(forgotten) == 1
