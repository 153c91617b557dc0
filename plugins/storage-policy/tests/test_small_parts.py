"""Working hours, windows of limits, documents, events and what processes tell each other: each to its limit."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import AgentmError, Opening
from agentm_storage_policy.business_hours import is_open
from agentm_storage_policy.files import LIMIT, Unreadable, confined, read_document, workspace_root
from agentm_storage_policy.lifecycle import EventBus, LifecycleEvent, canonical, is_known
from agentm_storage_policy.limits import RateLimits
from agentm_storage_policy.sync_state import SyncState

if TYPE_CHECKING:
    from pathlib import Path


def at(day: int, clock: str) -> float:
    """A moment of the week that begins on Monday, 2 November 2026."""
    hour, minute, second = map(int, clock.split(":"))
    return datetime(2026, 11, 1 + day, hour, minute, second, tzinfo=UTC).timestamp()


# ------------------------------------------------------------------------------------------------ working hours


@pytest.mark.parametrize(
    ("condition", "day", "clock", "expected"),
    [
        ({}, 1, "09:00:00", True),
        ({}, 1, "08:59:59", False),
        ({}, 5, "16:59:59", True),
        ({}, 5, "17:00:00", False),
        ({}, 6, "12:00:00", False),
        ({}, 7, "12:00:00", False),
        ({"timezone": "Europe/Berlin"}, 1, "08:00:00", True),
        ({"timezone": "Europe/Berlin"}, 1, "16:00:00", False),
        ({"start": "10:30", "end": "11:00"}, 1, "10:30:00", True),
        ({"start": "10:30", "end": "11:00"}, 1, "10:29:59", False),
        ({"start": "10:30", "end": "11:00"}, 1, "11:00:00", False),
        ({"days": ["Saturday", "SUN"]}, 6, "12:00:00", True),
        ({"days": ["Saturday", "SUN"]}, 7, "12:00:00", True),
        ({"days": ["Saturday", "SUN"]}, 1, "12:00:00", False),
        ({"days": []}, 1, "12:00:00", False),
        ({"days": ["someday"]}, 1, "12:00:00", None),
        ({"start": "nine"}, 1, "12:00:00", None),
        ({"end": "25:00"}, 1, "12:00:00", None),
        ({"timezone": "Mars/Base"}, 1, "12:00:00", None),
        ({"timezone": "../etc/passwd"}, 1, "12:00:00", None),
    ],
)
def test_work_is_done_from_nine_to_five_on_weekdays_unless_it_is_said_otherwise(
    condition: dict[str, Any], day: int, clock: str, expected: bool | None
) -> None:
    assert is_open(condition, at(day, clock)) is expected


# ------------------------------------------------------------------------------------------------ limits


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=1_000_000.0)


@pytest.fixture
def limits(tmp_path: Path, clock: SimpleNamespace) -> RateLimits:
    return RateLimits(Opening(state_dir=str(tmp_path / "state")), lambda: clock.now)


@pytest.mark.parametrize(("per", "seconds"), [("second", 1), ("minute", 60), ("hour", 3_600), ("day", 86_400)])
def test_an_act_counts_until_its_time_is_over(
    limits: RateLimits, clock: SimpleNamespace, per: str, seconds: int
) -> None:
    assert [limits.is_within("write", 2, per) for _ in range(3)] == [True, True, False]
    clock.now += seconds - 0.5
    assert not limits.is_within("write", 2, per)
    clock.now += 0.5
    assert [limits.is_within("write", 2, per) for _ in range(3)] == [True, True, False]


def test_what_was_refused_does_not_count_and_each_name_counts_for_itself(
    limits: RateLimits, clock: SimpleNamespace, tmp_path: Path
) -> None:
    assert [limits.is_within("write", 1, "minute") for _ in range(4)] == [True, False, False, False]
    assert limits.is_within("delete", 1, "minute")
    kept = json.loads((tmp_path / "state" / "policy-limits.json").read_text())
    assert kept == {"write": [1_000_000.0], "delete": [1_000_000.0]}
    clock.now -= 10  # a clock that was set back: what is to come was not done yet
    assert limits.is_within("write", 1, "minute")


@pytest.mark.parametrize("damaged", ["{", "[]", ""])
def test_a_record_that_is_damaged_is_begun_anew(limits: RateLimits, tmp_path: Path, damaged: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "policy-limits.json").write_text(damaged)
    assert [limits.is_within("write", 1, "day") for _ in range(2)] == [True, False]


# ------------------------------------------------------------------------------------------------ documents


def test_a_document_is_read_to_its_limit_and_one_byte_further(tmp_path: Path) -> None:
    file = tmp_path / "STORAGE.md"
    for size in (0, LIMIT, LIMIT + 1):
        file.write_bytes(b"x" * size)
        assert len(read_document(str(file))) == size
    file.write_bytes(b"x" * (LIMIT + 100))
    assert len(read_document(str(file))) == LIMIT + 1
    assert LIMIT == 65_536


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none", "there is no such file"),
        ("folder", "it is not a regular file"),
        ("pipe", "it is not a regular file"),
        ("loop", "Too many levels of symbolic links"),
    ],
)
def test_what_is_no_document_is_said_at_once(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match=f"^{why}$"):
        read_document(str(tmp_path / name))


def test_a_reference_stays_inside_of_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (tmp_path / "root-2").mkdir()
    (root / "out").symlink_to(tmp_path / "root-2")
    (root / "in").symlink_to(root / "a")
    assert confined(str(root), "a/x.md") == str(root / "a" / "x.md")
    assert confined(str(root), "in/x.md") == str(root / "a" / "x.md")
    assert confined(str(root), ".") == str(root)
    assert confined("/", "etc") == os.path.realpath("/etc")
    for outside in ("..", "../root-2/x.md", "out/x.md", "/etc/passwd"):
        with pytest.raises(Unreadable, match="^it leads out of the workspace$"):
            confined(str(root), outside)


def test_a_workspace_is_the_nearest_folder_above_that_says_so(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert workspace_root(str(deep / "STORAGE.md")) == str(deep)
    (tmp_path / "WORKSPACE.md").write_text("")
    assert workspace_root(str(deep / "STORAGE.md")) == str(tmp_path)
    (tmp_path / "a" / "b" / "WORKSPACE.md").write_text("")
    assert workspace_root(str(deep / "STORAGE.md")) == str(tmp_path / "a" / "b")


# ------------------------------------------------------------------------------------------------ events


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("write", True),
        ("per-turn", True),
        ("idle-1", True),
        ("idle-0", False),
        ("idle-x", False),
        ("idle-", False),
        ("idle-٣", False),
        ("conversation-idle-30", True),
        ("host:event", True),
        (":event", False),
        ("host:", False),
        ("sunrise", False),
    ],
)
def test_an_event_is_of_the_vocabulary_an_alias_or_a_hosts_own(name: str, expected: bool) -> None:
    assert is_known(name) is expected
    assert canonical("each-write") == "write"
    assert canonical(name) in (name, "turn-end")


def test_everybody_sees_events_in_one_order_and_may_stop_listening() -> None:
    bus, seen = EventBus(), []

    def first(event: LifecycleEvent) -> None:
        seen.append(("first", event.name))
        if event.name == "write":
            bus.emit(LifecycleEvent("storage-commit-completed"))

    stop = bus.on("each-write", first)
    bus.on("*", lambda event: seen.append(("all", event.name)))
    bus.emit(LifecycleEvent("write"))
    assert seen == [("first", "write"), ("all", "write"), ("all", "storage-commit-completed")]
    stop()
    seen.clear()
    bus.emit(LifecycleEvent("each-write"))
    assert seen == [("all", "each-write")]


def test_a_listener_that_fails_leaves_nothing_waiting() -> None:
    bus, seen = EventBus(), []

    def fails(event: LifecycleEvent) -> None:
        bus.emit(LifecycleEvent("delete"))
        raise OSError("no luck")

    stop = bus.on("write", fails)
    bus.on("*", lambda event: seen.append(event.name))
    with pytest.raises(OSError, match="no luck"):
        bus.emit(LifecycleEvent("write"))
    stop()
    bus.emit(LifecycleEvent("manual"))
    assert seen == ["manual"]


def test_an_event_says_who_raised_it_when_and_what_was_said() -> None:
    plain = LifecycleEvent("write")
    assert (plain.source_kind, plain.source_id, plain.payload) == ("host", "agentm", {})
    assert len(plain.emitted_at) == len("2026-11-02T09:00:00.000+00:00")
    given = {"key": "a.md"}
    told = LifecycleEvent("write", given, source_kind="storage", source_id="s", emitted_at="then")
    given.clear()
    assert (told.source_kind, told.source_id, told.emitted_at) == ("storage", "s", "then")
    assert told.payload == {"key": "a.md"}


# ------------------------------------------------------------------------------------------------ between processes


def test_what_waits_was_pulled_or_failed_is_known_to_every_process(tmp_path: Path, clock: SimpleNamespace) -> None:
    def opened(place: str = "store", *, may_write: bool = True) -> SyncState:
        return SyncState(str(tmp_path), place, may_write=may_write, now=lambda: clock.now)

    one, other = opened(), opened()
    assert (other.waiting_since(), other.pulled_at(), other.failure()) == (None, None, None)
    opened(may_write=False).note_write()
    assert other.waiting_since() is None
    one.note_write()
    one.note_pull()
    clock.now += 5
    one.note_write()
    assert (other.waiting_since(), other.pulled_at()) == (1_000_000.0, 1_000_000.0)
    one.note_pull()
    assert other.pulled_at() == 1_000_005.0
    one.note_commit(None)
    assert other.waiting_since() is None
    one.note_commit(7.0)
    assert other.waiting_since() == 7.0
    assert opened("another").waiting_since() is None
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_a_failure_is_said_until_it_is_cleared(tmp_path: Path) -> None:
    state = SyncState(str(tmp_path), "store", may_write=True)
    state.clear_failure()
    state.note_failure(AgentmError("first line\nsecond line", hint="do\nthis"))
    failure = state.failure()
    assert failure is not None
    assert (failure.code, failure.message, failure.hint) == ("", "first line\nsecond line", "do this")
    state.clear_failure()
    assert state.failure() is None
    state.note_failure(AgentmError("x"))
    (file,) = tmp_path.rglob("failed")
    file.write_text("damaged")
    failure = state.failure()
    assert failure is not None
    assert failure.message == "the last sync failed, and the record of it is damaged"
