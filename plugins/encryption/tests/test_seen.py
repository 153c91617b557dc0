"""What a device remembers of a store: the newest revision of each note, and the keys that somebody confirmed."""

from __future__ import annotations

import os

import pytest

from agentm_encryption import seen
from agentm_encryption.journal import DECRYPT, INIT, Journal
from agentm_encryption.pins import Pins
from agentm_encryption.seen import Seen
from agentm_kernel.errors import IntegrityError, StorageIOError


@pytest.fixture
def remembered(tmp_path):
    return lambda **options: Seen(str(tmp_path), **{"read_only": False, **options})


# ------------------------------------------------------------------------------------------------ revisions


def test_an_older_revision_is_told_however_often_it_comes_and_in_every_process(remembered):
    first = remembered()
    assert first.record("a.md", 5)
    assert first.record("a.md", 5)
    assert first.record("a.md", 7)

    for _ in range(2):
        for device in (first, remembered(), remembered(read_only=True)):
            assert not device.record("a.md", 6)
            assert device.revision("a.md") == 7
    assert first.revision("b.md") == 0


def test_a_note_that_is_read_again_and_again_takes_no_more_room(remembered, tmp_path):
    device = remembered()
    for revision in (5, 5, 4, 5):
        device.record("a.md", revision)

    assert sorted(path.read_bytes() for path in (tmp_path / "seen").iterdir() if path.stat().st_size) == [b"5 a.md\n"]


def test_whoever_only_reads_remembers_nothing(remembered, tmp_path):
    reader = remembered(read_only=True)

    assert reader.record("a.md", 5)
    assert reader.revision("a.md") == 0
    assert [*tmp_path.iterdir()] == []


def test_what_another_process_saw_is_known_at_once(remembered):
    one, other = remembered(), remembered()
    assert other.revision("a.md") == 0

    one.record("a.md", 5)
    assert other.revision("a.md") == 5
    one.record("a.md", 9)
    assert not other.record("a.md", 8)


def test_an_older_revision_counts_again_only_for_the_note_that_the_operator_accepts(remembered):
    device, other = remembered(), remembered()
    device.record("a.md", 5)
    device.record("b.md", 5)
    assert other.revision("a.md") == 5

    device.accept("a.md", 3)

    for one in (device, other):
        assert (one.revision("a.md"), one.revision("b.md")) == (3, 5)


def test_forgetting_leaves_nothing(remembered):
    device = remembered()
    for number in range(200):
        device.record(f"{number}.md", 5)

    device.forget()

    assert {device.revision(f"{number}.md") for number in range(200)} == {0}
    assert {remembered().revision(f"{number}.md") for number in range(200)} == {0}


def test_a_line_that_a_crash_cut_off_is_no_revision(remembered, tmp_path):
    remembered().record("a.md", 5)
    (file,) = (path for path in (tmp_path / "seen").iterdir() if path.read_bytes().endswith(b" a.md\n"))
    with file.open("ab") as stream:
        stream.write(b"99 a.md")
    assert remembered().revision("a.md") == 5
    with file.open("ab") as stream:
        stream.write(b"\nx a.md\n-7 a.md\n8\n6 a.md\n")

    assert remembered().revision("a.md") == 99


def test_lines_that_were_overtaken_are_dropped_once_they_are_many(remembered, tmp_path, monkeypatch):
    monkeypatch.setattr(seen, "_WASTEFUL", 1_000)
    device = remembered()
    for number in range(1, 300):
        device.record("a.md", number)
    (file,) = (path for path in (tmp_path / "seen").iterdir() if path.read_bytes().endswith(b" a.md\n"))

    assert file.stat().st_size < 1_100
    assert device.revision("a.md") == remembered().revision("a.md") == 299


def test_what_cannot_be_read_is_an_error_and_not_a_note_that_nobody_has_seen(remembered, tmp_path):
    remembered().record("a.md", 5)
    (file,) = (path for path in (tmp_path / "seen").iterdir() if path.read_bytes().endswith(b" a.md\n"))
    file.unlink()
    file.mkdir()

    for ask in (
        lambda: remembered().revision("a.md"),
        lambda: remembered().record("a.md", 4),
        lambda: remembered().accept("a.md", 4),
    ):
        with pytest.raises(StorageIOError, match="cannot read .*, where this device remembers") as caught:
            ask()
        assert caught.value.errno


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_it_is_for_this_user_alone(remembered, tmp_path):
    before = os.umask(0)
    try:
        remembered().record("a.md", 1)
    finally:
        os.umask(before)

    assert [path for path in (tmp_path / "seen").rglob("*") if path.is_file() and path.stat().st_mode & 0o077] == []
    assert (tmp_path / "seen").stat().st_mode & 0o077 == 0


# ------------------------------------------------------------------------------------------------ confirmed keys


def test_nothing_is_trusted_before_somebody_confirmed_it(tmp_path):
    pins = Pins(str(tmp_path))

    assert not pins
    assert (pins.newest, pins.oldest, pins.has_sealed_names) == (0, 1, False)


def test_what_was_confirmed_is_known_to_the_next_process(tmp_path):
    pins = Pins(str(tmp_path))
    pins.announce(3, "third")
    pins.add(1, "first", sealed_names=False)
    pins.add(2, "second", sealed_names=True)
    pins.raise_oldest(2)

    for known in (pins, Pins(str(tmp_path))):
        assert known
        assert known.epochs == {1: "first", 2: "second"}
        assert known.pending == {3: "third"}
        assert (known.newest, known.oldest, known.has_sealed_names) == (2, 2, True)


def test_what_was_announced_is_pending_until_it_is_confirmed(tmp_path):
    Pins(str(tmp_path)).announce(1, "first")
    assert not Pins(str(tmp_path))
    Pins(str(tmp_path)).add(1, "first", sealed_names=False)

    known = Pins(str(tmp_path))
    assert (known.epochs, known.pending) == ({1: "first"}, {})


def test_epochs_that_are_over_stay_over(tmp_path):
    pins = Pins(str(tmp_path))
    pins.add(5, "fifth", sealed_names=False)
    pins.raise_oldest(5)
    pins.raise_oldest(3)

    assert pins.oldest == Pins(str(tmp_path)).oldest == 5


def test_what_is_forgotten_is_not_trusted_any_more(tmp_path):
    pins = Pins(str(tmp_path))
    pins.add(1, "first", sealed_names=True)
    pins.raise_oldest(2)
    pins.announce(2, "second")

    pins.forget()
    pins.forget()

    for known in (pins, Pins(str(tmp_path))):
        assert (known.epochs, known.pending, known.oldest, known.has_sealed_names) == ({}, {}, 1, False)


@pytest.mark.parametrize("text", ["epoch one first\n", "epoch 1\n", "trust 1 first\n", "epoch\n", "ä 1\n"])
def test_a_damaged_list_of_trusted_keys_is_an_error_and_not_an_empty_one(tmp_path, text):
    (tmp_path / "pins").write_text(text, encoding="utf-8")

    with pytest.raises(IntegrityError, match="cannot tell which keys it trusts"):
        Pins(str(tmp_path))


# ------------------------------------------------------------------------------------------------ interrupted work


def test_work_that_was_begun_is_known_until_it_ends(tmp_path):
    folder = str(tmp_path / "store")
    assert Journal(folder).work is None
    Journal(folder).begin(INIT, {"notes/a b.md": "hash"})

    found = Journal(folder)
    assert (found.work, found.hashes) == (INIT, {"notes/a b.md": "hash"})
    found.end()
    found.end()
    assert (found.work, found.hashes, Journal(folder).work) == (None, {}, None)


@pytest.mark.parametrize("text", ["", "rotate\n", f"{DECRYPT}\nhash notes/a.md"])
def test_a_damaged_note_of_what_was_begun_is_refused(tmp_path, text):
    (tmp_path / "journal").write_text(text)

    with pytest.raises(IntegrityError, match="is damaged"):
        Journal(str(tmp_path))
