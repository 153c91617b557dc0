"""What can go wrong with encrypted notes, and what somebody who can write the store can try: each is refused."""

from __future__ import annotations

import shlex

import pyrage
import pytest
from encrypted_laptops import Laptop, let_in

from agentm_encryption.envelope import Note, seal
from agentm_encryption.epochs import Keys, new_epoch, seal_keys
from agentm_kernel import Locator, update
from agentm_kernel.plugin import (
    ABSENT,
    Appends,
    ConcurrentModificationError,
    ConflictCopies,
    DeviceFiles,
    IntegrityError,
    NotFoundError,
    Sealed,
    StorageReadOnlyError,
    StorageSelectionError,
    content_hash,
)

SECRET = "the launch code is heliotrope"


@pytest.fixture
def store(laptop):
    laptop.init()
    return laptop.store()


def stored(store, locator):
    return store.facet(Sealed).as_stored.read(locator)


def put(laptop, key, text):
    """As somebody does who can write the folder, and knows nothing of agentm."""
    path = laptop.place / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# ------------------------------------------------------------------------------------------------ what is stored


def test_the_store_holds_nothing_readable(laptop, store, note):
    store.write(note, SECRET)
    everything = b"".join(path.read_bytes() for path in laptop.home.rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    assert laptop.store().read(note) == SECRET
    assert store.info(note).size == len(SECRET)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 63, 64, 1000, 65_000, 65_536, 65_537, 200_000])
def test_the_size_of_a_text_is_known_without_opening_it(store, note, size):
    store.write(note, "x" * size)
    assert store.info(note).size == size
    assert [info.size for info in store.walk(Locator("notes"))] == [size]


def test_the_same_text_is_never_stored_as_the_same_bytes(store, note):
    other = Locator("notes/b.md")
    store.write(note, SECRET)
    store.write(other, SECRET)
    assert stored(store, note) != stored(store, other)


def test_the_flag_says_it(store):
    assert store.capabilities.encryption
    assert not store.capabilities.device_files
    assert store.facet(DeviceFiles) is None
    assert store.facet(Appends) is None


# ------------------------------------------------------------------------------------------------ tampering


def test_two_notes_that_were_exchanged_are_refused(laptop, store, note):
    other = Locator("notes/b.md")
    store.write(note, "one")
    store.write(other, "two")
    first, second = stored(store, note), stored(store, other)
    put(laptop, note.key, second)
    put(laptop, other.key, first)
    for locator in (note, other):
        with pytest.raises(IntegrityError, match="moved or exchanged"):
            laptop.store().read(locator)


def test_a_note_that_was_renamed_is_refused(laptop, store, note):
    store.write(note, "one")
    (laptop.place / note.key).rename(laptop.place / "notes" / "c.md")
    with pytest.raises(IntegrityError, match="was written as 'notes/a.md'"):
        laptop.store().read(Locator("notes/c.md"))


def test_a_planted_note_is_refused(laptop, store, note):
    """Whoever learns the store's recipient can seal a note to it; without the secret it is not one of ours."""
    store.write(note, "ours")
    keys = store.facet(Sealed).keys
    forged = Keys(keys.store_id, new_epoch(1), keys.recipients)
    forged.current.identity = keys.current.identity  # the recipient is the same, the secret is not
    text = seal(forged, Note(note.key, "theirs", 1, 1 << 50, "00" * 8))
    put(laptop, note.key, text)
    with pytest.raises(IntegrityError, match="not written by a member"):
        laptop.store().read(note)


def test_something_else_sealed_to_the_store_is_refused(laptop, store, note):
    keys = store.facet(Sealed).keys
    for payload in (b"", b"hello", bytes(200), (1 << 31).to_bytes(4, "big") + bytes(100)):
        put(laptop, note.key, pyrage.encrypt(payload, [keys.current.recipient], armored=True).decode())
        with pytest.raises(IntegrityError, match="no note of this format"):
            laptop.store().read(note)


def test_a_note_of_another_store_is_refused(laptop, store, note, tmp_path):
    other = Laptop(tmp_path / "other")
    other.init()
    other.store().write(note, "of the other")
    put(laptop, note.key, stored(other.store(), note))
    with pytest.raises(IntegrityError, match="damaged, or sealed with keys of somebody else"):
        laptop.store().read(note)


def test_a_note_that_names_another_store_is_refused(laptop, store, note):
    """Two stores with the same keys: a copy of this one that was given a mark of its own."""
    keys = store.facet(Sealed).keys
    text = seal(keys.replaced(store_id="another-store"), Note(note.key, "of the other", 1, 1 << 50, "00" * 8))
    put(laptop, note.key, text)
    with pytest.raises(IntegrityError, match="belongs to another store"):
        laptop.store().read(note)


def test_a_version_that_was_brought_back_is_refused(laptop, store, note):
    """Every command that the refusal names does what it says."""
    store.write(note, "old")
    old = stored(store, note)
    store.write(note, "new")
    laptop.done("checkpoint", "create")
    put(laptop, note.key, old)
    with pytest.raises(IntegrityError, match="older version than this device has seen") as refused:
        laptop.store().read(note)
    with pytest.raises(IntegrityError, match="older version"):
        laptop.store(read_only=True).read(note)
    show, accept, restore = (shlex.split(words)[1:] for words in str(refused.value.hint).split("`")[1::2])
    assert "old" in laptop.done(*show)
    laptop.done(*accept)
    assert laptop.store().read(note) == "old"
    laptop.done(*restore, "--yes")
    assert laptop.store().read(note) == "new"


def test_a_deleted_note_that_was_brought_back_is_refused(laptop, store, note):
    store.write(note, "old")
    old = stored(store, note)
    store.delete(note)
    put(laptop, note.key, old)
    with pytest.raises(IntegrityError, match="older version"):
        laptop.store().read(note)
    (laptop.place / note.key).unlink()
    laptop.store().write(note, "again", if_match=ABSENT)
    assert laptop.store().read(note) == "again"


def test_every_truncated_note_is_refused(laptop, store, note):
    store.write(note, SECRET)
    whole = stored(store, note).rstrip("\n")
    for end in range(0, len(whole), 23):
        put(laptop, note.key, whole[:end])
        with pytest.raises(IntegrityError):
            laptop.store().read(note)


def test_every_flipped_bit_is_noticed(laptop, store, note):
    store.write(note, SECRET)
    whole = stored(store, note).rstrip("\n").encode()
    opened = laptop.store()
    for place in range(0, len(whole), 7):
        broken = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        (laptop.place / note.key).write_bytes(broken)
        try:
            text = opened.read(note)
        except IntegrityError:
            continue
        assert text == SECRET, place  # a line break of the armor that became another kind of space


def test_what_a_program_added_to_a_sealed_note_is_refused(laptop, store, note):
    store.write(note, SECRET)
    with (laptop.place / note.key).open("a") as file:
        file.write("- a line that a shell appended\n")
    with pytest.raises(IntegrityError, match="cannot be opened"):
        laptop.store().read(note)


# ------------------------------------------------------------------------------------------------ a mixed store


def test_a_plain_note_is_never_read_silently(laptop, store, note):
    put(laptop, note.key, "# planted in plain\n")
    with pytest.raises(IntegrityError, match="is not encrypted"):
        laptop.store().read(note)
    refusal = laptop.refused("encryption", "status")
    assert "notes/a.md" in refusal
    assert "notes/a.md" in laptop.refused("encryption", "init")
    laptop.done("encryption", "init", "--adopt", "--yes")
    assert laptop.store().read(note) == "# planted in plain\n"
    assert "planted" not in stored(laptop.store(), note)


def test_a_plain_note_is_adopted_above_what_this_device_has_seen(laptop, store, note):
    """Whoever wrote last had a clock that is ahead of ours."""
    store.write(note, "sealed")
    store.facet(Sealed).seen.record(note.key, 1 << 50)
    put(laptop, note.key, "written by a program that knows nothing of it")
    laptop.done("encryption", "init", "--adopt", "--yes")
    assert laptop.store().read(note) == "written by a program that knows nothing of it"


def test_init_seals_what_is_there(laptop, note):
    plain = laptop.store()
    texts = {f"notes/{number}.md": f"text {number}\r\n" for number in range(20)}
    for key, text in texts.items():
        plain.write(Locator(key), text)
    assert "20 files were sealed" in laptop.init()
    store = laptop.store()
    assert {key: store.read(Locator(key)) for key in texts} == texts
    assert laptop.status()["sealed"] == 20
    assert not any(b"text" in path.read_bytes() for path in laptop.place.rglob("*") if path.is_file())


def test_what_is_planted_while_init_is_interrupted_does_not_become_ours(laptop, note, monkeypatch):
    planted = Locator("notes/planted.md")
    laptop.store().write(note, "ours")
    with monkeypatch.context() as patch:
        patch.setattr("agentm_encryption.commands.seal_all", _interrupted)
        laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    put(laptop, planted.key, "theirs")
    for locator in (note, planted):
        with pytest.raises(IntegrityError, match="is not encrypted"):
            laptop.store().read(locator)
    assert planted.key in laptop.refused("encryption", "init", "--yes")
    assert laptop.store().read(note) == "ours"
    with pytest.raises(IntegrityError, match="is not encrypted"):
        laptop.store().read(planted)


def _interrupted(*_given):
    raise KeyboardInterrupt


def test_decrypt_gives_every_byte_back(laptop, note):
    laptop.store().write(note, "\ufeffplain\r\n")
    laptop.init()
    laptop.done("encryption", "decrypt", "--yes")
    assert not laptop.store().capabilities.encryption
    assert laptop.store().read(note) == "\ufeffplain\r\n"
    assert laptop.store().list(Locator("_meta/keys")) == []


def test_without_a_recovery_key_nothing_is_encrypted(laptop, note):
    laptop.store().write(note, SECRET)
    assert "recovery key" in laptop.refused("encryption", "init", "--yes")
    assert not laptop.store().capabilities.encryption
    assert laptop.store().read(note) == SECRET


def test_a_device_that_does_not_know_of_it_is_told_by_doctor(shared, tmp_path):
    unaware = Laptop(tmp_path / "unaware", tmp_path / "vault")
    assert "reads and writes it without" in unaware.run("doctor").output


# ------------------------------------------------------------------------------------------------ keys


def test_keys_that_somebody_replaced_are_refused(laptop, store, note):
    store.write(note, SECRET)
    keys = store.facet(Sealed).keys
    forged = Keys(keys.store_id, new_epoch(1), keys.recipients)  # sealed to the right people, by anybody
    put(laptop, "_meta/keys/1.age", seal_keys(forged))
    with pytest.raises(IntegrityError, match="not those that were confirmed"):
        laptop.store().read(note)


def test_a_new_epoch_of_a_stranger_is_refused_until_somebody_confirms_it(laptop, store, note):
    store.write(note, SECRET)
    keys = store.facet(Sealed).keys
    put(laptop, "_meta/keys/2.age", seal_keys(keys.next_epoch(keys.recipients)))
    with pytest.raises(StorageSelectionError, match="has new keys"):
        laptop.store().read(note)
    assert "another fingerprint" in laptop.refused("encryption", "join", "--fingerprint", "0" * 40)


def test_keys_that_are_gone_are_no_plain_store(laptop, store, note):
    store.write(note, SECRET)
    (laptop.place / "_meta/keys/1.age").unlink()
    with pytest.raises(IntegrityError, match="keys of epoch 1 are gone"):
        laptop.store().read(note)


def test_the_verbs_do_not_change_keys(store):
    key = Locator("_meta/keys/1.age")
    for change in (lambda: store.write(key, "x"), lambda: store.delete(key)):
        with pytest.raises(StorageReadOnlyError):
            change()


def test_a_device_with_another_identity_reads_nothing(laptop, store, note, tmp_path):
    store.write(note, SECRET)
    identity = laptop.home / ".local/state/agentm/encryption/identity"
    identity.write_text(str(pyrage.x25519.Identity.generate()))
    with pytest.raises(StorageSelectionError, match="not among the members"):
        laptop.store().read(note)


def test_a_lost_device_is_recovered(shared, tmp_path, note):
    one, _ = shared
    one.store().write(note, SECRET)
    found = Laptop(tmp_path / "new", tmp_path / "vault")
    found.done("encryption", "recover", str(one.recovery), "--fingerprint", one.fingerprint(), "--name", "new")
    assert found.store().read(note) == SECRET
    found.store().write(note, "from the new device")
    assert one.store().read(note) == "from the new device"
    assert one.status()["members"]


def test_the_recovery_key_can_be_tried(laptop, store, tmp_path):
    assert "opens the store" in laptop.done("encryption", "status", "--recovery-file", str(laptop.recovery))
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(f"{pyrage.x25519.Identity.generate()}\n")
    assert "DOES NOT open" in laptop.refused("encryption", "status", "--recovery-file", str(wrong))


# ------------------------------------------------------------------------------------------------ members


def test_two_members_read_and_write(shared, note):
    one, other = shared
    one.store().write(note, "of one")
    assert other.store().read(note) == "of one"
    update(other.store(), note, lambda text: f"{text} and other")
    assert one.store().read(note) == "of one and other"


def test_who_leaves_keeps_the_past_and_nothing_else(shared, note):
    one, other = shared
    one.store().write(note, "before")
    old_keys = other.store().facet(Sealed).keys
    one.done("encryption", "rotate", "--remove", "other", "--yes")
    one.store().write(Locator("notes/b.md"), "after")
    with pytest.raises(StorageSelectionError, match="has new keys"):
        other.store().read(note)
    assert "not a member" in other.refused("encryption", "join", "--fingerprint", one.fingerprint())
    planted = seal(old_keys, Note(note.key, "from who left", 1, 1 << 50, "00" * 8))
    put(one, note.key, planted)
    with pytest.raises(IntegrityError, match="sealed with keys of epoch 1"):
        one.store().read(note)


def test_a_key_file_that_was_brought_back_brings_no_old_keys_back(shared, note):
    """Somebody who left keeps the key file from while keys were being changed, in which the old ones still count."""
    one, other = shared
    one.store().write(note, "before")
    old_keys = other.store().facet(Sealed).keys
    one.done("encryption", "rotate", "--remove", "other", "--yes")
    keys = one.store().facet(Sealed).keys
    put(one, "_meta/keys/2.age", seal_keys(keys.replaced(oldest=1)))
    put(one, note.key, seal(old_keys, Note(note.key, "from who left", 1, 1 << 50, "00" * 8)))
    with pytest.raises(IntegrityError, match="sealed with keys of epoch 1"):
        one.store().read(note)


def test_a_member_who_stays_confirms_new_keys(shared, note):
    one, other = shared
    one.store().write(note, "before")
    one.done("encryption", "rotate", "--yes")
    other.done("encryption", "join", "--fingerprint", one.fingerprint())
    assert other.store().read(note) == "before"
    other.store().write(note, "after")
    assert one.store().read(note) == "after"
    assert one.status()["old"] == []


def test_new_members_read_what_was_there(shared, tmp_path, note):
    one, _ = shared
    one.store().write(note, "before")
    one.done("encryption", "rotate", "--yes")
    third = Laptop(tmp_path / "third", tmp_path / "vault")
    let_in(one, third, "third")
    assert third.store().read(note) == "before"


# ------------------------------------------------------------------------------------------------ compare and swap


def test_conditions_are_on_the_text_that_callers_know(store, note):
    store.write(note, "one")
    before = stored(store, note)
    store.write(note, "one")
    assert stored(store, note) == before  # nothing changed, so nothing was sealed anew
    with pytest.raises(ConcurrentModificationError):
        store.write(note, "two", if_match=content_hash("other"))
    with pytest.raises(ConcurrentModificationError):
        store.write(note, "two", if_match=content_hash(before))
    store.write(note, "two", if_match=content_hash("one"))
    with pytest.raises(ConcurrentModificationError):
        store.delete(note, if_match=content_hash("one"))
    store.delete(note, if_match=content_hash("two"))
    with pytest.raises(NotFoundError):
        store.read(note)


def test_a_text_that_was_only_sealed_anew_is_no_conflict(laptop, store, note):
    store.write(note, "one")
    laptop.done("encryption", "rotate", "--yes")  # by another process, between the read and the write
    store.write(note, "two", if_match=content_hash("one"))
    assert laptop.store().read(note) == "two"


# ------------------------------------------------------------------------------------------------ where it is refused


@pytest.mark.parametrize("where", ["in", "above"])
def test_a_folder_that_obsidian_opens_is_refused(tmp_path, where):
    vault = tmp_path / "brain" / "agent"
    vault.mkdir(parents=True)
    laptop = Laptop(tmp_path / "home", vault)
    ((vault if where == "in" else vault.parent) / ".obsidian").mkdir()
    assert "Obsidian opens" in laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
    assert not laptop.store().capabilities.encryption


def test_outside_of_another_layer_it_is_refused(laptop, store):
    laptop.done("config", "set", "wrappers", '["integrity", "encryption"]')
    with pytest.raises(StorageSelectionError, match="outside of another layer"):
        laptop.store()


# ------------------------------------------------------------------------------------------------ sync tools


def test_a_conflict_copy_opens_with_the_key_of_its_note(shared, note):
    one, _ = shared
    one.store().write(note, "theirs")
    theirs = stored(one.store(), note)
    one.store().write(note, "ours")
    put(one, "notes/a (conflicted copy 2026-01-01).md", theirs)
    copies = one.store().facet(ConflictCopies)
    (copy,) = copies.conflict_copies(Locator())
    assert copy.note == note
    assert copies.read_copy(copy.copy) == "theirs"
    assert Locator("notes/a (conflicted copy 2026-01-01).md") not in one.store().list(Locator("notes"))


def test_a_conflict_copy_is_reported_and_can_be_read(shared, note):
    one, _ = shared
    one.store().write(note, "theirs")
    theirs = stored(one.store(), note)
    one.store().write(note, "ours")
    copy = "notes/a (conflicted copy 2026-01-01).md"
    put(one, copy, theirs)
    assert one.status()["conflicts"] == {copy: note.key}
    assert copy in one.run("encryption", "status").output
    assert "1 to settle" in one.run("doctor").output
    assert "theirs" in one.done("encryption", "show", copy)
    assert "encryption status" in one.run("vault", "conflicts").exception.hint


def test_a_conflict_copy_of_another_note_is_refused(shared, note):
    one, _ = shared
    one.store().write(note, "ours")
    one.store().write(Locator("notes/b.md"), "of b")
    put(one, "notes/a (conflicted copy 2026-01-01).md", stored(one.store(), Locator("notes/b.md")))
    copies = one.store().facet(ConflictCopies)
    (copy,) = copies.conflict_copies(Locator())
    with pytest.raises(IntegrityError, match="no conflict copy of that"):
        copies.read_copy(copy.copy)


def test_conflict_copies_are_settled_before_a_store_is_plain_again(shared, note):
    """Without its keys, nothing would show what a copy says, and settling the conflict would make a note of it."""
    one, _ = shared
    one.store().write(note, "theirs")
    theirs = stored(one.store(), note)
    one.store().write(note, "ours")
    copy = "notes/a (conflicted copy 2026-01-01).md"
    put(one, copy, theirs)
    assert copy in one.refused("encryption", "decrypt", "--yes")
    assert "theirs" in one.done("encryption", "show", copy)
    (one.place / copy).unlink()
    one.done("encryption", "decrypt", "--yes")
    assert one.store().read(note) == "ours"


def test_conflict_copies_are_settled_before_a_store_is_encrypted(tmp_path, note):
    laptop = Laptop(tmp_path / "home", tmp_path / "vault")
    laptop.store().write(note, "ours")
    put(laptop, "notes/a (conflicted copy 2026-01-01).md", "theirs")
    assert "conflict copies" in laptop.refused("encryption", "init", "--recovery-file", str(laptop.recovery), "--yes")
