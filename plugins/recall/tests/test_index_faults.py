"""The index is killed, starved and fought over; the notes are not concerned, and the next call answers."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from agentm_recall import RecallIndex
from agentm_recall.index.database import Database
from agentm_recall.index.search import Scope

NOTES = 400

BUILD = """
import sys
from agentm_kernel import Locator
from agentm_kernel.files.store import FileStore
from agentm_recall import RecallIndex
from agentm_recall.index.database import Database
from agentm_recall.index.differences import Difference
from agentm_recall.index.refresh import apply_difference
from agentm_recall.lookup import note_files
index = RecallIndex(FileStore(sys.argv[1]))


def rewrite_everything(index, turn):
    # One note changes, and all of them are written into the index again.
    store = FileStore(sys.argv[1])
    store.write(Locator("projects/widgets/facts/note-1.md"), f"# Note 1\\nfact1 turn {{turn}} " + "x " * 5000)
    with Database.open(index.path(), read_only=False, wait=5.0) as database:
        difference = Difference({{}})
        difference.stale += note_files(store, Locator())
        apply_difference(database, store, difference)


print("ready", flush=True)
for turn in range(int(sys.argv[2])):
    {work}
print("done", flush=True)
"""


@pytest.fixture
def crowded(home, store):
    for number in range(NOTES):
        home.note(f"projects/widgets/facts/note-{number}.md", f"# Note {number}\nfact{number} about " + "pools " * 50)
    return store


def start(home, work, turns=1, **options):
    return subprocess.Popen(
        [sys.executable, "-c", BUILD.format(work=work), str(home.root), str(turns)],
        env=home.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def notes_of(home):
    return {name: content for name, content in home.files().items() if name.startswith(".agentm")}


def assert_answers(store, slug="note-7"):
    with RecallIndex(store).opened(may_write=True) as opened:
        assert [hit.note.slug for hit in opened.search(slug.replace("note-", "fact"), Scope()).hits] == [slug]
    with Database.open(RecallIndex(store).path(), read_only=True) as database:
        database.check()
        assert database.count() == NOTES


def run_in_process(home, code: str) -> subprocess.CompletedProcess[str]:
    """`code` in a process of its own, with the store's folder as its argument: it limits itself for good."""
    return subprocess.run(
        [sys.executable, "-c", code, str(home.root)],
        env=home.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("work", ["index.rebuild()", "index.update() if turn else index.rebuild()"])
def test_a_builder_that_is_killed_harms_nobody(home, crowded, work):
    before = notes_of(home)
    for round_ in range(6):
        builder = start(home, work, turns=50)
        assert builder.stdout.readline() == "ready\n"
        time.sleep(0.02 + 0.06 * round_)
        builder.send_signal(signal.SIGKILL)
        builder.communicate()

    assert notes_of(home) == before
    assert_answers(crowded)


def test_an_updater_that_is_killed_while_it_writes_leaves_an_index_that_recovers(home, crowded):
    RecallIndex(crowded).rebuild()
    change = "rewrite_everything(index, turn)"
    for round_ in range(5):
        updater = start(home, change, turns=200)
        assert updater.stdout.readline() == "ready\n"
        time.sleep(0.1 + 0.05 * round_)
        updater.send_signal(signal.SIGKILL)
        updater.communicate()
        with RecallIndex(crowded).opened(may_write=False) as opened:  # read-only, whatever lies beside the file
            assert [hit.note.slug for hit in opened.search("fact7", Scope()).hits] == ["note-7"]

    assert_answers(crowded)


def test_two_indexers_at_once_come_to_the_same_index(home, crowded):
    workers = [
        start(home, "index.rebuild()", turns=3),
        start(home, "__import__('time').sleep(0.01) or index.keep_warm()", turns=10),
        start(home, "index.rebuild()", turns=3),
    ]

    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0 or "IndexUnavailable" in errors, errors

    assert_answers(crowded)


def test_a_full_disk_is_said_and_the_search_answers_all_the_same(home, crowded):
    code = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
from agentm_kernel.files.store import FileStore
from agentm_recall.searching import search_notes
answer = search_notes(FileStore(sys.argv[1]), "fact7")
print([found.hit.note.slug for found in answer.found], answer.notices)
"""
    before = notes_of(home)

    result = run_in_process(home, code)

    assert result.stderr == ""
    assert result.stdout.startswith("['note-7'] ('the index was not updated: ")
    assert notes_of(home) == before
    assert not home.index_file().exists()
    assert list(home.index_file().parent.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 40_000
    assert_answers(crowded)


def test_a_full_disk_during_an_update_leaves_the_old_index(home, crowded):
    RecallIndex(crowded).rebuild()
    home.note("projects/widgets/facts/fresh.md", "# Fresh\nA quokka appeared. " + "words " * 40_000)
    size = home.index_file().stat().st_size
    code = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
from agentm_kernel.files.store import FileStore
from agentm_recall.searching import search_notes
answer = search_notes(FileStore(sys.argv[1]), "quokka")
print([found.hit.note.slug for found in answer.found], answer.notices)
"""

    result = run_in_process(home, code)

    assert result.stderr == ""
    assert result.stdout.startswith("['fresh'] ('the index was not updated: ")
    with Database.open(RecallIndex(crowded).path(), read_only=True) as database:
        assert database.count() == NOTES


def test_a_cache_that_may_not_be_written_is_said(home, crowded):
    (home.path / ".cache").write_text("a file where a folder should be")

    with RecallIndex(crowded).opened(may_write=True) as opened:
        assert "cannot be written" in opened.notices[0]
        assert [hit.note.slug for hit in opened.search("fact7", Scope()).hits] == ["note-7"]


def test_what_killed_builders_left_is_swept_when_it_is_old(home, crowded):
    RecallIndex(crowded).rebuild()
    old, young = (home.index_file().with_name(f"notes-3.sqlite3.{name}.new") for name in ("old", "young"))
    for file in (old, young):
        file.write_text("half")
    os.utime(old, (1, 1))

    RecallIndex(crowded).rebuild()

    assert (old.exists(), young.exists()) == (False, True)


def test_a_journal_of_a_lost_index_is_not_rolled_back_into_the_new_one(home, crowded):
    RecallIndex(crowded).rebuild()
    home.index_file().write_bytes(b"garbage")
    journal = home.index_file().with_name("notes-3.sqlite3-journal")
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + os.urandom(2000))

    RecallIndex(crowded).update()

    assert not journal.exists()
    assert_answers(crowded)
