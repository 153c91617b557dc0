"""What the events of an agent's life do with the plain copy of plans beside an encrypted store."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from encrypted_laptops import Laptop

from agentm_encryption.events import agentm_event
from agentm_encryption.state_copy import EncryptedStateCopy
from agentm_kernel import Locator
from agentm_kernel.errors import StorageIOError, StorageReadOnlyError
from agentm_kernel.plugin import PULLING, PUSHING, Device, DeviceFiles, HookContext, Transfer

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Locator("projects/widgets/_harness/PLAN.md")


def event(laptop: Laptop, name: str) -> str | None:
    said: str | None = agentm_event(name, HookContext(Device.now(laptop.environ), str(laptop.home)))
    return said


def copy_of(laptop: Laptop) -> Path:
    from pathlib import Path

    files = laptop.store().facet(DeviceFiles)
    assert files is not None
    return Path(files.device_path(PLAN))


def test_a_plan_goes_with_the_events_from_one_device_to_the_other(shared: tuple[Laptop, Laptop]) -> None:
    one, other = shared
    one.store().write(PLAN, "begin\n")
    assert event(other, "turn-start") == "encryption: 1 fetched"
    assert event(other, "turn-start") is None
    copy_of(other).write_text("edited\n")
    assert event(other, "turn-start") is None, "what begins sends nothing"
    assert event(other, "turn-end") == "encryption: 1 sent"
    assert one.store().read(PLAN) == "edited\n"


def test_versions_that_lost_are_named(shared: tuple[Laptop, Laptop]) -> None:
    one, other = shared
    one.store().write(PLAN, "begin\n")
    event(other, "turn-start")
    for laptop, text in ((one, "of one\n"), (other, "of two\n")):
        copy_of(laptop).write_text(text)
    event(one, "turn-end")
    said = event(other, "turn-end") or ""
    assert "both sides changed, your version is kept as projects/widgets/_harness/PLAN" in said


def told(
    name: str, done: Transfer | Exception, wrappers: tuple[str, ...] = ("encryption",)
) -> tuple[str | None, list[str]]:
    """What is said of an event, and what the copy was asked for."""
    asked: list[str] = []

    class Copy(EncryptedStateCopy):
        def __init__(self) -> None:
            """Nothing is there."""

        def facet(self, kind: Any) -> Any:
            return self

        def push(self, store: object) -> Transfer:
            return self._asked("push")

        def pull(self, store: object) -> Transfer:
            return self._asked("pull")

        def _asked(self, what: str) -> Transfer:
            asked.append(what)
            if isinstance(done, Exception):
                raise done
            return done

    def opened(*, read_only: bool) -> Copy:
        assert not read_only
        return Copy()

    device: Any = SimpleNamespace(config=SimpleNamespace(wrappers=wrappers), store=opened)
    return agentm_event(name, HookContext(device, "/")), asked


@pytest.mark.parametrize("name", sorted(PULLING | PUSHING))
def test_what_begins_pulls_and_what_ends_pushes(name: str) -> None:
    assert told(name, Transfer()) == (None, ["push" if name in PUSHING else "pull"])


def test_other_events_and_plain_stores_are_no_business_of_encryption() -> None:
    assert told("workspace-closing", Transfer()) == (None, [])
    assert told("turn-end", Transfer(), wrappers=()) == (None, [])


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (Transfer(fetched=2), "2 fetched"),
        (Transfer(fetched=1, sent=3), "1 fetched; 3 sent"),
        (Transfer(conflicts=("a", "b")), "both sides changed, your version is kept as a, b"),
        (StorageIOError("no network"), "no network; the copy of plans on this device keeps what was written"),
        (StorageReadOnlyError("not yours"), "not yours; the copy of plans on this device keeps what was written"),
    ],
)
def test_what_was_done_is_one_line_and_a_store_that_is_away_no_failure(done: Transfer | Exception, said: str) -> None:
    assert told("turn-end", done)[0] == f"encryption: {said}"
