"""Sealed names: what the store sees of them, where they may stand, and how long they may be."""

from __future__ import annotations

import re
import sys

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import InvalidLocatorError, LocatorConflictError, NotFoundError

SECRET_NAME = "heliotrope"
NOTE = Locator(f"projects/{SECRET_NAME}/launch code.md")

pytest.importorskip("cryptography")


@pytest.fixture
def store(laptop):
    laptop.init("--names", "sealed")
    return laptop.store()


def sealed_files(laptop):
    return [path for path in laptop.place.rglob("*") if path.is_file() and "_meta" not in path.parts]


def test_the_store_sees_letters_and_digits_only(laptop, store):
    store.write(NOTE, "text")
    assert laptop.store().list(NOTE.parent) == [NOTE]
    for path in laptop.place.rglob("*"):
        for part in path.relative_to(laptop.place).parts:
            assert part in {"_meta", "store.json", "keys", "1.age"} or re.fullmatch(r"[a-z2-7]+", part), part
    assert not any(SECRET_NAME in str(path.relative_to(laptop.place)) for path in laptop.place.rglob("*"))


def test_a_name_stays_the_same_and_says_nothing_about_another_folder(laptop, store):
    """Or a sync tool's versions and conflict copies would come apart, and equal names would show."""
    first, second = Locator("a/note.md"), Locator("b/note.md")
    for locator in (first, second):
        store.write(locator, "one")
    before = sorted(sealed_files(laptop))
    assert before[0].name != before[1].name
    store.write(first, "two")
    laptop.done("encryption", "rotate", "--yes")
    assert sorted(sealed_files(laptop)) == before
    assert laptop.store().read(first) == "two"


def test_a_file_that_was_moved_to_another_folder_has_no_name_there(laptop, store):
    first, second = Locator("a/one.md"), Locator("b/two.md")
    for locator in (first, second):
        store.write(locator, locator.key)
    moved, other = sealed_files(laptop)
    moved.rename(other.parent / moved.name)
    opened = laptop.store()
    stays, gone = (second, first) if opened.exists(second) else (first, second)
    assert opened.list(stays.parent) == [stays]
    assert len([*opened.foreign_entries(stays.parent)]) == 1
    with pytest.raises(NotFoundError):
        opened.read(gone)


def test_a_part_has_a_hundred_bytes_at_most(store):
    longest = Locator("ü" * 48 + ".md")  # 99 bytes
    store.write(longest, "text")
    assert store.read(longest) == "text"
    with pytest.raises(InvalidLocatorError, match="at most 100"):
        store.write(Locator("ü" * 49 + ".md"), "text")


def test_names_that_differ_in_case_alone_are_refused(store):
    store.write(Locator("notes/Plan.md"), "text")
    for other in ("notes/plan.md", "Notes/other.md"):
        with pytest.raises(LocatorConflictError, match="only in case"):
            store.write(Locator(other), "text")


def test_an_error_speaks_of_the_name_that_the_caller_knows(store):
    with pytest.raises(NotFoundError, match=SECRET_NAME):
        store.read(NOTE)


def test_a_store_with_notes_keeps_its_names(laptop):
    laptop.store().write(NOTE, "text")
    refusal = laptop.refused(
        "encryption", "init", "--recovery-file", str(laptop.recovery), "--yes", "--names", "sealed"
    )
    assert "a new store only" in refusal
    assert laptop.store().read(NOTE) == "text"


def test_without_the_extra_it_says_what_to_install(laptop, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    refusal = laptop.refused(
        "encryption", "init", "--recovery-file", str(laptop.recovery), "--yes", "--names", "sealed"
    )
    assert "agentm-encryption[names]" in refusal
    assert not laptop.store().capabilities.encryption


def test_decrypt_gives_names_back(laptop, store):
    store.write(NOTE, "text")
    laptop.done("encryption", "decrypt", "--yes")
    assert (laptop.place / NOTE.key).read_text() == "text"
    assert {path.relative_to(laptop.place).as_posix() for path in sealed_files(laptop)} == {NOTE.key}
