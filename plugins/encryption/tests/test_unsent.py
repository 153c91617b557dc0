"""Plans that agents edited as files in the copy of a store elsewhere, when that store becomes an encrypted one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from encrypted_laptops import Laptop, let_in

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    DeviceCopy,
    DeviceFiles,
    IntegrityError,
    MirroredState,
    Sealed,
    StorageIOError,
    registry,
    stamp_store,
)

NOTE = Locator("projects/widgets/facts/port.md")
PLAN = Locator("projects/widgets/_harness/PLAN.md")


@pytest.fixture
def pair(tmp_path):
    """Two devices with one store elsewhere, which has a copy of plans on each, as a bucket has."""
    memory = MemoryBackend(sync=True)
    stamp_store(memory)

    class Elsewhere(MirroredState):
        @classmethod
        def create(cls, options, device, opening):
            return cls(memory, os.path.join(opening.state_dir, "elsewhere"), read_only=opening.read_only)

    registry.register("elsewhere", Elsewhere, clobber=True)
    laptops = [Laptop(tmp_path / name) for name in ("one", "other")]
    for laptop in laptops:
        laptop.done("config", "set", "storage.backend", "elsewhere")
        laptop.store().facet(DeviceCopy).fetch_stamp()
    laptops[0].store().write(PLAN, "the plan")
    laptops[1].store().facet(DeviceCopy).pull(laptops[1].store())
    yield laptops
    registry.unregister("elsewhere")


def edit_copy(laptop, text):
    Path(laptop.store().facet(DeviceFiles).device_path(PLAN)).write_text(text)


def test_an_edit_of_a_plan_that_was_not_sent_yet_is_in_the_store_once_it_is_encrypted(pair):
    one, _ = pair
    edit_copy(one, "edited as a file")
    one.init()
    assert one.store().read(PLAN) == "edited as a file"


def test_an_edit_of_a_plan_that_was_not_sent_yet_is_sealed_and_sent_when_a_device_joins(pair):
    one, other = pair
    edit_copy(other, "edited as a file")
    one.init()
    let_in(one, other, "other")
    for laptop in (one, other):
        assert laptop.store().read(PLAN) == "edited as a file"
    one.done("encryption", "status")


def test_an_edit_that_could_not_be_sent_when_a_device_joined_is_sent_when_that_is_run_again(pair, monkeypatch):
    one, other = pair
    edit_copy(other, "edited as a file")
    one.init()
    recipient = other.refused("encryption", "join").partition("agentm encryption admit ")[2].split()[0]
    one.done("encryption", "admit", recipient, "other")

    def fail(*_):
        raise StorageIOError("the store does not answer")

    with monkeypatch.context() as away:
        away.setattr(MirroredState, "push", fail)
        said = other.refused("encryption", "join", "--fingerprint", one.fingerprint())
    assert "the store does not answer" in said
    other.done("encryption", "join")
    for laptop in (one, other):
        assert laptop.store().read(PLAN) == "edited as a file"


def test_an_edit_of_a_plan_that_was_not_sent_yet_is_sent_by_a_device_that_follows_a_store_made_plain(pair):
    one, other = pair
    one.init()
    let_in(one, other, "other")
    edit_copy(other, "edited as a file")
    one.done("encryption", "decrypt", "--yes")
    with pytest.raises(IntegrityError) as refused:
        other.store().read(PLAN)
    assert "run `agentm encryption decrypt` here, too" in refused.value.hint
    other.done("encryption", "decrypt", "--yes")
    for laptop in (one, other):
        assert laptop.store().facet(Sealed) is None
        assert laptop.store().read(PLAN) == "edited as a file"


def test_a_store_is_not_begun_to_be_made_plain_while_an_edit_cannot_be_sent(pair, monkeypatch):
    one, _ = pair
    one.init()
    edit_copy(one, "edited as a file")

    def fail(*_):
        raise StorageIOError("the store does not answer")

    with monkeypatch.context() as away:
        away.setattr(MirroredState, "push", fail)
        assert "the store does not answer" in one.refused("encryption", "decrypt", "--yes")
    one.refused("encryption", "decrypt")  # nothing has begun, so it asks before it does
    assert one.store().facet(Sealed) is not None
    one.done("encryption", "decrypt", "--yes")
    assert one.store().read(PLAN) == "edited as a file"


@pytest.mark.parametrize("names", ["clear", "sealed"])
def test_a_note_that_was_sealed_by_a_device_that_had_not_heard_of_a_plain_store_is_made_plain_too(pair, names):
    one, other = pair
    one.store().delete(PLAN)
    one.init("--names", names)
    let_in(one, other, "other")
    store = other.store()
    store.write(Locator("personal/facts/door.md"), "4711")
    one.done("encryption", "decrypt", "--yes")
    store.write(NOTE, "late")
    assert "decrypt` again on the device that made it plain" in other.refused("encryption", "decrypt", "--yes")

    one.done("encryption", "decrypt")
    other.done("encryption", "decrypt", "--yes")

    for laptop in (one, other):
        assert laptop.store().read(NOTE) == "late"
    assert "is not encrypted" in one.refused("encryption", "decrypt")


def test_two_versions_of_a_note_of_which_one_was_sealed_too_late_are_the_operators_to_settle(pair):
    one, other = pair
    one.store().delete(PLAN)
    one.init("--names", "sealed")
    let_in(one, other, "other")
    store = other.store()
    store.write(NOTE, "mine")
    one.done("encryption", "decrypt", "--yes")
    store.write(NOTE, "late")
    assert f"move the plain '{NOTE}' away" in str(one.run("encryption", "decrypt").exception)
    one.store().delete(NOTE)
    one.done("encryption", "decrypt")
    assert one.store().read(NOTE) == "late"


def test_a_store_whose_keys_are_gone_is_not_taken_for_plain_while_a_note_of_it_is_sealed(pair):
    one, other = pair
    one.init()
    let_in(one, other, "other")
    stored = one.store().facet(Sealed).as_stored
    for info in [*stored.walk(Locator("_meta/keys"))]:
        stored.delete(info.locator)

    said = other.refused("encryption", "decrypt", "--yes")

    assert f"'{PLAN}' is still encrypted" in said
    with pytest.raises(IntegrityError):
        other.store().read(PLAN)
