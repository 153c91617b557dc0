"""Somebody else writes a moment before a command of `agentm encryption` does: what they wrote is still there."""

from __future__ import annotations

import os
import threading

import pyrage
import pytest

from agentm_encryption.device_identity import check_private, device_folder
from agentm_encryption.epochs import open_keys
from agentm_encryption.pins import Pins
from agentm_encryption.places import key_file
from agentm_encryption.survey import plain_leftovers
from agentm_kernel import Locator
from agentm_kernel.plugin import (
    TEMP_PREFIX,
    ConcurrentModificationError,
    Device,
    FileStore,
    IntegrityError,
    Sealed,
    content_hash,
    store_mutex,
)

MINE, THEIRS = "mine\n", "theirs\n"


@pytest.fixture
def just_before(monkeypatch):
    """Do `work` once, right before a store of files carries out `verb` for a place of which `is_it` holds."""

    def set_up(verb, is_it, work):
        real = getattr(FileStore, verb)

        def hooked(store, locator, *arguments, **options):
            if is_it(locator):
                monkeypatch.setattr(FileStore, verb, real)
                work(store, locator)
            return real(store, locator, *arguments, **options)

        monkeypatch.setattr(FileStore, verb, hooked)

    return set_up


def is_note(locator):
    return not locator.key.startswith("_meta")


def put_theirs(store, locator):
    store.write(locator, THEIRS)


# ------------------------------------------------------------------------------------------------ keys


def test_the_first_keys_of_another_device_stay(laptop, just_before):
    just_before("write", lambda locator: locator == key_file(1), put_theirs)
    refusal = laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    assert "another device has just encrypted this store" in refusal
    assert FileStore(laptop.place).read(key_file(1)) == THEIRS


def test_the_new_keys_of_another_device_stay(laptop, just_before):
    laptop.init()
    just_before("write", lambda locator: locator == key_file(2), put_theirs)
    assert "another device makes new keys at the same time" in laptop.refused("encryption", "rotate", "--yes")
    assert FileStore(laptop.place).read(key_file(2)) == THEIRS


def test_what_another_device_changed_about_the_keys_stays(laptop, just_before):
    laptop.init()
    just_before("write", lambda locator: locator == key_file(1), put_theirs)
    friend = str(pyrage.x25519.Identity.generate().to_public())
    assert "changed by somebody else meanwhile" in laptop.refused("encryption", "admit", friend, "friend")
    assert FileStore(laptop.place).read(key_file(1)) == THEIRS


# ------------------------------------------------------------------------------------------------ notes


@pytest.mark.parametrize("names", ["clear", "sealed"])
@pytest.mark.parametrize("verb", ["write", "delete"])
def test_a_condition_is_the_store_s_to_judge(laptop, note, just_before, verb, names):
    """What was compared before can have changed since."""
    laptop.init("--names", names)
    store = laptop.store()
    store.write(note, MINE)
    just_before(verb, is_note, lambda *_: laptop.store().write(note, THEIRS))
    with pytest.raises(ConcurrentModificationError):
        getattr(store, verb)(note, *(["new\n"] if verb == "write" else []), if_match=content_hash(MINE))
    assert laptop.store().read(note) == THEIRS


def test_a_condition_on_a_damaged_note_is_told_of_the_damage(laptop, note):
    """To say that it was changed would have the caller read it again and again."""
    laptop.init()
    laptop.store().write(note, MINE)
    (laptop.place / note.key).write_text("-----BEGIN AGE ENCRYPTED FILE-----\n")
    with pytest.raises(IntegrityError):
        laptop.store().write(note, "new\n", if_match=content_hash(MINE))


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_a_condition_holds_for_what_is_stored_in_plain_too(laptop, verb):
    laptop.init()
    store, place = laptop.store(), Locator("_meta/store.json")
    before = store.read(place)
    with pytest.raises(ConcurrentModificationError):
        getattr(store, verb)(place, *(["{}"] if verb == "write" else []), if_match=content_hash("something else"))
    assert store.read(place) == before


def test_a_note_that_is_edited_while_it_gets_new_keys_is_the_edited_one(laptop, note, just_before):
    laptop.init()
    laptop.store().write(note, MINE)
    just_before("write", is_note, lambda *_: laptop.store().write(note, THEIRS))
    laptop.done("encryption", "rotate", "--yes")
    assert laptop.store().read(note) == THEIRS


def test_a_note_that_is_edited_while_it_becomes_plain_is_the_edited_one(laptop, note, just_before):
    laptop.init()
    laptop.store().write(note, MINE)
    just_before("write", is_note, lambda *_: laptop.store().write(note, THEIRS))
    laptop.done("encryption", "decrypt", "--yes")
    assert FileStore(laptop.place).read(note) == THEIRS


def test_a_plain_note_where_a_sealed_name_would_lead_stays(laptop, note, just_before):
    laptop.init("--names", "sealed")
    laptop.store().write(note, MINE)
    just_before("write", lambda locator: locator == note, put_theirs)
    assert f"{note}: " in laptop.refused("encryption", "decrypt", "--yes")
    assert FileStore(laptop.place).read(note) == THEIRS
    assert laptop.store().read(note) == MINE, "it stays sealed, and the store encrypted"


def test_a_note_with_a_sealed_name_that_is_edited_while_it_becomes_plain_stays(laptop, note, just_before):
    laptop.init("--names", "sealed")
    laptop.store().write(note, MINE)
    just_before("delete", is_note, lambda *_: laptop.store().write(note, THEIRS))
    assert f"{note}: " in laptop.refused("encryption", "decrypt", "--yes")
    assert laptop.store().read(note) == THEIRS


# ------------------------------------------------------------------------------------------------ the identity


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_an_identity_that_others_can_read_is_told(laptop):
    laptop.init()
    state = Device.now(laptop.environ).state_dir
    identity = os.path.join(device_folder(state), "identity")
    assert os.stat(identity).st_mode & 0o777 == 0o600
    assert check_private(state) is None
    for mode in (0o640, 0o604):
        os.chmod(identity, mode)
        assert check_private(state) == f"{identity} can be read by others"


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_keys_and_what_was_seen_are_for_this_user_alone(laptop, note):
    before = os.umask(0)
    try:
        laptop.init()
        laptop.store().write(note, MINE)
    finally:
        os.umask(before)
    kept = [path for path in (laptop.home / ".local/state/agentm").rglob("*") if path.is_file()]
    assert any(path.parent.name == "seen" for path in kept)
    assert {oct(path.stat().st_mode & 0o777) for path in (laptop.recovery, *kept)} == {"0o600"}


def test_what_two_processes_learn_about_keys_at_once_is_all_kept(tmp_path):
    """Both have read the file before either writes; the one who comes second reads it again."""
    folder = str(tmp_path / "store")
    one, other = Pins(folder), Pins(folder)
    one.add(1, "first", sealed_names=False)
    with store_mutex(folder):
        thread = threading.Thread(target=other.add, args=(2, "second"), kwargs={"sealed_names": False})
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "whoever changes the file has it for itself"
    thread.join(10)
    assert Pins(folder).epochs == {1: "first", 2: "second"}


def test_notes_of_the_keys_before_are_refused_as_old_once_a_store_is_encrypted_anew(laptop, note):
    laptop.init()
    laptop.store().write(note, MINE)
    sealed = (laptop.place / note.key).read_text()
    laptop.done("encryption", "decrypt", "--yes")
    laptop.init()
    keys = laptop.store().facet(Sealed).keys
    assert (keys.oldest, keys.current.number) == (2, 2)
    (laptop.place / note.key).write_text(sealed)
    with pytest.raises(IntegrityError):
        laptop.store().read(note)


# ------------------------------------------------------------------------------------------------ what others rely on


def test_with_new_keys_it_is_said_that_those_before_have_ended(laptop, note):
    """For devices that were not there when it happened, and know of no keys before."""
    laptop.init()
    laptop.store().write(note, MINE)
    laptop.done("encryption", "rotate", "--yes")
    source = laptop.store().facet(Sealed).source
    stored = FileStore(laptop.place).read(key_file(2))
    assert open_keys(stored, source.identity.unlock(), source.store_id, 2).oldest == 2


def test_a_recovery_key_that_cannot_be_written_ends_it_before_anything_is_encrypted(laptop, note):
    laptop.recovery = laptop.home / "no such folder" / "recovery"
    refusal = laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    assert f"cannot make {laptop.recovery}: No such file or directory" in refusal
    assert not (laptop.place / key_file(1).key).exists()


def test_only_plain_versions_that_were_left_are_named(tmp_path):
    for name, text in (
        (f"{TEMP_PREFIX}plain.swap", MINE),
        (f"{TEMP_PREFIX}sealed.swap", "-----BEGIN AGE ENCRYPTED FILE-----\n"),
        (f"{TEMP_PREFIX}other", MINE),
        ("note.swap", MINE),
    ):
        (tmp_path / "deep").mkdir(exist_ok=True)
        (tmp_path / "deep" / name).write_text(text)
    assert plain_leftovers(str(tmp_path)) == [str(tmp_path / "deep" / f"{TEMP_PREFIX}plain.swap")]
    assert plain_leftovers("a bucket") == []
