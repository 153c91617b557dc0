"""Somebody writes into a clone while a note goes back to an earlier version, or while others' work comes in."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest
from clones import AUTHORS, OCCASION, open_clone

from agentm_git import applying, history, page
from agentm_kernel import Locator
from agentm_kernel.plugin import ConcurrentModificationError, content_hash, store_mutex

NOTE = Locator("a.md")


@pytest.fixture
def clone(origin_by_path, tmp_path):
    """A clone with two versions of a note."""
    store = open_clone(origin_by_path, str(tmp_path / "one"))
    for text in ("first\n", "second\n"):
        store.write(NOTE, text)
        store.commit(text.strip(), AUTHORS, OCCASION)
    return store


def write_after(monkeypatch, store, verb, text):
    """Have somebody write the note once, right after the store carried out `verb`."""
    real = getattr(store, verb)

    def hooked(*arguments):
        monkeypatch.setattr(store, verb, real)
        try:
            return real(*arguments)
        finally:
            with open(os.path.join(store.describe(), NOTE.key), "w") as file:
                file.write(text)

    monkeypatch.setattr(store, verb, hooked)


@pytest.mark.parametrize("back_to", ["an earlier version", "nothing"])
def test_going_back_replaces_only_what_was_there(clone, monkeypatch, back_to):
    first = history.versions(clone.clone, NOTE)[-1]
    write_after(monkeypatch, clone, "read", "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        history.restore(clone, clone.clone, NOTE, None if back_to == "nothing" else first)
    assert clone.read(NOTE) == "theirs\n"


def test_a_note_that_somebody_made_anew_is_not_replaced_by_an_earlier_one(clone, monkeypatch):
    first = history.versions(clone.clone, NOTE)[-1]
    clone.delete(NOTE)
    write_after(monkeypatch, clone, "read", "theirs\n")
    with pytest.raises(ConcurrentModificationError):
        history.restore(clone, clone.clone, NOTE, first)
    assert clone.read(NOTE) == "theirs\n"


@pytest.mark.parametrize("shown", ["absent", content_hash("what the page showed")])
def test_the_page_replaces_only_what_it_showed(clone, shown):
    first = history.versions(clone.clone, NOTE)[-1]
    device = SimpleNamespace(store=lambda **_: clone)
    with pytest.raises(ConcurrentModificationError):
        page._restore(device, {"note": NOTE.key, "commit": first.commit, "expect": shown})
    assert clone.read(NOTE) == "second\n"


class Killed(BaseException):
    """Stands for a kill."""


@pytest.mark.parametrize("is_interrupted", [False, True], ids=["pull", "what a killed pull left"])
def test_no_note_is_written_while_others_work_comes_in(clone, origin_by_path, tmp_path, monkeypatch, is_interrupted):
    clone.sync(OCCASION)
    other = open_clone(origin_by_path, str(tmp_path / "two"))
    other.write(NOTE, "of the other\n")
    other.commit("other", AUTHORS, OCCASION)
    other.sync(OCCASION)
    if is_interrupted:
        with monkeypatch.context() as patch:
            patch.setattr(applying.Applier, "_write_all", lambda *_, **__: (_ for _ in ()).throw(Killed))
            with pytest.raises(Killed):
                clone.pull(OCCASION)
    has_begun = threading.Event()
    real = applying.Applier._write_all
    monkeypatch.setattr(applying.Applier, "_write_all", lambda *a, **o: (has_begun.set(), real(*a, **o))[1])
    with store_mutex(clone.describe()):
        pulling = threading.Thread(target=clone.pull, args=(OCCASION,))
        pulling.start()
        assert not has_begun.wait(3.0)
    pulling.join(60)
    assert clone.read(NOTE) == "of the other\n"
