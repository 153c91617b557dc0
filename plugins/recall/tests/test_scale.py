"""A store that is too large to be listed for every question: what is asked of it, and what is found all the same."""

from __future__ import annotations

import os
import time

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer
from agentm_recall import RecallIndex
from agentm_recall.index import maintenance
from agentm_recall.index.database import Database
from agentm_recall.index.lexicon import Lexicon
from agentm_recall.index.plan import plan_of
from agentm_recall.index.search import Scope
from agentm_recall.searching import search_notes


class Watched(BackendLayer):
    """Notes which folders are listed."""

    def __init__(self, inner):
        super().__init__(inner)
        self.listed = []

    def walk(self, locator):
        self.listed.append(locator.key)
        return super().walk(locator)


@pytest.fixture
def started(monkeypatch):
    """The processes that would be started in the background."""
    calls = []
    monkeypatch.setattr("agentm_recall.upkeep.start", lambda *arguments: calls.append(arguments))
    return calls


@pytest.fixture
def large(home, store, started, monkeypatch):
    monkeypatch.setattr(maintenance, "LISTED_AT_ONCE", 3)
    for number in range(4):
        home.note(f"projects/widgets/facts/f{number}.md", f"# Fact {number}\nThe port of service {number} is open.\n")
        home.note(f"projects/other/facts/f{number}.md", f"# Other {number}\nAnother port {number}.\n")
    home.note("personal/conventions/tone.md", "# Tone\nWrite plainly about ports.\n")
    time.sleep(0.15)  # folders that have just changed are listed again
    RecallIndex(store).update()
    return Watched(store)


def slugs(store, question):
    return [found.hit.note.slug for found in search_notes(store, question).found]


def asked(store, question, **options):
    index = RecallIndex(store)
    places = [Locator("personal"), Locator("projects/widgets")]
    look = lambda opened: [hit.note.slug for hit in opened.search(question, Scope(project="widgets")).hits]  # noqa: E731
    return index.ask(look, places, may_write=False, **options)


def test_a_question_lists_nothing(large, started):
    assert "f2" in slugs(large, "port of service 2")
    assert "f2" in asked(large, "port of service 2")
    assert large.listed == []
    assert started == []


def test_a_note_that_another_program_made_is_found_by_listing_its_folder_only(large, home):
    home.note("projects/widgets/facts/fresh.md", "# Fresh\nA quokka appeared.\n")

    assert asked(large, "quokka") == ["fresh"]
    assert large.listed == ["projects/widgets/facts"]
    assert slugs(large, "quokka") == ["fresh"]


def test_a_note_that_another_program_replaced_or_removed(large, home):
    file = home.root / "projects/widgets/facts/f1.md"
    other = file.with_suffix(".new")
    other.write_text("# Fact\nA wombat appeared.\n")
    os.replace(other, file)
    (home.root / "projects/widgets/facts/f2.md").unlink()

    assert asked(large, "wombat") == ["f1"]
    assert "f2" not in asked(large, "port of service 2")
    assert slugs(large, "wombat") == ["f1"]


def test_a_new_folder_is_found_by_the_one_above_it(large, home):
    home.note("projects/widgets/ideas/deep/down.md", "# Down\nA numbat appeared.\n")
    home.note("projects/new/facts/first.md", "# First\nA bilby appeared.\n")

    assert asked(large, "numbat") == ["down"]
    assert slugs(large, "numbat") == ["down"]
    assert slugs(large, "bilby") == ["first"]
    assert "projects/other/facts" not in large.listed


def test_what_fresh_notes_replace_is_not_shown(large, home):
    home.note("projects/widgets/facts/new.md", "---\nsupersedes: [f1]\n---\n# New\nThe port of service 1 is shut.\n")

    assert "f1" not in asked(large, "port of service 1")


def test_a_note_that_was_changed_inside_its_file_is_not_shown_as_it_was(large, home):
    file = home.root / "projects/widgets/facts/f3.md"
    file.write_text("# Fact 3\nThe harbour of service 3 is closed.\n")

    found = {one.hit.note.slug: one.snippet for one in search_notes(large, "service 3").found}

    assert "closed" in found["f3"]
    assert large.listed == []


def test_a_large_store_is_listed_in_the_background_once_a_minute(large, home, started):
    with Database.open(RecallIndex(large).path(), read_only=False) as database:
        database.connection.execute("UPDATE facts SET value = value - 61")

    slugs(large, "port")

    assert len(started) == 1
    assert large.listed == []


def test_folders_with_too_many_changes_are_left_to_the_background(large, home, started, monkeypatch):
    monkeypatch.setattr(maintenance, "LISTED_FOR_A_HOOK", 2)
    home.note("projects/widgets/facts/fresh.md", "# Fresh\nA quokka appeared.\n")

    assert slugs(large, "quokka") == []
    assert len(started) == 1
    RecallIndex(large).update()
    assert slugs(large, "quokka") == ["fresh"]


def test_the_commonest_words_are_not_looked_for_in_a_large_store(large):
    with Database.open(RecallIndex(large).path(), read_only=True) as database:
        plan = plan_of(database, "the service port of fact 2")
        everything, rare = plan.expression(), plan.expression(most=3)

    assert '"port"' in everything
    assert '"port"' not in rare
    assert '"2"' not in everything or '"2"' in rare


def test_a_word_tells_as_much_in_a_large_store(large):
    """A word in one of a hundred notes; what it tells decides whether there is an answer at all."""
    with Database.open(RecallIndex(large).path(), read_only=True) as database:
        told = []
        for size in (300, 30_000):
            lexicon = Lexicon(database)
            lexicon._notes = size
            told.append(lexicon.rarity({"word": size // 100})["word"])

    assert abs(told[0] - told[1]) < 0.05
