"""The copy of the plans on each device: what is fetched and sent, what is kept when both sides changed."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from fault_proxy import FaultProxy
from laptops import Laptop

from agentm_kernel import Locator
from agentm_kernel.errors import StorageIOError, StoreIdentityError
from agentm_kernel.plugin import Device as KernelDevice, Transfer, adopt_store
from agentm_kernel.seam.backend import STAMP_KEY

PLAN = Locator("projects/widgets/_harness/PLAN.md")
NOTE = Locator("memory/note.md")


class Device:
    """One laptop: its store, and its copy as an agent edits it."""

    def __init__(self, server, prefix, name, **options):
        self.store = server.open(prefix, device=f"{prefix}/{name}", **options)

    def path(self, locator=PLAN):
        return Path(self.store.device_path(locator))

    def edit(self, text, locator=PLAN):
        self.path(locator).parent.mkdir(parents=True, exist_ok=True)
        self.path(locator).write_text(text)

    def text(self, locator=PLAN):
        return self.path(locator).read_text() if self.path(locator).exists() else None

    def pull(self):
        return self.store.pull(self.store)

    def push(self):
        return self.store.push(self.store)

    def files(self):
        root = self.store.device_path(Locator())
        return {
            os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names
        }


@pytest.fixture
def laptops(moto, prefix):
    return Device(moto.server, prefix, "one"), Device(moto.server, prefix, "two")


def test_a_plan_travels_from_one_device_to_the_other(laptops):
    one, two = laptops
    one.edit("the plan\n")
    assert one.push().sent == 1
    assert two.pull().fetched == 1
    assert two.text() == "the plan\n"


def test_only_state_is_copied(laptops):
    one, two = laptops
    one.store.write(NOTE, "a note\n")
    one.store.write(PLAN, "the plan\n")
    one.store.write(Locator("projects/widgets/_project.json"), "{}\n")
    one.store.write(Locator("projects/widgets/notes/idea.md"), "an idea\n")
    two.pull()
    assert two.files() == {PLAN.key, "projects/widgets/_project.json"}


def test_a_write_through_the_verbs_shows_in_the_copy_at_once(laptops):
    one, _ = laptops
    one.store.write(PLAN, "the plan\n")
    assert one.text() == "the plan\n"


def test_nothing_is_fetched_twice(laptops):
    one, two = laptops
    one.store.write(PLAN, "the plan\n")
    assert two.push().fetched == 1
    assert two.push() == Transfer()


def test_an_edit_of_either_side_reaches_the_other(laptops):
    one, two = laptops
    one.edit("first\n")
    one.push()
    two.pull()
    two.edit("second\n")
    two.push()
    one.pull()
    assert one.text() == "second\n"


def test_when_both_sides_changed_both_versions_are_kept_on_both_devices(laptops):
    one, two = laptops
    one.edit("begin\n")
    one.push()
    two.pull()
    one.edit("of one\n")
    two.edit("of two\n")
    one.push()
    done = two.push()
    (kept,) = done.conflicts
    assert "PLAN [conflict " in kept
    one.pull()
    for device in laptops:
        assert device.text() == "of one\n"
        assert device.text(Locator(kept)) == "of two\n"


def test_a_pull_never_takes_an_edit_that_was_not_sent(laptops):
    one, two = laptops
    one.edit("begin\n")
    one.push()
    two.pull()
    two.edit("not sent yet\n")
    two.pull()
    assert two.text() == "not sent yet\n"


def test_a_write_through_the_verbs_spares_an_edit_of_the_copy(laptops):
    one, _ = laptops
    one.store.write(PLAN, "begin\n")
    one.edit("edited as a file\n")
    one.store.write(PLAN, "written through the verbs\n")
    assert one.text() == "edited as a file\n"
    (kept,) = one.push().conflicts
    assert one.text() == "written through the verbs\n"
    assert one.store.read(Locator(kept)) == "edited as a file\n"


def test_what_is_deleted_in_the_bucket_goes_from_the_copy_unless_it_was_edited(laptops):
    one, two = laptops
    other = PLAN.parent.child("progress.md")
    for locator in (PLAN, other):
        one.store.write(locator, "text\n")
    two.pull()
    two.edit("edited\n", other)
    for locator in (PLAN, other):
        one.store.delete(locator)
    two.push()
    assert two.text() is None
    assert one.store.read(other) == "edited\n"


def test_a_copy_that_was_wiped_empties_nothing(laptops):
    one, _ = laptops
    one.store.write(PLAN, "the plan\n")
    one.path().unlink()
    one.push()
    assert one.store.read(PLAN) == "the plan\n"
    assert one.text() == "the plan\n"


def test_a_lost_record_of_what_was_agreed_loses_no_version(laptops):
    one, two = laptops
    one.store.write(PLAN, "of the bucket\n")
    two.edit("of this device\n")
    (kept,) = two.push().conflicts
    assert {two.text(), two.text(Locator(kept))} == {"of the bucket\n", "of this device\n"}


def test_a_file_that_is_no_text_is_left_alone(laptops):
    one, two = laptops
    one.store.write(PLAN, "the plan\n")
    two.path().parent.mkdir(parents=True)
    two.path().write_bytes(b"\xff\xfe")
    two.push()
    assert two.path().read_bytes() == b"\xff\xfe"
    assert one.store.read(PLAN) == "the plan\n"


def test_the_age_of_the_copy_is_the_time_since_it_was_current(laptops):
    one, _ = laptops
    assert one.store.copy_age() is None
    one.pull()
    assert 0 <= one.store.copy_age() < 60


def test_a_partition_leaves_the_copy_as_it_is_and_hooks_answer_from_it(moto, prefix):
    with FaultProxy(moto.server.endpoint, rate=0, hang=0) as proxy:
        device = Device(moto.server.at(proxy.endpoint), prefix, "one", attempt=0.2, deadline=0.8)
        device.store.write(PLAN, "the plan\n")
        device.pull()
        proxy.partitioned = True
        device.edit("edited while offline\n")
        with pytest.raises(StorageIOError):
            device.push()
        assert device.text() == "edited while offline\n"
        assert device.store.stamp_text() is None
        assert device.store.copy_age() < 60
        proxy.partitioned = False
        device.push()
        assert device.store.read(PLAN) == "edited while offline\n"


# ------------------------------------------------------------------------------------------------ identity


def marked(device, tmp_path):
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    return adopt_store(KernelDevice.now(environ), device.store, "bucket")


def test_a_second_device_joins_the_store_that_the_first_one_made(laptops, tmp_path):
    one, two = laptops
    made = marked(one, tmp_path / "one")
    assert two.store.stamp_text() is None
    assert json.loads(two.store.fetch_stamp())["id"] == made
    assert marked(two, tmp_path / "two") == made


def test_two_devices_that_mark_a_bucket_without_looking_agree(laptops, tmp_path):
    one, two = laptops
    assert marked(one, tmp_path / "one") == marked(two, tmp_path / "two")


def test_a_bucket_that_was_replaced_is_neither_fetched_from_nor_sent_to(moto, prefix, tmp_path):
    one = Device(moto.server, prefix, "one")
    marked(one, tmp_path)
    Device(moto.server, prefix, "other").store.write(Locator(STAMP_KEY), '{"id": "another", "layout": 1}\n')
    again = Device(moto.server, prefix, "one")
    for verb in (again.pull, again.push, lambda: again.store.write(NOTE, "x\n")):
        with pytest.raises(StoreIdentityError, match="another"):
            verb()


# ------------------------------------------------------------------------------------------------ many edits


def test_of_many_edits_on_two_devices_none_is_lost(laptops):
    """Each edit is a new text of one of three files; whatever was ever sent is in a file or in a copy beside it."""
    chance = random.Random(7)
    names = ["PLAN.md", "progress.md", "PLAN-b.md"]
    last = {}
    for number in range(60):
        device = chance.choice(laptops)
        locator = PLAN.parent.child(chance.choice(names))
        base = device.text(locator) or ""
        device.edit(f"{base}edit {number}\n", locator)
        last[number] = f"edit {number}\n"
        if chance.random() < 0.4:
            device.push()
    for device in (*laptops, *laptops):
        device.push()
    assert laptops[0].files() == laptops[1].files()
    everything = "".join(laptops[0].path(Locator(name)).read_text() for name in laptops[0].files())
    assert [line for line in last.values() if line not in everything] == []


def test_a_version_that_loses_twice_is_kept_beside_the_edited_first_one(laptops):
    """Its name has the hash of its content, and somebody has worked on the file of that name meanwhile."""
    one, two = laptops
    one.edit("base\n")
    one.push()
    two.pull()
    for winner in ("first winner\n", "second winner\n"):
        one.pull()
        one.edit(winner)
        one.push()
        two.edit("the loser\n")
        two.push()
        assert two.text() == winner
        kept = [two.path().parent / name for name in os.listdir(two.path().parent) if "conflict" in name]
        if winner == "first winner\n":
            assert [file.read_text() for file in kept] == ["the loser\n"]
            kept[0].write_text("annotated\n")
    assert sorted(file.read_text() for file in kept) == ["annotated\n", "the loser\n"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes")
def test_what_a_device_keeps_of_a_bucket_is_private_whatever_the_umask(tmp_path, moto, prefix):
    wide = ("sh", "-c", 'umask 0; exec "$@"', "sh")
    laptop = Laptop(tmp_path / "one", moto.server.environ, wide).join(moto.server, prefix)
    laptop.write_plan("# Plan\n")
    laptop.run("bucket", "sync")
    laptop.run("state", "read", "PLAN.md")
    modes = {path: path.stat().st_mode & 0o777 for path in laptop.home.rglob("*")}
    assert any(path.name == "PLAN.md" for path in modes)
    assert {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077} == {}
