"""Bytes that were written in plain before a store was encrypted come into no file of it, and are not lost."""

from __future__ import annotations

import sys

import pytest
from encrypted_laptops import Laptop, let_in

from agentm_encryption import rewriting
from agentm_kernel.plugin import Locator

PLAN = "PLAN.md"


def in_checkout(laptop, monkeypatch):
    """A folder of one project on every device."""
    folder = laptop.home / "widgets"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/widgets.git\n')
    monkeypatch.chdir(folder)


def kept(laptop):
    store = laptop.store()
    return [store.read(info.locator) for info in store.walk(Locator("_meta/conflicts")) if not info.is_dir]


@pytest.fixture
def appended(tmp_path, monkeypatch):
    """Two devices with a vault, and the file of a plan there to which the second has just added a line."""
    pair = one, other = [Laptop(tmp_path / name, tmp_path / "vault") for name in ("one", "other")]
    in_checkout(other, monkeypatch)
    other.done("state", "append", PLAN, text="- the first\n")
    other.done("state", "append", PLAN, text="- the second\n")
    return *pair, one.place / "projects" / "widgets" / "_harness" / PLAN


def test_a_line_that_another_device_has_sealed_is_not_kept_once_more(appended):
    one, other, _ = appended
    one.init("--name", "one")
    let_in(one, other, "other")
    other.done("state", "append", PLAN, text="- the third\n")
    assert other.done("state", "read", PLAN) == "- the first\n- the second\n- the third\n"
    assert kept(other) == []
    assert other.status()["plain"] == []


def test_a_line_that_was_taken_away_before_is_kept_sealed(appended):
    one, other, plan = appended
    plan.write_text("- the first\n")
    one.init("--name", "one")
    let_in(one, other, "other")
    other.done("state", "append", PLAN, text="- the third\n")
    assert other.done("state", "read", PLAN) == "- the first\n- the third\n"
    assert kept(other) == ["- the first\n- the second\n"]
    assert (other.status()["plain"], other.status()["problems"]) == ([], {})


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no lease tells who writes")
@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_a_program_writes_into_the_plain_file_stays_there_and_is_listed(laptop, note, monkeypatch, is_deleted):
    monkeypatch.setattr(rewriting, "_LONGEST_WAIT", 0)
    laptop.store().write(note, "one\n")
    with open(laptop.place / note.key, "a") as held:
        laptop.init()
        held.write("two\n")
    if is_deleted:
        laptop.store().delete(note)
    for _ in range(2):
        laptop.store().write(note.parent.child("other.md"), "something else")
    (left,) = laptop.status()["leftovers"]
    with open(left) as file:
        assert file.read() == "one\ntwo\n"
    assert (laptop.status()["plain"], laptop.status()["problems"]) == ([], {})
    assert is_deleted or laptop.store().read(note) == "one\n"
