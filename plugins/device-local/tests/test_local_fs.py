"""A watched folder: what others wrote is never overwritten unawares."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import subprocess
import sys
import threading

import pytest
from tests.faults.wrong_moment import in_the_middle_of_a_write

from agentm_device_local.local_fs import LocalFolder
from agentm_device_local.providers import open_dev_local, open_local_fs
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    Capabilities,
    ConcurrentModificationError,
    LockTimeout,
    StorageConflictError,
    StorageError,
    StorageIOError,
    StorageSelectionError,
    content_hash,
    store_mutex,
)

NOTE = Locator("plan.md")
FREE = contextlib.nullcontext()


# ------------------------------------------------------------------------------------------------ conflicts


def test_an_edit_that_agentm_has_not_seen_is_not_overwritten(desk):
    desk.process().write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError) as caught:
        desk.process().write(NOTE, "by the agent again\n")
    assert caught.value.code == "storage_conflict"
    assert desk.text() == "by a person\n"


def test_a_save_in_the_middle_of_a_write_is_an_edit_that_agentm_has_not_seen(desk, monkeypatch):
    store = desk.process()
    store.write(NOTE, "one\n")
    in_the_middle_of_a_write(monkeypatch, lambda: desk.person_writes("by a person\n"))
    with pytest.raises(StorageConflictError):
        store.write(NOTE, "two\n")
    assert desk.names() == {"plan.md"}
    assert desk.text() == "by a person\n"


def test_whoever_has_read_the_edit_may_replace_it(desk):
    desk.process().write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    store = desk.process()
    store.read(NOTE)
    store.write(NOTE, "both\n")
    assert desk.text() == "both\n"


def test_an_edit_that_an_event_has_shown_may_be_replaced_by_another_process(desk):
    desk.process().write(NOTE, "by the agent\n")
    desk.process().scan()
    desk.person_writes("by a person\n")
    assert [change.locator.key for change in desk.process().scan()] == ["plan.md"]
    desk.process().write(NOTE, "both\n")
    assert desk.text() == "both\n"


def test_a_condition_of_the_caller_decides_alone(desk):
    desk.process().write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    store = desk.process()
    with pytest.raises(ConcurrentModificationError):
        store.write(NOTE, "x\n", if_match=content_hash("by the agent\n"))
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("by the agent\n"))
    store.write(NOTE, "x\n", if_match=content_hash("by a person\n"))
    assert desk.text() == "x\n"


def test_an_earlier_text_that_a_person_puts_back_is_an_edit_that_agentm_has_not_seen(desk):
    desk.person_writes("by a person\n")
    store = desk.process()
    store.read(NOTE)
    store.write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        store.write(NOTE, "by the agent again\n")
    assert desk.text() == "by a person\n"


def test_a_text_that_an_event_showed_to_be_gone_is_one_that_agentm_has_not_seen_when_it_is_put_back(desk):
    desk.person_writes("by a person\n")
    store = desk.process()
    store.read(NOTE)
    desk.person_writes("by a person, too\n")
    store.scan()
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        store.write(NOTE, "by the agent\n")
    assert desk.text() == "by a person\n"


@pytest.mark.parametrize("condition", [None, content_hash("one\n")])
def test_a_note_that_agentm_removed_is_its_own_to_write_again(desk, condition):
    store = desk.process()
    store.write(NOTE, "one\n")
    store.delete(NOTE, if_match=condition)
    desk.process().write(NOTE, "two\n")
    assert desk.text() == "two\n"


def test_a_note_that_a_person_makes_where_agentm_removed_one_is_not_overwritten(desk):
    desk.process().write(NOTE, "one\n")
    desk.process().delete(NOTE)
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        desk.process().write(NOTE, "two\n")
    assert desk.text() == "by a person\n"


def test_an_edit_is_not_overwritten_after_a_removal_that_was_refused(desk):
    desk.process().write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    with pytest.raises(ConcurrentModificationError):
        desk.process().delete(NOTE, if_match=content_hash("one\n"))
    with pytest.raises(StorageConflictError):
        desk.process().write(NOTE, "two\n")
    assert desk.text() == "by a person\n"


def test_other_processes_of_agentm_are_no_conflict(desk):
    first, second = desk.process(), desk.process()
    first.write(NOTE, "one\n")
    second.write(NOTE, "two\n")
    first.write(NOTE, "three\n")
    assert desk.text() == "three\n"


def test_the_same_text_is_no_conflict(desk):
    desk.process().write(NOTE, "one\n")
    desk.person_writes("two\n")
    desk.process().write(NOTE, "two\n")
    assert desk.text() == "two\n"


def test_a_note_that_a_person_made_is_not_overwritten_once_the_folder_was_looked_at(desk):
    desk.process().scan()
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        desk.process().write(NOTE, "by the agent\n")


def test_a_note_that_a_person_removed_is_not_put_back_unawares(desk):
    desk.process().write(NOTE, "one\n")
    (desk.folder / "plan.md").unlink()
    with pytest.raises(StorageConflictError):
        desk.process().write(NOTE, "two\n")


def test_policy_manual_keeps_both_and_asks_for_a_person(desk):
    desk.process("manual").write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError, match=r"plan\.md") as caught:
        desk.process("manual").write(NOTE, "by the agent\n")
    (kept,) = desk.names() - {"plan.md"}
    assert desk.text(kept) == "by the agent\n"
    assert kept in caught.value.hint
    assert desk.text() == "by a person\n"


def test_policy_last_writer_wins_keeps_the_loser_out_of_the_way(desk):
    desk.process("last-writer-wins").write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    desk.process("last-writer-wins").write(NOTE, "by the agent\n")
    assert desk.text() == "by the agent\n"
    (kept,) = desk.names() - {"plan.md"}
    assert kept.startswith("_meta/conflicts/plan.md/")
    assert desk.text(kept) == "by a person\n"


def test_policy_split_conflicts_puts_the_other_version_beside_the_note(desk):
    desk.process("split-conflicts").write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    desk.process("split-conflicts").write(NOTE, "by the agent\n")
    assert desk.text() == "by the agent\n"
    (other,) = desk.names() - {"plan.md"}
    assert other == f"plan (conflict {content_hash(desk.text(other))[:8]}).md"
    assert desk.text(other) == "by a person\n"


@pytest.mark.parametrize("policy", ["abort", "manual"])
def test_an_edited_note_is_not_deleted_unawares(desk, policy):
    desk.process(policy).write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        desk.process(policy).delete(NOTE)
    assert desk.text() == "by a person\n"


@pytest.mark.parametrize("policy", ["last-writer-wins", "split-conflicts"])
def test_an_edited_note_that_is_deleted_is_kept(desk, policy):
    desk.process(policy).write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    desk.process(policy).delete(NOTE)
    (kept,) = desk.names()
    assert kept != "plan.md"
    assert desk.text(kept) == "by a person\n"


def test_whoever_has_read_the_edit_may_delete_the_note(desk):
    desk.process().write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    store = desk.process()
    store.read(NOTE)
    store.delete(NOTE)
    assert desk.names() == set()


def test_a_note_with_a_long_name_keeps_its_versions_too(desk):
    note = Locator("x" * 190 + ".md")
    for policy in ("last-writer-wins", "split-conflicts"):
        desk.process(policy).write(note, "one\n")
        desk.person_writes(f"by a person under {policy}\n", note.key)
        desk.process(policy).write(note, "one\n")
    assert len(desk.names()) == 3


@pytest.mark.parametrize("policy", ["rebase", "merge"])
def test_a_folder_has_no_history_to_merge_with(desk, policy):
    with pytest.raises(StorageError, match="folder cannot settle"):
        desk.process(policy)


def test_two_processes_that_write_at_once_never_meet_a_conflict(desk):
    script = (
        "import sys\n"
        "from agentm_device_local.local_fs import LocalFolder\n"
        "from agentm_kernel.plugin import Device, Locator, Opening, ProviderContext, SyncRules\n"
        "opening = Opening(state_dir=sys.argv[2])\n"
        "context = ProviderContext(Device({}), opening, 'S', SyncRules('watch'), lambda key: False)\n"
        "store = LocalFolder(sys.argv[1], context)\n"
        "for number in range(40):\n"
        "    store.write(Locator('plan.md'), f'{sys.argv[3]} {number}\\n')\n"
    )
    arguments = [sys.executable, "-c", script, str(desk.folder), str(desk.state)]
    workers = [subprocess.Popen([*arguments, name], stderr=subprocess.PIPE, text=True) for name in "abc"]
    results = [(worker.communicate(timeout=60)[1], worker.returncode) for worker in workers]
    assert results == [("", 0)] * 3


# ------------------------------------------------------------------------------------------------ the openers


def test_local_fs_opens_the_folder_of_the_policy(desk):
    store = open_local_fs({"mount_path": str(desk.folder)}, {}, desk.context())
    assert store.describe() == str(desk.folder)
    assert store.capabilities == Capabilities(concurrent_writers=True, sync=False, device_files=True, delete=True)


def test_a_folder_that_a_sync_agent_shares_is_the_home_of_state(desk):
    config = {"mount_path": str(desk.folder), "agent_id": "desktop-1"}
    assert open_local_fs(config, {}, desk.context()).capabilities.sync


def test_a_sync_agent_without_a_folder_cannot_be_opened(desk):
    with pytest.raises(StorageError, match="no folder") as caught:
        open_local_fs({"agent_id": "desktop-1"}, {}, desk.context())
    assert "mount_path" in caught.value.hint


def test_a_folder_that_is_missing_is_refused_and_not_made(desk):
    store = open_local_fs({"mount_path": str(desk.folder / "not-mounted")}, {}, desk.context())
    with pytest.raises(StorageSelectionError, match="missing"):
        store.check_usable(read_only=True)
    assert not (desk.folder / "not-mounted").exists()


def test_dev_local_is_made_by_its_first_write(desk):
    root = desk.folder / "scratch"
    store = open_dev_local({"root": str(root)}, {}, desk.context())
    assert not root.exists()
    store.write(NOTE, "one\n")
    assert (root / "plan.md").read_text() == "one\n"


# ------------------------------------------------------------------------------------------------ at once


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_a_person_who_saves_while_the_last_edit_is_kept_loses_nothing(desk, monkeypatch, verb):
    process = desk.process("split-conflicts")
    process.write(NOTE, "ours\n")
    desk.person_writes("first edit\n")
    real = LocalFolder._keep_other

    def keep_while_the_person_saves(store, locator, text):
        real(store, locator, text)
        if text == "first edit\n":
            desk.person_writes("second edit\n")

    monkeypatch.setattr(LocalFolder, "_keep_other", keep_while_the_person_saves)
    getattr(process, verb)(*((NOTE, "ours again\n") if verb == "write" else (NOTE,)))
    beside = {desk.text(name) for name in desk.names() if name.startswith("plan") and name != "plan.md"}
    assert beside == {"first edit\n", "second edit\n"}


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_a_person_who_saves_again_and_again_is_left_in_peace(desk, monkeypatch, verb):
    process = desk.process("last-writer-wins")
    process.write(NOTE, "ours\n")
    desk.person_writes("edit\n")
    edits = itertools.count()
    monkeypatch.setattr(LocalFolder, "_keep_other", lambda *_: desk.person_writes(f"edit {next(edits)}\n"))
    with pytest.raises(StorageConflictError):
        getattr(process, verb)(*((NOTE, "ours again\n") if verb == "write" else (NOTE,)))
    assert desk.text().startswith("edit ")


def test_a_version_that_was_put_aside_and_edited_there_is_not_replaced(desk):
    process = desk.process("split-conflicts")
    process.write(NOTE, "ours\n")
    desk.person_writes("edit\n")
    process.write(NOTE, "ours again\n")
    [aside] = desk.names() - {"plan.md"}
    desk.person_writes("edited beside the note\n", aside)
    desk.person_writes("edit\n")
    process.write(NOTE, "and again\n")
    assert {desk.text(name) for name in desk.names()} == {"and again\n", "edited beside the note\n", "edit\n"}


def test_what_was_seen_is_recorded_by_one_process_at_a_time(desk):
    process = desk.process()
    process.write(NOTE, "ours\n")
    [record] = desk.state.rglob("*.jsonl")
    before = record.read_text()
    with store_mutex(str(record.parent)):
        writing = threading.Thread(target=process.write, args=(NOTE, "ours again\n"))
        writing.start()
        writing.join(0.5)
        assert record.read_text() == before
    writing.join(10)
    assert desk.text() == "ours again\n"


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_nothing_is_recorded_while_another_process_changes_the_folder(desk, verb):
    """Or that process would know of a change, not find it, and take the note for a person's."""
    process = desk.process()
    process.write(NOTE, "ours\n")
    [record] = desk.state.rglob("*.jsonl")
    before = record.read_text()
    arguments = (NOTE, "ours again\n") if verb == "write" else (NOTE,)
    with store_mutex(process.describe()):
        changing = threading.Thread(target=getattr(process, verb), args=arguments)
        changing.start()
        changing.join(0.5)
        assert record.read_text() == before
    changing.join(10)
    assert record.read_text() != before


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_what_was_seen_is_for_this_user_alone(desk):
    before = os.umask(0)
    try:
        desk.process().write(NOTE, "ours\n")
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in desk.state.rglob("*.jsonl")} == {"0o600"}


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_what_cannot_be_recorded_is_not_done(desk, verb):
    process = desk.process()
    desk.person_writes("by a person\n")
    process.read(NOTE)
    desk.state.write_text("a file where the folder of the records would be")
    with pytest.raises(StorageIOError) as caught:
        getattr(process, verb)(*((NOTE, "ours\n") if verb == "write" else (NOTE,)))
    assert caught.value.errno == errno.EEXIST
    assert "nothing was written" in caught.value.hint
    assert desk.text() == "by a person\n"


def test_nothing_is_written_while_the_record_stays_busy(desk, monkeypatch):
    def busy(folder):
        raise LockTimeout(f"another process holds {folder}")

    monkeypatch.setattr("agentm_kernel.plugin.store_mutex", lambda place: busy(place) if "state" in place else FREE)
    with pytest.raises(LockTimeout):
        desk.process().write(NOTE, "ours\n")
    assert desk.names() == set()
