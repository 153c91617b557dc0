"""A watched folder tells what others did: at a look, and as it happens."""

from __future__ import annotations

import os
import sys
import threading
from types import SimpleNamespace

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import StorageConflictError, StorageError, content_hash

NOTE = Locator("plan.md")


def changes(store):
    return [(change.event, change.locator.key) for change in store.scan()]


# ------------------------------------------------------------------------------------------------ scanning


def test_the_first_look_finds_nothing_new(desk):
    desk.person_writes("there already\n")
    assert changes(desk.process()) == []


def test_what_others_did_is_found_once(desk):
    desk.person_writes("one\n", "a.md")
    desk.person_writes("one\n", "gone.md")
    desk.process().scan()
    desk.person_writes("two\n", "a.md")
    desk.person_writes("new\n", "deep/b.md")
    (desk.folder / "gone.md").unlink()
    assert changes(desk.process()) == [("write", "a.md"), ("write", "deep/b.md"), ("delete", "gone.md")]
    assert changes(desk.process()) == []


def test_own_writes_and_deletions_are_no_news(desk):
    desk.process().scan()
    store = desk.process()
    store.write(NOTE, "one\n")
    store.write(Locator("b.md"), "one\n")
    store.delete(Locator("b.md"))
    assert changes(desk.process()) == []


def test_a_version_that_agentm_put_aside_is_no_news(desk):
    desk.process("split-conflicts").scan()
    desk.process("split-conflicts").write(NOTE, "one\n")
    desk.person_writes("by a person\n")
    desk.process("split-conflicts").write(NOTE, "two\n")
    assert len(desk.names()) == 2
    assert changes(desk.process()) == []


def test_an_edit_right_after_an_own_write_is_news(desk):
    desk.process().scan()
    desk.process().write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    assert changes(desk.process()) == [("write", "plan.md")]


def test_touching_a_file_is_no_change(desk):
    desk.person_writes("one\n")
    desk.process().scan()
    os.utime(desk.folder / "plan.md", (1, 1))
    assert changes(desk.process()) == []


def test_excluded_paths_are_not_looked_at(desk):
    desk.process(excluded=[".runs/"]).scan()
    desk.person_writes("x\n", ".runs/log.md")
    desk.person_writes("x\n", "note.md")
    assert changes(desk.process(excluded=[".runs/"])) == [("write", "note.md")]


def test_a_change_of_something_that_is_not_text_is_seen(desk):
    desk.process().scan()
    (desk.folder / "image.png").write_bytes(b"\xff\xfe\x00")
    assert changes(desk.process()) == [("write", "image.png")]


def test_a_reader_leaves_no_trace(desk):
    desk.person_writes("one\n")
    store = desk.process(read_only=True)
    store.read(NOTE)
    store.scan()
    assert not desk.state.exists()


def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(desk):
    desk.process().scan()
    desk.process().write(NOTE, "one\n")
    (record,) = (desk.state / "watched").iterdir()
    record.write_bytes(record.read_bytes() + b'["b.md", "\xc3')
    assert changes(desk.process()) == []


def test_the_record_of_a_folder_has_the_name_by_which_every_version_finds_it(desk):
    desk.process().write(NOTE, "one\n")
    (record,) = (desk.state / "watched").iterdir()
    assert record.name == f"{content_hash(str(desk.folder))[:32]}.jsonl"


def test_what_is_recorded_after_a_record_that_was_cut_off_is_known(desk):
    desk.process().write(Locator("a.md"), "one\n")
    (record,) = (desk.state / "watched").iterdir()
    record.write_bytes(record.read_bytes() + b'["b.md", "')
    desk.process().write(NOTE, "by the agent\n")
    desk.person_writes("by a person\n")
    with pytest.raises(StorageConflictError):
        desk.process().write(NOTE, "by the agent again\n")
    assert desk.text() == "by a person\n"


# ------------------------------------------------------------------------------------------------ watching


def test_a_long_lived_host_is_told_of_changes_as_they_happen(desk):
    store, stop, told = desk.process(), threading.Event(), []
    ready = threading.Event()

    def listen():
        for batch in store.watch(stop):
            told.extend((change.event, change.locator.key) for change in batch)
            ready.set()

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        for number in range(100):
            desk.person_writes(f"text {number}\n")
            if ready.wait(0.3):
                break
    finally:
        stop.set()
        listener.join(timeout=20)
    assert not listener.is_alive()
    assert ("write", "plan.md") in told


def test_the_first_change_after_watching_began_is_told(desk, monkeypatch):
    """Only the first look at a folder finds nothing new, and that is over before the first change can come."""

    def events(*_arguments, **_options):
        desk.person_writes("new\n")
        yield set()

    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=events))
    [change] = next(desk.process().watch())
    assert (change.event, change.locator) == ("write", NOTE)


def test_the_watch_of_the_library_is_asked_for_what_a_host_needs(desk, monkeypatch):
    asked = []

    def events(folder, **options):
        asked.append((folder, options))
        yield from ()

    monkeypatch.setitem(sys.modules, "watchfiles", SimpleNamespace(watch=events))
    stop = threading.Event()
    assert list(desk.process().watch(stop)) == []
    [(folder, options)] = asked
    assert folder == str(desk.folder)
    assert options["stop_event"] is stop
    assert options["raise_interrupt"] is False, "control-C ends the watch, without a traceback"
    assert options["ignore_permission_denied"] is True, "nor does a folder that this user may not look into"
    assert options["step"] < options["debounce"] <= 1000, "an editor has time, nobody waits for long"


def test_without_the_library_watching_says_what_to_install(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(StorageError) as caught:
        next(desk.process().watch())
    assert "agentm-device-local[watch]" in caught.value.hint
