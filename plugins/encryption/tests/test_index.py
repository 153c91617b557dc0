"""The search index of an encrypted store: sealed, used, kept up to date, and never trusted more than the notes."""

from __future__ import annotations

import json
import os
from contextlib import chdir

import pytest
from encrypted_laptops import Laptop

from agentm_kernel import Locator
from agentm_kernel.plugin import DirectoryLock, Sealed
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.searching import search_notes

TOKEN = "heliotrope"


@pytest.fixture
def index(laptop, tmp_path):
    """The path of the index of a store with two notes."""
    laptop.init()
    store = laptop.store()
    for number, text in enumerate((f"The launch code is {TOKEN}.", "The moon is far away.")):
        store.write(Locator(f"projects/w/facts/{number}.md"), f"# Note {number}\n\n{text}\n")
    place = RecallIndex(store, laptop.environ)
    place.rebuild()
    with chdir(tmp_path):
        yield place.path()


def found(laptop, words):
    answer = search_notes(laptop.store(), words, environ=laptop.environ)
    return [one.hit.note.key for one in answer.found], answer.notices


def test_it_answers_and_is_a_sealed_file(laptop, index):
    assert found(laptop, "launch code") == (["projects/w/facts/0.md"], ())
    with open(index, "rb") as file:
        data = file.read()
    assert data.startswith(b"age-encryption.org/v1")
    assert TOKEN.encode() not in data
    assert os.stat(index).st_mode & 0o077 == 0
    with Database.open(index, read_only=True) as database:
        assert database.count() == 2


def test_what_changed_is_found_and_kept(laptop, index):
    laptop.store().write(Locator("projects/w/facts/2.md"), "# New\n\nTulips are red.\n")
    assert found(laptop, "tulips")[0] == ["projects/w/facts/2.md"]
    with Database.open(index, read_only=True) as database:
        assert database.count() == 3


def test_a_damaged_one_is_built_again(laptop, index):
    with open(index, "r+b") as file:
        file.seek(-40, os.SEEK_END)
        there = file.read(1)
        file.seek(-40, os.SEEK_END)
        file.write(b"y" if there == b"x" else b"x")
    with pytest.raises(IndexDamaged):
        Database.open(index, read_only=True)
    assert found(laptop, "moon")[0] == ["projects/w/facts/1.md"]
    with Database.open(index, read_only=True) as database:
        assert database.count() == 2


def test_one_that_another_device_has_sealed_is_not_opened(laptop, index, tmp_path):
    other = Laptop(tmp_path / "other")
    other.init()
    with open(index, "wb") as file:
        file.write(other.store().facet(Sealed).seal_derived(b"x"))
    with pytest.raises(IndexDamaged, match="cannot be opened"):
        Database.open(index, read_only=True)


def test_two_do_not_write_it_at_once(laptop, index):
    with (
        DirectoryLock(os.path.dirname(index), 0.0),
        pytest.raises(IndexUnavailable, match="another process is updating it"),
    ):
        Database.open(index, read_only=False, wait=0.0)
    with Database.open(index, read_only=True) as database:
        assert database.count() == 2


def test_it_goes_when_the_store_is_made_plain(laptop, index):
    laptop.done("encryption", "decrypt", "--yes")
    assert not os.path.exists(index)
    assert found(laptop, "moon")[0] == ["projects/w/facts/1.md"]


def test_doctor_names_what_lies_under_a_name_that_its_project_has_left_or_under_two(laptop):
    laptop.init()
    store, record = laptop.store(), {"version": 1, "id": "1", "remotes": ["example.com/ana/widgets"]}
    for name, more in (("gadgets", {}), ("things", {"id": "2"}), ("widgets", {"remotes": [], "moved_to": "gadgets"})):
        store.write(Locator(f"projects/{name}/_project.json"), json.dumps({**record, **more}))
        store.write(Locator(f"projects/{name}/facts/{name}.md"), "Written on the train.\n")
    rows = json.loads(laptop.run("doctor", "--json").stdout)["rows"]
    said = {row["check"]: row["message"] for row in rows}
    assert said["left behind"].startswith("1 file under 'widgets', where nobody reads it")
    assert "has notes under 'gadgets' and under 'things'" in said["two names"]
