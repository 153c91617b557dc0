"""Who can open the keys: names, recovery keys, admitting, and who is left when others are removed."""

from __future__ import annotations

import os

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_encryption.epochs import (
    DEVICE,
    RECOVERY,
    Keys,
    Recipient,
    format_fingerprint,
    new_epoch,
    new_names_key,
    open_keys,
    parse_identity,
    seal_keys,
)
from agentm_encryption.membership import admit, checked_name, new_recovery_file, next_keys, read_identity_file
from agentm_encryption.places import KEYS, epoch_of, is_kept_version, is_plain, key_file, store_folder
from agentm_kernel import Locator
from agentm_kernel.errors import IntegrityError, StorageError, StorageSelectionError
from agentm_kernel.plugin import content_hash

STORE = "11111111-2222-3333-4444-555555555555"


class Person:
    def __init__(self, name, kind=DEVICE):
        self.identity = parse_identity(new_epoch(1).identity)
        self.recipient = str(self.identity.to_public())
        self.member = Recipient(kind, self.recipient, name)


@pytest.fixture
def people():
    return Person("laptop"), Person("desktop"), Person("recovery", RECOVERY)


@pytest.fixture
def keys(people):
    return Keys(STORE, new_epoch(3), tuple(one.member for one in people), earlier=(new_epoch(2),), oldest=2)


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize("name", ["", " ", "\t", "two\nlines", "bell\x07", "\x1b[2J", "n" * 81])
def test_a_name_that_does_not_fit_a_line_is_refused(name):
    with pytest.raises(StorageError, match="is no name for a member"):
        checked_name(name)


def test_a_name_has_eighty_letters_at_most_and_no_space_around_it():
    assert checked_name("n" * 80) == "n" * 80
    assert checked_name("  my laptop ") == "my laptop"


# ------------------------------------------------------------------------------------------------ the key file


@pytest.mark.parametrize("names_key", [None, new_names_key()], ids=["clear", "sealed"])
def test_every_member_opens_the_key_file_and_reads_all_of_it(people, keys, names_key):
    keys = keys.replaced(names_key=names_key)
    sealed = seal_keys(keys)

    for one in people:
        found = open_keys(sealed, one.identity, STORE, 3)
        assert found.fingerprint == keys.fingerprint
        assert found.recipients == keys.recipients
        assert (found.oldest, found.names_key) == (2, names_key)
        assert [(epoch.number, epoch.secret) for epoch in found.earlier] == [(2, keys.earlier[0].secret)]
        assert sorted(found.epochs) == [2, 3]
        assert [str(identity) for identity in found.identities] == [keys.current.identity, keys.earlier[0].identity]


def test_a_stranger_opens_nothing(keys):
    with pytest.raises(StorageSelectionError, match="not among the members"):
        open_keys(seal_keys(keys), Person("stranger").identity, STORE, 3)


def test_a_key_file_is_of_one_store_and_one_epoch(people, keys):
    for store, number in (("another", 3), (STORE, 4)):
        with pytest.raises(IntegrityError, match="another store or epoch"):
            open_keys(seal_keys(keys), people[0].identity, store, number)


def test_a_fingerprint_stands_for_the_keys_alone_and_is_shown_in_groups(keys, people):
    other_members = keys.replaced(recipients=(people[0].member,), oldest=1)
    other_keys = keys.replaced(current=new_epoch(3))

    assert other_members.fingerprint == keys.fingerprint != other_keys.fingerprint
    assert len(keys.fingerprint) == 40
    shown = format_fingerprint(keys.fingerprint)
    assert [len(group) for group in shown.split(" ")] == [5] * 8
    assert shown.replace(" ", "") == keys.fingerprint


# ------------------------------------------------------------------------------------------------ admitting


def test_whoever_is_admitted_opens_the_keys_and_so_does_everybody_else(people, keys):
    store, newcomer = MemoryBackend(), Person("phone")
    store.write(key_file(3), seal_keys(keys))

    assert admit(store, keys, newcomer.recipient, " phone ")

    for one in (*people, newcomer):
        found = open_keys(store.read(key_file(3)), one.identity, STORE, 3)
        assert [member.name for member in found.recipients] == ["laptop", "desktop", "recovery", "phone"]
        assert found.fingerprint == keys.fingerprint
    assert found.recipients[-1].kind == DEVICE


def test_a_member_is_not_admitted_twice_and_no_two_have_one_name(people, keys):
    store = MemoryBackend()
    store.write(key_file(3), seal_keys(keys))
    before = store.read(key_file(3))

    assert not admit(store, keys, people[1].recipient, "another name")
    with pytest.raises(StorageError, match="a member called desktop already"):
        admit(store, keys, Person("x").recipient, "desktop")
    with pytest.raises(StorageSelectionError, match="is no age recipient"):
        admit(store, keys, "age1nobody", "phone")
    assert store.read(key_file(3)) == before


# ------------------------------------------------------------------------------------------------ removing


@pytest.mark.parametrize("by", ["name", "recipient"])
def test_whoever_is_removed_cannot_open_the_new_keys_and_the_others_can(people, keys, by):
    laptop, desktop, recovery = people

    new = next_keys(keys, laptop.recipient, (getattr(desktop.member, by),), None)

    assert new.current.number == 4
    assert [epoch.number for epoch in new.earlier] == [2, 3]
    sealed = seal_keys(new)
    for one in (laptop, recovery):
        assert open_keys(sealed, one.identity, STORE, 4).fingerprint == new.fingerprint
    with pytest.raises(StorageSelectionError):
        open_keys(sealed, desktop.identity, STORE, 4)


def test_a_new_recovery_key_takes_the_place_of_the_one_before(people, keys):
    other = Person("new", RECOVERY)

    new = next_keys(keys, people[0].recipient, (), other.recipient)

    assert [(member.kind, member.recipient) for member in new.recipients] == [
        (DEVICE, people[0].recipient),
        (DEVICE, people[1].recipient),
        (RECOVERY, other.recipient),
    ]
    with pytest.raises(StorageSelectionError, match="is no age recipient"):
        next_keys(keys, people[0].recipient, (), "age1nobody")


@pytest.mark.parametrize(
    ("remove", "said"),
    [
        (("nobody",), "there is no member called nobody"),
        (("laptop",), "this device cannot remove itself"),
        (("recovery",), "nobody could recover the store then"),
    ],
)
def test_nobody_is_locked_out_by_mistake(people, keys, remove, said):
    with pytest.raises(StorageError, match=said):
        next_keys(keys, people[0].recipient, remove, None)


def test_the_recovery_key_may_go_where_another_comes(people, keys):
    other = Person("new", RECOVERY)

    new = next_keys(keys, people[0].recipient, ("recovery",), other.recipient)

    assert [member.recipient for member in new.recipients if member.kind == RECOVERY] == [other.recipient]


# ------------------------------------------------------------------------------------------------ recovery files


def test_a_recovery_file_is_made_once_private_and_read_again(tmp_path):
    path = str(tmp_path / "recovery.txt")

    public = new_recovery_file(path)

    assert os.name != "posix" or os.stat(path).st_mode & 0o077 == 0
    assert new_recovery_file(path) == public == str(read_identity_file(path).to_public())


@pytest.mark.parametrize("text", ["", "# nothing but words\n", "AGE-SECRET-KEY-1\nAGE-SECRET-KEY-2\n", "ä\n"])
def test_a_file_without_one_identity_is_no_recovery_file(tmp_path, text):
    (tmp_path / "file").write_text(text, encoding="utf-8")

    with pytest.raises(StorageError):
        read_identity_file(str(tmp_path / "file"))


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("name", "epoch"),
    [
        ("1.age", 1),
        ("999999999.age", 999_999_999),
        ("1000000000.age", None),
        ("01.age", None),
        ("0.age", None),
        ("1.age (conflict)", None),
        ("1.txt", None),
        ("²٣.age", None),
        ("x.age", None),
    ],
)
def test_a_key_file_is_known_by_its_name(name, epoch):
    assert epoch_of(KEYS.child(name)) == epoch


@pytest.mark.parametrize(
    ("key", "is_it"),
    [
        ("_meta/store.json", True),
        ("_meta/keys", True),
        ("_meta/keys/1.age", True),
        ("_meta/keys/deep/1.age", False),
        ("_meta/keys.md", False),
        ("notes/a.md", False),
    ],
)
def test_only_the_mark_of_a_store_and_its_keys_are_stored_as_they_are(key, is_it):
    assert is_plain(Locator(key)) is is_it


def test_a_version_that_lost_belongs_to_its_note_alone():
    kept = f"_meta/conflicts/notes/a.md/kept-{'0' * 40}.md"

    assert is_kept_version(Locator(kept), "notes/a.md")
    assert is_kept_version(Locator(f"_meta/conflicts/long-{content_hash('notes/a.md')}/kept-0.md"), "notes/a.md")
    for key in ("notes/b.md", "notes/a", "a.md"):
        assert not is_kept_version(Locator(kept), key)
    assert not is_kept_version(Locator("notes/a.md/kept.md"), "notes/a.md")


@pytest.mark.parametrize(
    ("store_id", "is_kept"),
    [(STORE, True), ("x" * 64, True), ("x" * 65, False), ("", False), ("..", False), ("a/b", False)],
)
def test_only_a_plain_id_becomes_the_name_of_a_folder(tmp_path, store_id, is_kept):
    folder = store_folder(str(tmp_path), store_id)

    assert os.path.dirname(folder) == str(tmp_path / "encryption" / "stores")
    assert (os.path.basename(folder) == store_id) is is_kept
    assert len(os.path.basename(folder)) >= 36
