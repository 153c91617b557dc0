"""The index: incremental, exact whatever the times of files say, and rebuilt by itself when it is broken."""

from __future__ import annotations

import os
import sqlite3
import time

import pytest
from widgets import PROJECT, STAMP

from agentm_devkit.conformance import ConformanceFailure, check_rebuildable
from agentm_kernel import Locator
from agentm_kernel.errors import StorageError
from agentm_kernel.plugin import (
    BackendLayer,
    DerivedMaintenance,
    FileStore,
    InvalidContentError,
    NotFoundError,
    StorageIOError,
    Tier,
)
from agentm_recall import RecallIndex
from agentm_recall.index import database, reading
from agentm_recall.index.database import Database, IndexDamaged, IndexUnavailable
from agentm_recall.index.search import Scope, search


class Watched(BackendLayer):
    """Counts what is asked of the store, and fails where it is told to."""

    def __init__(self, inner):
        super().__init__(inner)
        self.reads, self.walks = [], 0
        self.failing = {}

    def read(self, locator):
        self.reads.append(locator.key)
        if locator.key in self.failing:
            raise self.failing[locator.key]
        return super().read(locator)

    def walk(self, locator):
        self.walks += 1
        return super().walk(locator)

    def since(self):
        seen, self.reads, self.walks = (self.walks, list(self.reads)), [], 0
        return seen


@pytest.fixture
def watched(home, store):
    for slug, text in {"locks": "# Locks\nOne lock per store.", "cache": "# Cache\nThe cache is evicted."}.items():
        home.note(
            f"projects/widgets/decisions/{slug}.md", f"---\nkind: decision\nupdated: 2025-01-01\n---\n\n{text}\n"
        )
    return Watched(store)


def found(index, question, **scope):
    with index.opened(may_write=False) as opened:
        return [hit.note.slug for hit in opened.search(question, Scope(**scope)).hits]


def key(slug, folder="decisions"):
    return f"projects/widgets/{folder}/{slug}.md"


def test_it_is_what_the_kernel_calls_derived_maintenance(watched, home):
    index = RecallIndex(watched)

    index.reindex(Tier.LOCAL_INDEX)

    assert isinstance(index, DerivedMaintenance)
    assert home.index_file().exists()
    assert home.index_file().stat().st_mode & 0o077 == 0
    with pytest.raises(StorageError, match="local-index"):
        index.reindex(Tier.SHARED_ABSTRACTS)


def check_index(index, store, home):
    check_rebuildable(
        index,
        Tier.LOCAL_INDEX,
        source=store,
        folder=home.index_file().parent,
        answers=lambda: [found(index, question) for question in ("lock", "cache", "store")],
    )


def test_it_can_be_deleted_at_any_time(watched, store, home):
    check_index(RecallIndex(store), store, home)


@pytest.mark.parametrize(("spoiled", "words"), [("locks", "answers"), ("new", "changed the notes")])
def test_an_index_that_differs_afterwards_or_changes_its_source_is_noticed(watched, store, home, spoiled, words):
    class Spoiling(RecallIndex):
        calls = 0

        def reindex(self, tier):
            self.calls += 1
            if spoiled == "new" or self.calls == 2:
                home.note(key(spoiled), "Something else.")
            super().reindex(tier)

    with pytest.raises(ConformanceFailure, match=words):
        check_index(Spoiling(store), store, home)


def test_without_a_change_one_listing_is_all_it_takes(watched):
    index = RecallIndex(watched)
    index.update()
    watched.since()

    changes = index.update()

    assert watched.since() == (1, [])
    assert (changes.looked_at, changes.indexed, changes.removed) == (0, 0, 0)


def test_one_changed_note_is_one_note_to_read(watched, home):
    index = RecallIndex(watched)
    index.update()
    watched.since()
    home.note(key("locks"), "# Locks\nNow it is a mutex.\n")

    changes = index.update()

    assert watched.since() == (1, [key("locks")])
    assert (changes.indexed, found(index, "mutex")) == (1, ["locks"])


def test_a_note_whose_time_was_set_back_is_noticed(watched, home):
    index = RecallIndex(watched)
    index.update()
    file = home.root / key("locks")
    before = file.stat()
    file.write_text("# Locks\nA semaphore after all.\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    index.update()

    assert found(index, "semaphore") == ["locks"]


def test_a_note_that_was_only_touched_is_not_indexed_again(watched, home):
    index = RecallIndex(watched)
    index.update()
    os.utime(home.root / key("locks"), (1, 1))

    changes = index.update()

    assert (changes.looked_at, changes.indexed) == (1, 0)
    assert index.update().looked_at == 0


def test_a_note_that_has_just_changed_is_looked_at_twice(watched, home):
    """Two edits within one tick of the file system's clock may have one version."""
    index = RecallIndex(watched)
    file = home.root / key("locks")
    file.write_text(file.read_text())
    index.update()

    changes = index.update()

    assert (changes.looked_at, changes.indexed) == (1, 0)


def test_a_note_that_is_gone_is_gone(watched, home):
    index = RecallIndex(watched)
    index.update()
    (home.root / key("cache")).unlink()

    assert index.update().removed == 1
    assert found(index, "cache evicted") == []


def test_a_note_that_vanishes_between_listing_and_reading_is_left_out(watched):
    watched.failing[key("cache")] = NotFoundError("gone")

    index = RecallIndex(watched)
    changes = index.update()

    assert (changes.looked_at, changes.indexed) == (2, 1)
    assert found(index, "locks") == ["locks"]


def test_a_note_that_cannot_be_read_now_is_tried_again(watched):
    index = RecallIndex(watched)
    watched.failing[key("cache")] = StorageIOError("the disk is slow")
    index.update()
    watched.failing.clear()

    index.update()

    assert found(index, "evicted") == ["cache"]


def test_a_note_that_is_no_text_is_not_read_again_and_again(watched, home):
    home.note(key("picture"), b"\xff\xfe\x00")
    index = RecallIndex(watched)
    index.update()

    assert index.update().looked_at == 0


def test_state_is_not_indexed(watched, home):
    home.note("projects/widgets/_harness/PLAN.md", "# Plan about locks\n")

    assert found(RecallIndex(watched), "plan") == []


def test_what_others_replace_is_found_only_when_asked_for(watched, home):
    home.note(key("new-locks"), "---\nsupersedes: [locks]\n---\n# New locks\nTwo locks.\n")
    index = RecallIndex(watched)
    index.update()

    assert found(index, "locks") == ["new-locks"]
    assert found(index, "locks", with_dead=True) == ["new-locks", "locks"]

    (home.root / key("new-locks")).unlink()
    index.update()
    assert found(index, "locks") == ["locks"]


def test_changed_since_trusts_versions_more_than_times(watched, home):
    index = RecallIndex(watched)
    index.update()
    home.note(key("locks"), "# Locks\nold time, new text\n")

    assert index.changed_since(1_800_000_000) == [Locator(key("locks"))]
    assert len(index.changed_since(0)) == 2


# ------------------------------------------------------------------------------------------------ what is in memory


def test_without_an_index_everything_is_found_in_memory_and_no_file_appears(watched, home):
    before = home.files()

    assert found(RecallIndex(watched), "evicted") == ["cache"]
    assert home.files() == before


def test_a_reader_sees_what_changed_since_without_writing(watched, home):
    index = RecallIndex(watched)
    index.update()
    home.note(key("fresh"), "# Fresh\nA quokka appeared.\n")
    (home.root / key("cache")).unlink()
    before = home.files()

    assert found(index, "quokka") == ["fresh"]
    assert found(index, "evicted") == []
    assert home.files() == before


@pytest.mark.parametrize(
    "garbage", [b"", b"not a database", b"SQLite format 3\x00" + b"\x00" * 4000, os.urandom(20_000)]
)
def test_a_garbage_file_is_no_obstacle_and_is_replaced_by_the_next_update(watched, home, garbage):
    index = RecallIndex(watched)
    index.update()
    home.index_file().write_bytes(garbage)

    assert found(index, "evicted") == ["cache"]
    assert home.index_file().read_bytes() == garbage
    index.update()
    with Database.open(index.path(), read_only=True) as database:
        database.check()
        assert database.count() == 2


@pytest.mark.parametrize("place", [4096, 9000, 30_000])
def test_damage_in_the_middle_is_noticed_or_harmless(watched, home, place):
    index = RecallIndex(watched)
    index.update()
    data = bytearray(home.index_file().read_bytes())
    data[place : place + 4096] = os.urandom(len(data[place : place + 4096]))
    home.index_file().write_bytes(data)
    home.note(key("fresh"), "# Fresh\nA quokka appeared.\n")

    index.update()

    assert found(index, "quokka") == ["fresh"]
    assert found(index, "evicted") in (
        ["cache"],
        [],
    )  # a page of text may be lost; a search that says so is not wrong


@pytest.fixture
def connections(monkeypatch):
    """Every connection to an index file, in the order in which they were opened."""
    made = []
    connect = database._connect

    def remember(*given):
        made.append(connect(*given))
        return made[-1]

    monkeypatch.setattr(database, "_connect", remember)
    return made


def is_closed(connection):
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_turns_out_to_be_no_index_is_not_kept_open(watched, home, connections, read_only):
    index = RecallIndex(watched)
    index.update()
    home.index_file().write_bytes(b"not a database")
    connections.clear()

    with pytest.raises(IndexUnavailable):
        Database.open(index.path(), read_only=read_only)
    assert [is_closed(connection) for connection in connections] == [True]


def test_an_index_that_turns_out_to_be_damaged_is_not_kept_open(watched, connections, monkeypatch):
    index = RecallIndex(watched)
    index.update()
    connections.clear()

    def fail(*_):
        raise IndexDamaged("a page is lost")

    monkeypatch.setattr(reading, "find_changes", fail)
    with index.opened(may_write=False) as opened:
        assert opened.notices == ("the index was not used: a page is lost",)
        assert [is_closed(connection) for connection in connections] == [True]
        assert [hit.note.slug for hit in opened.search("evicted", Scope()).hits] == ["cache"]


@pytest.mark.parametrize("may_write", [False, True])
def test_an_index_that_shows_its_damage_when_it_is_asked_is_asked_anew_without_its_file(watched, may_write):
    index = RecallIndex(watched)
    index.update()

    def question(opened):
        if opened.database.connection.execute("PRAGMA database_list").fetchone()[2]:
            raise IndexDamaged("a page is lost")
        return [hit.note.slug for hit in opened.search("evicted", Scope()).hits], opened.notices

    assert index.ask(question, may_write=may_write) == (["cache"], ("the index was not used: a page is lost",))


def test_an_index_of_another_version_is_built_anew(watched, home):
    index = RecallIndex(watched)
    index.update()
    with sqlite3.connect(home.index_file()) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert found(index, "evicted") == ["cache"]
    index.update()
    with Database.open(index.path(), read_only=True) as database:
        assert database.count() == 2


def test_a_deleted_index_is_built_again(watched, home):
    index = RecallIndex(watched)
    index.update()
    home.index_file().unlink()

    index.update()

    assert found(index, "evicted") == ["cache"]


def test_an_index_that_is_locked_is_read_past(watched, home):
    index = RecallIndex(watched)
    index.update()
    home.note(key("fresh"), "# Fresh\nA quokka appeared.\n")
    other = sqlite3.connect(home.index_file(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(IndexUnavailable, match="another process"):
            index.update()
        with index.opened(may_write=True) as opened:
            assert "another process" in opened.notices[0]
            assert [hit.note.slug for hit in opened.search("quokka", Scope()).hits] == ["fresh"]
        index.note_written([Locator(key("fresh"))])  # a writer neither waits nor fails
    finally:
        other.close()


def test_a_saved_note_is_indexed_without_a_listing(watched, home):
    index = RecallIndex(watched)
    index.update()
    home.note(key("fresh"), "# Fresh\nA quokka appeared.\n")
    watched.since()

    index.note_written([Locator(key("fresh"))])

    assert watched.since() == (0, [key("fresh")])
    with Database.open(index.path(), read_only=True) as database:
        assert [hit.note.slug for hit in search(database, "quokka", Scope()).hits] == ["fresh"]


def test_the_note_files_are_never_touched(watched, home):
    before = {name: content for name, content in home.files().items() if name.startswith(".agentm")}
    index = RecallIndex(watched)

    index.rebuild()
    index.update()
    found(index, "locks")

    assert {name: content for name, content in home.files().items() if name.startswith(".agentm")} == before


def test_unreadable_notes_say_why(watched):
    watched.failing[key("cache")] = InvalidContentError("it is not text")
    index = RecallIndex(watched)
    index.update()

    with Database.open(index.path(), read_only=True) as database:
        notes = database.notes([PROJECT])

    assert notes[key("cache")][1].problem == "it is not text"


def test_the_deadline_of_whoever_waits_is_kept_and_what_it_left_out_is_counted(home, tmp_path):
    """Reading stops at the moment that was given; what is not reached is told, and found by the next one."""

    class Slow(FileStore):
        def read(self, locator):
            time.sleep(0.05)
            return super().read(locator)

    store = Slow(tmp_path / "slow", create_root=True)
    store.write(Locator("_meta/store.json"), STAMP)
    for number in range(40):
        store.write(
            PROJECT.child("facts", f"fact-{number}.md"), f"The port of service {number} is {8000 + number}.\n"
        )
    index = RecallIndex(store)
    started = time.monotonic()
    with index.opened([Locator()], may_write=False, deadline=started + 0.3, without_file=True) as opened:
        spent = time.monotonic() - started
    assert 0 < opened.changes.indexed < 40
    assert opened.changes.unreached == 40 - opened.changes.looked_at > 0
    assert spent < 40 * 0.05, "it did not read them all"
    with index.opened([Locator()], may_write=False, without_file=True) as opened:
        assert (opened.changes.indexed, opened.changes.unreached) == (40, 0)
