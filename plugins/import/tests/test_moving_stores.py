"""A whole store moves: planned, verified, repeatable, and never over something else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.stubs import SyncedStub
from agentm_import.moving.stores import copy_notes, leave_word, plan_migration, settle
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    InvalidLocatorError,
    LocatorConflictError,
    content_hash,
    stamp_store,
)
from agentm_obsidian_vault import VaultBackend

TEXTS = ["", "plain\n", "no final newline", "win\r\nmac\r", "\ufeffbom", "žluť 🦉\n", "\0nul", "x" * 70_000]


def quietly(label, items):
    return items


def migrate(source, target):
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    settle(source, target, plan, quietly)
    return plan


def content(store):
    return {
        info.locator.key: store.read(info.locator)
        for info in store.walk(Locator())
        if not info.is_dir and info.locator.key != "_meta/store.json"
    }


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source").mkdir()
    store = SyncedStub(tmp_path / "source")
    stamp_store(store)
    for number, text in enumerate(TEXTS * 3):
        store.write(Locator(f"projects/p{number % 4}/notes/n{number}.md"), text)
    store.write(Locator("_meta/repos.json"), "{}\n")
    return store


@pytest.fixture
def target(tmp_path):
    (tmp_path / "target").mkdir()
    return SyncedStub(tmp_path / "target")


def test_there_and_back_again_is_bit_identical(source, target, tmp_path):
    before = content(source)
    migrate(source, target)
    (tmp_path / "third").mkdir()
    third = SyncedStub(tmp_path / "third")
    migrate(target, third)
    assert content(target) == content(third) == content(source) == before


def test_it_works_between_any_two_backends(source):
    memory = MemoryBackend()
    migrate(source, memory)
    assert content(memory) == content(source)


def test_a_plan_changes_nothing(source, target):
    plan = plan_migration(source, target, quietly)
    assert len(plan.missing) == len(plan.hashes) == len(TEXTS) * 3 + 1
    assert content(target) == {}


def test_the_stores_keep_their_own_identities(source, target):
    stamp_store(target)
    migrate(source, target)
    assert source.stamp_text() != target.stamp_text()


def test_what_is_there_already_is_not_copied_again(source, target):
    migrate(source, target)
    assert plan_migration(source, target, quietly).missing == []


@pytest.mark.parametrize("key", ["projects/p0/notes/n0.md", "somebody/elses.md"], ids=["other content", "other note"])
def test_a_target_that_differs_is_refused_before_anything_is_written(source, target, key):
    target.write(Locator(key), "mine\n")
    with pytest.raises(LocatorConflictError, match=key):
        migrate(source, target)
    assert content(target) == {key: "mine\n"}


def test_a_target_inside_the_source_or_around_it_is_refused(source, tmp_path):
    before = content(source)
    (tmp_path / "link").symlink_to(tmp_path / "source")
    inside = SyncedStub(tmp_path / "link" / "projects" / "p0", create_root=True)
    for one, other in ((source, inside), (inside, source)):
        with pytest.raises(LocatorConflictError, match="lies inside"):
            plan_migration(one, other, quietly)
    assert content(source) == before


def test_what_is_not_a_note_is_named(source, target, tmp_path):
    (tmp_path / "source/picture.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "source/a:b.md").write_text("no key can say this")
    (tmp_path / "source/link.md").symlink_to("picture.png")
    plan = migrate(source, target)
    assert sorted(plan.skipped) == ["a:b.md", "link.md", "picture.png"]


def test_a_conflict_copy_is_named_like_what_is_not_a_note(target, tmp_path):
    (tmp_path / "vault").mkdir()
    vault = VaultBackend(str(tmp_path / "vault"))
    vault.write(Locator("notes/a.md"), "mine\n")
    copy = "notes/a (Ada's conflicted copy 2026-05-01).md"
    (tmp_path / "vault" / copy).write_text("theirs\n")
    assert plan_migration(vault, target, quietly).skipped == [copy]


def test_a_name_that_the_other_store_cannot_have_is_named_with_what_to_do(source, target):
    class Vault(MemoryBackend):
        def write(self, locator, content, *, if_match=None):
            if "sync-conflict" in locator.name:
                raise InvalidLocatorError("that name is a sync tool's", hint="choose another name for the note")
            return super().write(locator, content, if_match=if_match)

    copy, vault = Locator("projects/p0/notes/n0.sync-conflict-1.md"), Vault()
    source.write(copy, "x\n")
    with pytest.raises(InvalidLocatorError, match="that name is a sync tool's") as refused:
        migrate(source, vault)
    assert f"rename or delete '{copy}' in {source.describe()}" in str(refused.value.hint)

    source.delete(copy)
    migrate(source, vault)
    assert content(vault) == content(source)


def test_what_changes_during_the_copy_is_carried_over(source, target):
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    source.write(Locator("projects/p1/notes/n1.md"), "edited\n")
    source.write(Locator("new.md"), "new\n")
    source.delete(Locator("projects/p2/notes/n2.md"))
    settle(source, target, plan, quietly)
    assert content(target) == content(source)


def test_a_source_that_keeps_changing_is_refused(source, target):
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)

    def edit_meanwhile(label, items):
        source.write(Locator("projects/p1/notes/n1.md"), f"{time.monotonic_ns()}\n")
        return items

    with pytest.raises(ConcurrentModificationError, match="keeps changing"):
        settle(source, target, plan, edit_meanwhile)


def test_an_edit_of_the_target_meanwhile_is_never_overwritten(source, target):
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    note = Locator("projects/p1/notes/n1.md")
    target.write(note, "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        settle(source, target, plan, quietly)
    assert target.read(note) == "theirs\n"


def test_a_note_that_comes_to_the_target_after_the_plan_is_not_overwritten(source, target):
    plan = plan_migration(source, target, quietly)
    note = plan.missing[0]
    target.write(note, "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        copy_notes(source, target, plan, quietly)
    assert target.read(note) == "theirs\n"


def test_an_edit_of_the_target_stays_though_the_note_is_gone_from_the_source(source, target):
    plan = plan_migration(source, target, quietly)
    copy_notes(source, target, plan, quietly)
    note = Locator("projects/p1/notes/n1.md")
    source.delete(note)
    target.write(note, "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        settle(source, target, plan, quietly)
    assert target.read(note) == "theirs\n"


RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_moving_stores import SyncedStub, migrate
print("go", flush=True)
migrate(SyncedStub(sys.argv[2]), SyncedStub(sys.argv[3]))
"""


def test_a_migration_killed_at_any_moment_is_simply_run_again(tmp_path):
    rng = random.Random(20)
    for name in ("source", "target"):
        (tmp_path / name).mkdir()
    source, target = SyncedStub(tmp_path / "source"), SyncedStub(tmp_path / "target")
    for number in range(120):
        source.write(Locator(f"d{number % 7}/n{number}.md"), f"note {number}\n" * (number % 50))
    before = content(source)
    for _ in range(8):
        runner = subprocess.Popen(
            [
                sys.executable,
                "-c",
                RUNNER,
                os.path.dirname(__file__),
                *(str(tmp_path / n) for n in ("source", "target")),
            ],
            stdout=subprocess.PIPE,
        )
        assert runner.stdout is not None
        runner.stdout.readline()
        time.sleep(rng.uniform(0, 0.08))
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
        copied = content(target)
        assert {key: content_hash(text) for key, text in copied.items()}.items() <= {
            key: content_hash(text) for key, text in before.items()
        }.items()
    migrate(source, target)
    assert content(target) == content(source) == before


def test_a_migration_that_was_cut_off_after_it_left_word_is_run_again(source, target):
    stamp_store(target)
    plan = migrate(source, target)
    leave_word(source, target, plan, 1)
    assert migrate(source, target).missing == []
