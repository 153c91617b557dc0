"""What a search shows of each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import Locator
from agentm_recall import searching
from agentm_recall.index.database import Database
from agentm_recall.index.search import Scope
from agentm_recall.searching import CLOSE, OPEN, search_notes

if TYPE_CHECKING:
    from agentm_recall.searching import Answer


@pytest.fixture
def memory() -> MemoryBackend:
    made = MemoryBackend()
    for number in range(12):
        text = f"# Heron {number}\n\nHerons wade. {'Other words follow. ' * 20}\n"
        made.write(Locator(f"projects/p/facts/heron-{number}.md"), text)
    return made


def asked(memory: MemoryBackend, question: str, scope: Scope | None = None, **options: int) -> Answer:
    return search_notes(memory, question, scope, environ={}, **options)  # type: ignore[arg-type]


def test_ten_answers_are_given_unless_more_are_wanted_and_words_only_if_asked_for(memory: MemoryBackend) -> None:
    answer = asked(memory, "herons")
    assert len(answer.found) == 10
    assert all(found.words == {} and found.store is None for found in answer.found)
    assert len(asked(memory, "herons", limit=11).found) == 11
    explained = asked(memory, "herons wade", limit=1, explain=True).found[0]
    assert explained.words["body"] == ["heron", "herons wade"]


def test_notes_that_cannot_be_read_are_found_without_a_look_at_all_others() -> None:
    """Every search asks for them, in a store of a hundred thousand notes too."""
    with Database.in_memory() as database:
        statements: list[str] = []
        database.connection.set_trace_callback(statements.append)
        database.unread()
        plan = database.connection.execute(f"EXPLAIN QUERY PLAN {statements[-1]}").fetchall()
    assert "USING INDEX notes_unread" in str(plan)


def test_a_snippet_is_a_line_around_what_was_found(memory: MemoryBackend) -> None:
    snippet = asked(memory, "herons wade", limit=1).found[0].snippet
    assert f"{OPEN}Herons wade{CLOSE}." in snippet
    assert snippet.endswith("…")
    assert len(snippet.replace("#", "").split()) == 24
    assert "\n" not in snippet


def test_no_more_than_eight_words_are_named(memory: MemoryBackend) -> None:
    words = [f"bird{letter}" for letter in "abcdefghij"]
    memory.write(Locator("projects/p/facts/birds.md"), "# Flock\n\n" + " and ".join(words) + "\n")
    (found,) = asked(memory, " ".join(words), limit=1, explain=True).found
    assert found.words["body"] == words[:8]


def test_of_two_notes_alike_the_project_s_own_comes_before_the_personal_one(memory: MemoryBackend) -> None:
    text = "---\nupdated: 2025-02-01\n---\n\n# Herons\n\nThey nest in March.\n"
    for key in ("personal/facts/a.md", "projects/p/facts/b.md"):
        memory.write(Locator(key), text)
    found = asked(memory, "when do herons nest", Scope(near="p")).found
    assert [each.hit.note.key for each in found][:2] == ["projects/p/facts/b.md", "personal/facts/a.md"]


def test_a_note_that_another_one_led_to_is_shown_from_its_beginning(memory: MemoryBackend) -> None:
    new = "---\nupdated: 2025-02-01\nsupersedes: [old]\n---\n\n# Kafka carries events\n"
    memory.write(Locator("projects/p/decisions/new.md"), new)
    memory.write(Locator("projects/p/decisions/old.md"), "---\nupdated: 2024-02-01\n---\n" + "x" * 300)
    new_hit, old_hit = asked(memory, "what carried events previously", Scope("p")).found
    assert (new_hit.hit.note.slug, old_hit.hit.note.slug) == ("new", "old")
    assert old_hit.snippet == "x" * 200


@pytest.mark.parametrize("words", [60_000, 400_000])
def test_what_was_added_to_a_journal_last_is_found_however_long_it_has_grown(
    memory: MemoryBackend, words: int
) -> None:
    """Of more than 200,000 characters, what stood behind them was found by no question, and nothing said so."""
    memory.write(Locator("projects/p/facts/journal.md"), f"# Newts\n\n{'reeds ' * words}\n- Otters came.\n")
    for question in ("otters", "newts"):
        assert [each.hit.note.slug for each in asked(memory, question).found] == ["journal"]


def test_where_nothing_is_found_notes_in_conflict_are_told_of(
    memory: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[list[Locator]] = []

    def waiting(_store: object, folders: list[Locator]) -> list[Locator]:
        asked_for.append(folders)
        return [Locator("projects/p/facts/both.md")]

    monkeypatch.setattr(searching, "notes_in_conflict", waiting)
    assert not any("One note waits" in notice for notice in asked(memory, "herons").notices)
    assert any("One note waits" in notice for notice in asked(memory, "submarine", Scope("p")).notices)
    asked(memory, "submarine")
    assert asked_for == [[Locator("projects/p"), Locator("personal")], [Locator()]]


def test_a_note_that_cannot_be_read_is_not_taken_for_one_that_does_not_answer(agentm, home, store):
    home.note("projects/widgets/decisions/files.md", "# Files\nThey last.\n")
    for name in ("projects/widgets/facts/odd.md", "projects/others/facts/odd.md"):
        (home.root / name).parent.mkdir(parents=True)
        (home.root / name).write_bytes(b"caf\xe9")

    assert agentm("search", "coffee", "--project", "widgets") == "nothing found\n"
    assert agentm.err.startswith("1 note cannot be searched: 'projects/widgets/facts/odd.md' is not UTF-8")
    assert agentm("search", "files") != "nothing found\n"
    assert agentm.err.startswith("2 notes cannot be searched: ")
    assert agentm.err.endswith(" (and 1 more)\n")
    told = agentm("doctor")
    assert "no session is given a note that cannot be read: 'projects/" in told
    assert "(and 1 more)" in told

    for name in ("projects/widgets/facts/odd.md", "projects/others/facts/odd.md"):
        (home.root / name).write_bytes(b"coffee")
    assert "no session is given" not in agentm("doctor")
    assert agentm("search", "coffee") != "nothing found\n"
    assert agentm.err == ""


def test_a_note_of_zero_bytes_alone_is_told_as_lost_and_given_to_nobody(agentm, home, store):
    home.note("projects/widgets/decisions/files.md", "# Files\nThey last.\n")
    home.note("projects/widgets/facts/lost.md", bytes(60))
    home.note("projects/widgets/facts/empty.md", "")

    said = "holds nothing but zero bytes, as a power cut or a sync tool leaves a file"
    assert agentm("search", "coffee", "--project", "widgets") == "nothing found\n"
    assert agentm.err.startswith(f"1 note cannot be searched: 'projects/widgets/facts/lost.md' {said}")
    told = agentm("doctor")
    assert f"no session is given a note that cannot be read: 'projects/widgets/facts/lost.md' {said}" in told
    assert "`agentm notes history lost` shows what is known of it" in told
    assert agentm("notes", "show", "projects/widgets/facts/lost.md") == "\0" * 60, "it can be looked at all the same"
