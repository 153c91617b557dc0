"""What the events of an agent's life do with a clone that is configured here."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_git.backend import GitStore
from agentm_git.events import agentm_event
from agentm_kernel.errors import StorageConflictError, StorageIOError
from agentm_kernel.plugin import HookContext, SyncOutcome, SyncTrigger

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.plugin import StorageBackend

PULLING = ("workspace-open", "session-start", "conversation-start", "turn-start")
PUSHING = ("turn-end", "conversation-end", "session-end", "workspace-close", "pre-compact", "flush", "manual")
URL = "https://example.com/n.git"


class Watched(GitStore):
    """A clone that tells what was asked of it, and does nothing of it."""

    def __init__(self, root: Path, *, pulled: float | None = None, **options: Any) -> None:
        super().__init__(str(root), **options)
        self.steps: list[str] = []
        self.trigger: SyncTrigger | None = None
        self.trouble: Exception | None = None
        self._pulled = pulled

    @property
    def clone(self) -> Any:
        return SimpleNamespace(pulled_at=lambda: self._pulled)

    def commit(self, message: str, authors: object, trigger: SyncTrigger) -> SyncOutcome:
        self.steps.append(message)
        return SyncOutcome(True, note="1 file")

    def pull(self, trigger: SyncTrigger) -> SyncOutcome:
        return self._step("pull", trigger)

    def push(self, trigger: SyncTrigger) -> SyncOutcome:
        return self._step("push", trigger)

    def _step(self, name: str, trigger: SyncTrigger) -> SyncOutcome:
        self.steps.append(name)
        self.trigger = trigger
        if self.trouble is not None:
            raise self.trouble
        return SyncOutcome(True, url=f"{URL}/pr/1" if name == "push" else None)


def told(store: StorageBackend, name: str, payload: dict[str, object] | None = None, kind: str = "git") -> str | None:
    def opened(*, read_only: bool) -> StorageBackend:
        assert not read_only, "an event writes"
        return store

    device: Any = SimpleNamespace(config=SimpleNamespace(storage_backend=kind), store=opened)
    said: str | None = agentm_event(name, payload or {}, HookContext(device, os.getcwd()))
    return said


@pytest.mark.parametrize("name", PULLING)
def test_what_begins_commits_and_brings_in(tmp_path: Path, name: str) -> None:
    store = Watched(tmp_path, remote=URL)
    assert told(store, name) == "git: 1 file"
    assert store.steps == [f"agentm: notes at {name}", "pull"]


@pytest.mark.parametrize("name", PUSHING)
def test_what_ends_commits_and_sends(tmp_path: Path, name: str) -> None:
    store = Watched(tmp_path, remote=URL)
    assert told(store, name) == f"git: 1 file; {URL}/pr/1"
    assert store.steps == [f"agentm: notes at {name}", "push"]


def test_without_an_origin_an_event_commits_alone(tmp_path: Path) -> None:
    store = Watched(tmp_path)
    assert told(store, "turn-end") == "git: 1 file"
    assert store.steps == ["agentm: notes at turn-end"]


def test_other_events_and_other_stores_are_no_business_of_git(tmp_path: Path) -> None:
    store = Watched(tmp_path, remote=URL)
    assert told(store, "note-written") is None
    assert told(store, "turn-end", kind="device-local") is None
    assert store.steps == []
    assert told(MemoryBackend(), "turn-end") is None


@pytest.mark.parametrize(("age", "is_asked"), [(-60, True), (0, False), (99, False), (100, True), (101, True)])
def test_the_origin_is_asked_again_when_its_answer_is_old_or_of_a_clock_that_was_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: int, is_asked: bool
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    store = Watched(tmp_path, remote=URL, pull_ttl=100, pulled=now - age)
    told(store, "turn-start")
    assert ("pull" in store.steps) is is_asked


@pytest.mark.parametrize(
    ("payload", "trigger"),
    [
        ({}, (None, None, None)),
        ({"conversationId": "c", "session_id": "s", "turnId": "t", "operator": "o"}, ("c", "t", "o")),
        ({"conversation_id": "c", "session_id": "s", "turn_id": "t", "operatorId": "o"}, ("c", "t", "o")),
        ({"conversationId": "", "session_id": "s", "turnId": 7}, ("s", None, None)),
    ],
)
def test_a_host_names_its_conversation_and_turn_as_it_likes(
    tmp_path: Path, payload: dict[str, object], trigger: tuple[str | None, ...]
) -> None:
    store = Watched(tmp_path, remote=URL)
    told(store, "turn-end", payload)
    assert store.trigger == SyncTrigger("turn-end", *trigger)


def test_an_origin_that_is_away_is_said_and_a_conflict_is_a_failure(tmp_path: Path) -> None:
    store = Watched(tmp_path, remote=URL)
    store.trouble = StorageIOError("no network")
    assert told(store, "turn-end") == "git: no network; what was written is kept on this device"
    store.trouble = StorageConflictError("both sides changed it")
    with pytest.raises(StorageConflictError):
        told(store, "turn-end")
