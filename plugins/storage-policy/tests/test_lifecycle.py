"""Events: their names, their aliases, and a bus that keeps their order."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import EVENTS
from agentm_storage_policy.lifecycle import (
    ALIASES,
    OF_STORES,
    EventBus,
    LifecycleEvent,
    all_names,
    canonical,
    is_known,
)


@pytest.mark.rule(26, "accepted")
@pytest.mark.parametrize("name", [*(event.name for event in EVENTS), *OF_STORES, "idle-60", "conversation-idle-300"])
def test_every_event_that_somebody_raises_is_known(name):
    assert is_known(name)


def test_every_name_that_people_are_told_is_known():
    assert all(is_known(name.replace("-N", "-300")) for name in all_names())


@pytest.mark.rule(26, "refused")
@pytest.mark.parametrize(
    "name", ["idle-0", "idle-bad", "idle-", "conversation-idle-x", "turn-ends", "on", ":x", "x:", "idle-١"]
)
def test_names_that_nobody_raises_are_not(name):
    assert not is_known(name)


@pytest.mark.rule(27, "accepted")
@pytest.mark.parametrize(
    ("alias", "event"),
    [
        ("each-write", "write"),
        ("per-turn", "turn-end"),
        ("per-conversation", "conversation-end"),
        ("per-commit", "storage-commit-completed"),
    ],
)
def test_aliases_stand_for_their_event_on_both_sides(alias, event):
    assert canonical(alias) == event
    assert canonical(event) == event
    assert alias in ALIASES
    for asked, raised in ((alias, event), (event, alias)):
        heard = []
        bus = EventBus()
        bus.on(asked, heard.append)
        bus.emit(LifecycleEvent(raised))
        assert len(heard) == 1


@pytest.mark.rule(29, "accepted")
def test_names_of_a_host_are_its_own():
    assert is_known("acme:scheduled-pull")


@pytest.mark.rule(30, "accepted")
def test_an_event_says_what_when_who_and_what_about():
    event = LifecycleEvent("turn-end", {"turnId": "t1"}, source_kind="session", source_id="c1")
    assert (event.name, event.source_kind, event.source_id) == ("turn-end", "session", "c1")
    assert event.payload == {"turnId": "t1"}
    assert event.emitted_at.endswith("+00:00")


@pytest.mark.rule(30, "accepted")
def test_a_star_hears_everything_and_a_listener_can_leave():
    heard = []
    bus = EventBus()
    leave = bus.on("*", lambda event: heard.append(event.name))
    bus.emit(LifecycleEvent("turn-start"))
    bus.emit(LifecycleEvent("acme:x"))
    leave()
    bus.emit(LifecycleEvent("turn-end"))
    assert heard == ["turn-start", "acme:x"]


@pytest.mark.rule(30, "accepted")
def test_what_a_listener_emits_comes_after_the_event_at_hand():
    heard = []
    bus = EventBus()
    bus.on("write", lambda event: bus.emit(LifecycleEvent("storage-commit-completed")))
    bus.on("*", lambda event: heard.append(event.name))
    bus.on("per-commit", lambda event: heard.append("pushed"))
    bus.emit(LifecycleEvent("write"))
    assert heard == ["write", "storage-commit-completed", "pushed"]


@pytest.mark.rule(30, "refused")
def test_a_listener_that_fails_does_not_leave_the_bus_stuck():
    heard = []
    bus = EventBus()

    def fail(event):
        raise RuntimeError(event.name)

    leave = bus.on("turn-end", fail)
    with pytest.raises(RuntimeError):
        bus.emit(LifecycleEvent("turn-end"))
    leave()
    bus.on("turn-end", lambda event: heard.append(event.name))
    bus.emit(LifecycleEvent("turn-end"))
    assert heard == ["turn-end"]
