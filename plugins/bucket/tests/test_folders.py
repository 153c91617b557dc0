"""Folders, which object stores do not have, and some servers keep all the same."""

from __future__ import annotations

import pytest

from agentm_kernel import Locator

NOTE = Locator("dir/note.md")


@pytest.mark.parametrize("name", ["seaweedfs", "azurite", "moto"])
def test_a_folder_that_became_empty_does_not_lie_in_itself(request, name, prefix):
    """SeaweedFS keeps it, and lists it so."""
    store = request.getfixturevalue(name).server.open(prefix)
    store.write(NOTE, "one\n")
    store.delete(NOTE)
    assert store.list(NOTE.parent) == []
    assert NOTE.parent.child("dir") not in store.list(NOTE.parent)
    assert list(store.walk(NOTE.parent)) == []
    store.write(NOTE.parent.child("dir"), "a note that is called like its folder\n")
    assert [child.key for child in store.list(NOTE.parent)] == ["dir/dir"]
    store.delete(NOTE.parent.child("dir"))
    assert Locator() not in store.list(Locator())


@pytest.mark.parametrize("name", ["seaweedfs", "azurite"])
def test_a_folder_that_became_empty_can_be_made_again(request, name, prefix):
    store = request.getfixturevalue(name).server.open(prefix)
    store.write(NOTE, "one\n")
    store.delete(NOTE)
    assert store.mkdir(NOTE.parent) == store.mkdir(NOTE.parent) == NOTE.parent
    assert store.list(Locator()) == [NOTE.parent]
