"""Conditions, as far as they are decided here: the server is asked to change a note only if they hold."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentm_bucket.history import History
from agentm_bucket.objects import ObjectStore
from agentm_bucket.writing import delete
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    Locator,
    LocatorConflictError,
    StorageError,
    content_hash,
)

NOTE = Locator("plans/note.md")
VERSION = SimpleNamespace(history=History())


class Server:
    """It has one note, and keeps what it was asked to delete."""

    size_limit = 1000

    def __init__(self, text: str | None = "two\n") -> None:
        self.deleted: list[tuple[object, ...]] = []
        self.remembered: list[tuple[Locator, object]] = []
        self.place = SimpleNamespace(path=lambda key: f"prefix/{key}")
        self.client = SimpleNamespace(
            delete=lambda path, _: self.deleted.append((path,)),
            delete_on_condition=lambda path, version, _: self.deleted.append((path, version)),
            put=lambda path, data, *_: pytest.fail(f"{path} became {data!r}"),
        )
        self._known = None if text is None else SimpleNamespace(digest=content_hash(text), version=VERSION)

    def asked(self, _what, work):
        return work()

    def look(self, _locator, _deadline):
        return self._known

    def known(self, _locator):
        return self._known

    def remember(self, locator, what):
        self.remembered.append((locator, what))

    def delete(self, if_match=None, *, on_condition=True, note=NOTE):
        delete(self, note, if_match, None, on_condition=on_condition)


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_the_store_hands_the_condition_on(monkeypatch, verb):
    server, store = Server(), ObjectStore.__new__(ObjectStore)
    store._lazy_verbs, store._deletes_on_condition = server, True
    monkeypatch.setattr(store, "_prepare", lambda: None)
    with pytest.raises(ConcurrentModificationError, match="not what was expected"):
        getattr(store, verb)(NOTE, *(["three\n"] if verb == "write" else []), if_match=content_hash("one\n"))
    assert (server.deleted, server.remembered) == ([], [])


def test_a_note_that_is_not_what_was_expected_is_not_deleted():
    server = Server()
    with pytest.raises(ConcurrentModificationError, match="not what was expected"):
        server.delete(content_hash("one\n"))
    assert (server.deleted, server.remembered) == ([], [])


@pytest.mark.parametrize("condition", [None, content_hash("two\n")])
def test_what_was_looked_at_is_what_the_server_deletes(condition):
    server = Server()
    server.delete(condition)
    assert (server.deleted, server.remembered) == ([("prefix/plans/note.md", VERSION)], [(NOTE, None)])


def test_a_server_that_knows_no_conditions_deletes_without_one_and_not_with_one():
    server = Server()
    with pytest.raises(StorageError, match="cannot delete on a condition"):
        server.delete(content_hash("two\n"), on_condition=False)
    assert server.deleted == []
    server.delete(on_condition=False)
    assert server.deleted == [("prefix/plans/note.md",)]


def test_the_root_is_not_deleted():
    server = Server()
    with pytest.raises(LocatorConflictError, match="only notes are deleted"):
        server.delete(note=Locator())
    assert server.deleted == []
