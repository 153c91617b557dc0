"""Why a note is recalled, or why not; what the end of a turn does, and what doctor says about notes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import AgentmError, Device, HookContext, Locator, NotFoundError, StorageError
from agentm_recall import RecallIndex, upkeep
from agentm_recall.doctor import agentm_doctor_checks
from agentm_recall.events import agentm_event
from agentm_recall.provider import why

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Home

    from agentm_kernel.plugin import StorageBackend

    Why = Callable[..., list[str]]

PORT = "projects/widgets/facts/port"


@pytest.fixture
def explained(home: Home, store: StorageBackend) -> Why:
    home.note(f"{PORT}.md", "---\nupdated: 2025-01-02\n---\n\n# Port\n\nHerons go to 443.\n")
    home.note("projects/widgets/decisions/bus.md", "---\nupdated: 2025-01-01\n---\n\n# Bus\n\nKafka it is.\n")

    def ask(note: str, *, phase: str = "work", query: str | None = None, limit: int | None = None) -> list[str]:
        here = Device.now({"HOME": str(home.path)}).memory(str(home.project))
        return why(here, note=note, phase=phase, query=query, limit=limit).splitlines()

    return ask


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("work", "  the phase work reads decisions, known-issues, conventions first; it is number 2 of 2"),
        ("review", "  the phase review reads conventions first; it is number 2 of 2"),
        ("no-such", "  the phase work reads decisions, known-issues, conventions first; it is number 2 of 2"),
    ],
)
def test_the_phase_says_in_which_order_notes_come(explained: Why, phase: str, said: str) -> None:
    assert explained("port", phase=phase) == [f"{PORT}: shown", f"{said}, as the room allows"]


def test_a_kind_that_the_phase_names_comes_first(explained: Why) -> None:
    assert explained("bus") == [
        "projects/widgets/decisions/bus: shown",
        "  the phase work reads its kind first; it is number 1 of 2, as the room allows",
    ]


def test_a_note_for_which_there_is_no_room_is_not_shown(explained: Why, home: Home) -> None:
    for number in range(20):
        fields = f"---\nupdated: 2026-01-{number + 1:02}\n---\n\n"
        home.note(f"projects/widgets/facts/long-{number}.md", fields + "words and words " * 60)
    first, second = explained("port", limit=400)
    assert first == f"{PORT}: not shown"
    assert second.endswith("it is number 22 of 22, as the room allows")


def test_what_is_always_loaded_needs_no_reason(explained: Why, home: Home) -> None:
    home.note("personal/_always-load/tone.md", "Be brief.\n")
    key = "personal/_always-load/tone"
    assert explained("tone") == [f"{key}: shown", "  it is always loaded, as far as half of the room goes"]
    assert explained("tone", query="herons") == [f"{key}: shown", "  it is always loaded, whatever is asked"]
    assert explained("port")[1].endswith("it is number 2 of 2, as the room allows"), "it has no place in the order"


def test_a_query_decides_by_what_a_note_says_of_it(explained: Why) -> None:
    first, second, third = explained("port", query="herons")
    assert first == f"{PORT}: shown"
    assert second.startswith("  answer 1 of 1: score ")
    assert " = text " in second
    assert " * recency 1." in second
    assert third.startswith("  it covers the query with a confidence of 0.")
    assert explained("bus", query="herons") == [
        "projects/widgets/decisions/bus: not shown",
        "  it has no word of the query, or 200 notes answer better",
    ]
    assert "the phase work" in explained("port", query="  ")[1], "a query of nothing is none"


def test_a_rule_is_the_reason_whatever_is_asked(explained: Why, home: Home) -> None:
    home.note("projects/widgets/facts/gone.md", "---\nstatus: deleted\n---\n\nHerons.\n")
    home.note("projects/widgets/facts/past.md", "---\nstatus: superseded\n---\n\nHerons.\n")
    home.note("projects/widgets/facts/draft.md", "---\nstatus: draft\n---\n\nHerons.\n")
    home.note("projects/other/facts/theirs.md", "Herons.\n")
    assert explained("gone", query="herons") == [
        "projects/widgets/facts/gone: not shown",
        "  it was forgotten: `agentm save --update` brings it back",
    ]
    assert explained("past")[1] == "  its status says that another note has replaced it"
    assert explained("draft") == [
        "projects/widgets/facts/draft: shown",
        "  its status is draft, which counts as active",
    ]
    assert explained("theirs")[1] == "  it is of the project other, and this is widgets"


def test_the_note_that_has_replaced_another_is_named(explained: Why, home: Home) -> None:
    for slug, status in (("wrong", "deleted"), ("right", "active")):
        fields = f"---\nstatus: {status}\nsupersedes: [port]\nupdated: 2025-02-01\n---\n\n"
        home.note(f"projects/widgets/facts/{slug}.md", f"{fields}Herons go to 80.\n")
    assert explained("port") == [f"{PORT}: not shown", "  projects/widgets/facts/right has replaced it"]


def test_a_note_that_is_not_there_is_an_error_and_without_a_store_nothing_is_recalled(
    explained: Why, home: Home
) -> None:
    with pytest.raises(NotFoundError):
        explained("submarine")
    outside = Device.now({"HOME": str(home.path)}).memory(str(home.path))
    said = why(outside, note="port", phase="work", query=None, limit=None)
    assert said == "no store is selected, so nothing is recalled\n"


# ------------------------------------------------------------------------------------------------ events


def context(home: Home) -> HookContext:
    return HookContext(Device.now({"HOME": str(home.path)}), str(home.project))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What would have been started in the background."""
    said: list[tuple[Any, ...]] = []
    monkeypatch.setattr(upkeep, "start", lambda *given: said.append(given))
    return said


@pytest.mark.parametrize("name", ["turn-end", "session-end", "stop"])
def test_the_end_of_a_turn_indexes_what_is_new_and_has_the_rest_checked(
    home: Home, store: StorageBackend, started: list[tuple[Any, ...]], name: str
) -> None:
    home.note(f"{PORT}.md", "It is 443.\n")
    assert agentm_event(name=name, context=context(home)) == "recall: 1 note indexed"
    assert [given[2] for given in started] == [str(home.project)]
    assert agentm_event(name=name, context=context(home)) is None
    for number in range(2):
        home.note(f"projects/widgets/facts/n{number}.md", "More.\n")
    assert agentm_event(name=name, context=context(home)) == "recall: 2 notes indexed"


@pytest.mark.parametrize("name", ["session-start", "conversation-start", "workspace-open", "prompt"])
def test_other_moments_build_nothing_for_a_store_on_this_device(
    home: Home, store: StorageBackend, started: list[tuple[Any, ...]], name: str
) -> None:
    home.note(f"{PORT}.md", "It is 443.\n")
    assert agentm_event(name=name, context=context(home)) is None
    assert not home.index_file().exists()
    assert started == []


def test_a_store_that_fails_is_a_line_and_one_that_cannot_be_had_is_for_others_to_say(
    home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the bucket does not answer")

    monkeypatch.setattr(RecallIndex, "keep_warm", fail)
    said = agentm_event(name="stop", context=context(home))
    assert said == "recall: the index was not brought up to date: the bucket does not answer"
    monkeypatch.setattr(Device, "store", lambda *_, **__: (_ for _ in ()).throw(AgentmError("no store")))
    assert agentm_event(name="stop", context=context(home)) is None


# ------------------------------------------------------------------------------------------------ upkeep


@pytest.fixture
def index(home: Home, store: StorageBackend, monkeypatch: pytest.MonkeyPatch) -> str:
    home.note(f"{PORT}.md", "It is 443.\n")
    made = RecallIndex(store)
    made.update()
    monkeypatch.chdir(home.project)
    return made.path()


def lock_of(index: str, age: float) -> str:
    path = os.path.join(os.path.dirname(index), "upkeep.lock")
    with open(path, "w", encoding="utf-8"):
        os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(("age", "is_running"), [(None, False), (10, True), (290, True), (310, False)])
def test_a_lock_holds_for_five_minutes(index: str, age: float | None, is_running: bool) -> None:
    if age is not None:
        lock_of(index, age)
    assert upkeep.is_running(index) is is_running


def test_the_work_brings_the_index_up_to_date_and_lets_the_next_one_in(home: Home, index: str) -> None:
    home.note("projects/widgets/facts/new.md", "Herons.\n")
    for age in (None, 310):
        if age is not None:
            lock_of(index, age)
            (home.root / "projects/widgets/facts/new.md").unlink()
        upkeep.main(index, str(home.project))
        assert not upkeep.is_running(index)
        assert not os.path.exists(os.path.join(os.path.dirname(index), "upkeep.lock"))
        with RecallIndex(Device.now().store()).opened(may_write=False, look_only=True) as opened:
            assert opened.database.count() == (2 if age is None else 1)


def test_the_work_is_left_to_who_is_at_it(home: Home, index: str) -> None:
    lock = lock_of(index, 10)
    home.note("projects/widgets/facts/new.md", "Herons.\n")
    upkeep.main(index, str(home.project))
    assert os.path.exists(lock)
    with RecallIndex(Device.now().store()).opened(may_write=False, look_only=True) as opened:
        assert "projects/widgets/facts/new.md" not in opened.database.versions([Locator()])


def test_the_notes_of_the_project_are_checked_and_another_index_is_not_touched(
    home: Home, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[tuple[str, str, str]] = []
    monkeypatch.setattr("agentm_recall.staleness.check_project", lambda *given: checked.append(given))
    upkeep.main(index, str(home.project))
    assert checked == [(index, "widgets", str(home.project))]
    upkeep.main(index, str(home.path))
    upkeep.main(os.path.join(os.path.dirname(index), "other.sqlite3"), str(home.project))
    assert len(checked) == 1


def test_a_process_of_its_own_is_started_unless_one_runs(
    home: Home, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, Any]]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: started.append((words, options)))
    upkeep.start(index, {"HOME": str(home.path)}, str(home.path))
    upkeep.start(index)
    (words, options), (others, plain) = started
    assert words == [sys.executable, "-P", "-m", "agentm_recall.upkeep", index, str(home.path)]
    assert (options["env"], options["start_new_session"]) == ({"HOME": str(home.path)}, True)
    assert {options[name] for name in ("stdin", "stdout", "stderr")} == {subprocess.DEVNULL}
    assert (others[-1], plain["env"]) == (str(home.project), None)
    lock_of(index, 10)
    upkeep.start(index)
    assert len(started) == 2
    os.unlink(os.path.join(os.path.dirname(index), "upkeep.lock"))

    def fail(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(subprocess, "Popen", fail)
    upkeep.start(index)


def test_a_folder_that_takes_no_lock_is_left_alone(tmp_path: Path) -> None:
    upkeep.main(str(tmp_path / "none" / "notes.sqlite3"), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ doctor


def rows(home: Home) -> list[tuple[str, str, str, str | None]]:
    device = Device.now({"HOME": str(home.path)})
    found = agentm_doctor_checks(context=HookContext(device, str(home.project), store=device.store()))
    assert found is not None
    return [(row.status, row.check, row.message, row.hint) for row in found]


def test_doctor_says_how_many_notes_are_indexed(home: Home, store: StorageBackend) -> None:
    assert agentm_doctor_checks(context=context(home)) is None, "without a store"
    assert rows(home) == [
        ("ok", "recall", "no index yet; the first search makes it", "run `agentm reindex` to make it now")
    ]
    home.note(f"{PORT}.md", "It is 443.\n")
    RecallIndex(store).update()
    place = home.index_file()
    assert rows(home) == [("ok", "recall", f"1 note indexed, in {place}", None)]
    home.note("projects/widgets/facts/gone.md", "---\nstatus: deleted\n---\n\nGone.\n")
    RecallIndex(store).update()
    assert rows(home) == [("ok", "recall", f"2 notes indexed, 1 of them forgotten, in {place}", None)]
    place.write_bytes(b"no database" * 1000)
    ((status, _, message, hint),) = rows(home)
    assert (status, hint) == ("warn", "run `agentm reindex`")
    assert message.startswith(f"the index {place} cannot be used: it is damaged")


def test_doctor_names_notes_that_nobody_reads(home: Home, store: StorageBackend) -> None:
    record = '{"version": 1, "id": "1", "remotes": []'
    store.write(Locator("projects/gadgets/_project.json"), record + "}")
    store.write(Locator("projects/gizmos/_project.json"), record + ', "moved_to": "gadgets"}')
    store.write(Locator("projects/away/_project.json"), record + ', "moved_to_store": "other"}')
    store.write(Locator("projects/empty/_project.json"), record + ', "moved_to": "gadgets"}')
    store.write(Locator("projects/broken/_project.json"), "{")
    for key in ("gizmos/facts/a", "gizmos/facts/b", "away/facts/c", "gadgets/facts/d", "broken/facts/e"):
        store.write(Locator(f"projects/{key}.md"), "Herons.\n")
    first, second = [row for row in rows(home) if row[1] == "left behind"]
    assert first[2].startswith("1 file under 'away', where nobody reads it: ")
    assert str(first[3]).startswith("run `agentm project use-store NAME --move --yes`")
    assert second[2].startswith("2 files under 'gizmos', where nobody reads them: ")
    assert second[3] == "run `agentm project rename gizmos gadgets`, which takes them along"
