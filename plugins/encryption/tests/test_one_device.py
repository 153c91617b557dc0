"""Processes and threads of one device at one note: none takes what another did for a version brought back."""

from __future__ import annotations

import errno
import os
import threading
import time

import pytest

from agentm_encryption.seen import Seen
from agentm_kernel import update
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    IntegrityError,
    Locator,
    Sealed,
    StorageIOError,
    StorageSelectionError,
    content_hash,
)

PATIENCE = 0.5
"""Seconds in which the other could have done its part, if it were not kept waiting."""


@pytest.fixture
def stores(laptop):
    """The store twice, as two processes of one device have it."""
    laptop.init()
    return laptop.store(), laptop.store()


def meanwhile(monkeypatch, store, verb, work, *, after, patience=PATIENCE):
    """Do `work` in a thread while the inner store carries out `verb` for `store`: just before it, or just after."""
    inner = store.facet(Sealed).as_stored
    real = getattr(inner, verb)
    thread = threading.Thread(target=work, daemon=True)

    def let_work():
        thread.start()
        thread.join(patience)

    def hooked(*arguments, **options):
        monkeypatch.setattr(inner, verb, real)
        if not after:
            let_work()
        done = real(*arguments, **options)
        if after:
            let_work()
        return done

    monkeypatch.setattr(inner, verb, hooked)
    return thread


def test_keys_that_this_device_made_after_the_store_was_opened_are_known_at_the_first_write(laptop, note):
    laptop.init()
    early = laptop.store()
    laptop.run("encryption", "rotate", "--yes")
    early.write(note, "written with the new keys")
    assert laptop.store().read(note) == "written with the new keys"


def test_a_note_that_is_created_while_its_deletion_ends_is_no_old_one(laptop, stores, note, monkeypatch):
    one, other = stores
    one.write(note, "first")
    thread = meanwhile(monkeypatch, one, "delete", lambda: other.write(note, "again", if_match=ABSENT), after=True)
    one.delete(note)
    thread.join()
    assert laptop.store().read(note) == "again"


def test_a_creation_that_was_held_up_goes_above_what_was_deleted_meanwhile(laptop, stores, note, monkeypatch):
    one, other = stores

    def come_and_go():
        time.sleep(0.01)  # later by the clock
        try:
            other.write(note, "short-lived", if_match=ABSENT)
        except ConcurrentModificationError:
            return
        other.delete(note)

    thread = meanwhile(monkeypatch, one, "write", come_and_go, after=False)
    one.write(note, "held up", if_match=ABSENT)
    thread.join()
    assert laptop.store().read(note) == "held up"


def test_a_note_that_is_deleted_under_a_writer_is_created_again(stores, note, monkeypatch):
    """The writer has read it, and finds it gone when it looks again: that is absence, and no error of a write."""
    one, other = stores
    other.write(note, "first")
    inner = one.facet(Sealed).as_stored
    thread = meanwhile(monkeypatch, one, "read", lambda: other.delete(note), after=True)
    one.write(note, "second")
    thread.join()
    assert inner.exists(note)
    assert other.read(note) == "second"


def test_a_note_that_is_created_while_keys_change_is_sealed_with_the_new_ones(laptop, stores, note, monkeypatch):
    """Sealed before there were new keys, stored when all notes had been sealed with them: nobody would read it."""
    thread = meanwhile(
        monkeypatch,
        stores[0],
        "write",
        lambda: laptop.done("encryption", "rotate", "--yes"),
        after=False,
        patience=60,
    )
    stores[0].write(note, "created meanwhile")
    assert not thread.is_alive()
    assert laptop.store().read(note) == "created meanwhile"
    assert laptop.status()["problems"] == {}


def test_a_process_that_outlives_its_keys_takes_the_new_ones(laptop, stores, note):
    one, other = stores
    one.write(note, "first")
    assert other.read(note) == "first"
    laptop.done("encryption", "rotate", "--yes")
    laptop.done("encryption", "rotate", "--yes")
    assert one.read(note) == "first"
    update(other, note, lambda text: f"{text} and second")
    assert one.read(note) == "first and second"


def test_a_write_of_the_same_text_is_compared_with_what_is_stored_now(stores, note):
    one, other = stores
    one.write(note, "first")
    other.write(note, "second")
    with pytest.raises(ConcurrentModificationError):
        one.write(note, "first", if_match=content_hash("first"))


def test_rewriting_loses_nothing_that_others_have_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("agentm_encryption.seen._WASTEFUL", 200)
    folder = str(tmp_path)
    keys = [f"notes/{number}.md" for number in range(8)]

    def count(key):
        seen = Seen(folder, read_only=False)
        for revision in range(1, 101):
            seen.record(key, revision)

    monkeypatch.setattr("agentm_encryption.seen._GROUPS", 1)
    threads = [threading.Thread(target=count, args=[key]) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key: Seen(folder, read_only=True).revision(key) for key in keys} == dict.fromkeys(keys, 100)


def test_a_disk_that_fails_is_a_typed_error(stores, note, monkeypatch):
    one, _ = stores
    one.write(note, "first")

    def fail(*_arguments, **_options):
        raise OSError(errno.EIO, "Input/output error")

    seen = one.facet(Sealed).seen
    for name in ("stat", "open"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            patch.setattr("builtins.open", fail)
            with pytest.raises(StorageIOError):
                seen.record(note.key, 1 << 50)


def tree(folder):
    return {
        os.path.join(parent, name): os.lstat(os.path.join(parent, name)).st_mtime_ns
        for parent, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


@pytest.mark.parametrize("read_only", [True, False])
def test_opening_alone_makes_and_changes_nothing(laptop, note, read_only):
    laptop.init()
    laptop.store().write(note, "one")
    before = tree(laptop.home)
    laptop.store(read_only=read_only)
    assert tree(laptop.home) == before


def test_who_does_not_agree_gets_no_recovery_key_either(laptop):
    assert "There is no terminal to ask on" in laptop.refused(
        "encryption", "init", "--recovery-file", str(laptop.recovery)
    )
    assert not laptop.recovery.exists()


def test_a_store_without_keys_is_refused_and_given_none(laptop, note):
    laptop.store().write(note, "plain")
    laptop.done("config", "set", "wrappers", '["encryption"]')
    before = tree(laptop.home)
    with pytest.raises(StorageSelectionError):
        laptop.store(read_only=True)
    assert tree(laptop.home) == before


def test_a_note_that_was_opened_before_is_compared_and_not_opened_again(laptop, stores, monkeypatch):
    """And yet nothing that a fresh process would refuse is read."""
    from agentm_encryption import store as module

    store = stores[0]
    opened = []
    open_note = module.open_note
    monkeypatch.setattr(module, "open_note", lambda *given: opened.append(given) or open_note(*given))
    others = [Locator(f"notes/{number}.md") for number in range(5)]
    for locator in others:
        store.write(locator, locator.key)
    reader = laptop.store(read_only=True)
    for _ in range(3):
        assert [reader.read(locator) for locator in others] == [locator.key for locator in others]
    assert len(opened) == len(others)
    store.write(others[0], "changed by another process")
    assert reader.read(others[0]) == "changed by another process"
    first = laptop.place / others[1].key
    kept = first.read_text()
    first.write_text((laptop.place / others[2].key).read_text())
    with pytest.raises(IntegrityError, match="moved or exchanged"):
        reader.read(others[1])
    first.write_text(kept[: kept.index("-----END") - 40])  # behind that may be nothing but padding
    with pytest.raises(IntegrityError):
        reader.read(others[1])


def test_what_was_opened_is_not_remembered_for_ever(stores, monkeypatch):
    from agentm_encryption import store as module

    store = stores[0].facet(Sealed)
    monkeypatch.setattr(module, "_MOST_RECENT", 3)
    for number in range(10):
        store.write(Locator(f"notes/{number}.md"), "x")
        assert len(store._recent) <= 3
    store.write(Locator("notes/large.md"), "x" * 50_000)
    assert "notes/large.md" not in store._recent
