"""The notes as the page has them: read, found while a word is typed, changed on condition, and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import (
    ConcurrentModificationError,
    Device,
    InvalidContentError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    content_hash,
    stamp_store,
)
from agentm_recall.index.database import IndexUnavailable
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.page import NotesService

if TYPE_CHECKING:
    from pathlib import Path

PORT, HOST = "projects/widgets/facts/port.md", "projects/widgets/facts/host.md"


class Notes:
    """A store with two notes, and the service on it."""

    def __init__(self, home: Path) -> None:
        self.device = Device({"HOME": str(home)})
        self.store = self.device.store(read_only=False)
        stamp_store(self.store)
        front = 'kind: fact\nverified: "2026-01-02"\nempty: ""\norigin: [a.md, b.md]\ntags: [net]\n'
        self.store.write(Locator(PORT), f"---\n{front}---\n\n# The port\n\nConnections go to 443.\n")
        self.store.write(Locator(HOST), "---\nkind: fact\nstatus: deleted\n---\n\n# The hosting\n\nIt is here.\n")
        self.service = NotesService(self.device)

    def text(self, key: str) -> str:
        return self.store.read(Locator(key))

    def found(self, question: str, **scope: str) -> list[str]:
        assert self.service.refresh() is None
        return [found["key"] for found in self.service.search(question, **scope)["found"]]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return Notes(tmp_path)


def test_a_note_is_read_with_what_else_its_front_matter_says(notes: Notes) -> None:
    read = notes.service.read(PORT)
    assert (read["title"], read["kind"], read["tags"]) == ("The port", "fact", ["net"])
    assert read["more"] == [("verified", "2026-01-02"), ("origin", "a.md, b.md")]
    assert (read["text"], read["hash"]) == (notes.text(PORT), content_hash(notes.text(PORT)))
    assert read["body"].strip() == "# The port\n\nConnections go to 443."
    assert notes.service.read(HOST)["more"] == []


@pytest.mark.parametrize("key", ["", "a.txt", "_meta/store.json", "projects/widgets/.hidden.md"])
def test_what_is_no_note_is_not_read(notes: Notes, key: str) -> None:
    with pytest.raises(NotFoundError, match="is not a note"):
        notes.service.read(key)


def test_every_note_is_listed_and_only_those_that_agents_are_told_are_counted(notes: Notes) -> None:
    listed = notes.service.notes()
    assert {note["key"]: (note["status"], note["current"]) for note in listed["notes"]} == {
        PORT: ("active", True),
        HOST: ("deleted", False),
    }
    assert (listed["problems"], listed["unreached"]) == ([], 0)
    assert notes.service.count(notes.store, Locator("projects/widgets")) == (1, 0)


def test_the_last_word_may_be_the_beginning_of_one(notes: Notes) -> None:
    assert notes.found("connections") == [PORT]
    assert notes.found("connec") == [PORT]
    assert notes.found("connec ") == [], "a word that has ended is the word"
    assert notes.found("c") == [], "a letter alone begins too many"
    assert notes.found("connections", project="others") == []


def test_what_was_found_is_shown_from_behind_the_title_with_its_words_marked(notes: Notes) -> None:
    assert notes.service.refresh() is None
    (found,) = notes.service.search("port connections")["found"]
    assert found["title"] == "The port"
    assert found["snippet"] == [("Connections", True), (" go to 443.", False)]


def test_a_status_is_changed_only_for_the_text_that_was_shown(notes: Notes) -> None:
    shown = content_hash(notes.text(PORT))
    changed = notes.service.set_status(PORT, "deleted", shown)
    assert changed == content_hash(notes.text(PORT))
    assert notes.service.read(PORT)["status"] == "deleted"
    with pytest.raises(ConcurrentModificationError):
        notes.service.set_status(PORT, "active", shown)
    with pytest.raises(InvalidContentError, match="there is no status 'lost'"):
        notes.service.set_status(PORT, "lost", changed)
    assert notes.service.read(PORT)["status"] == "deleted"


def test_a_forgotten_note_that_another_one_has_replaced_is_not_said_to_be_back(notes: Notes) -> None:
    key = "projects/widgets/facts/hosts.md"
    notes.store.write(Locator(key), "---\nkind: fact\nsupersedes: [host]\n---\n\nElsewhere.\n")
    with pytest.raises(LocatorConflictError, match=f"was replaced by '{key}'"):
        notes.service.set_status(HOST, "active", content_hash(notes.text(HOST)))
    assert notes.service.read(HOST)["status"] == "deleted"


def renamed(notes: Notes, fields: str) -> None:
    """The project was renamed, or went to another store, while the page was open."""
    notes.store.write(Locator("projects/gadgets/_project.json"), '{"version": 1, "id": "a", "remotes": []}')
    record = f'{{"version": 1, "id": "a", "remotes": [], {fields}}}'
    notes.store.write(Locator("projects/widgets/_project.json"), record)


def test_a_new_note_comes_to_where_its_project_is_read_by_now(notes: Notes) -> None:
    fields = {"kind": "fact", "name": "New", "body": "Herons go to 8443.", "project": "widgets"}
    renamed(notes, '"moved_to": "gadgets"')
    assert notes.service.save(fields) == "projects/gadgets/facts/new.md"


def test_a_new_note_of_a_project_that_has_left_the_store_is_refused(notes: Notes) -> None:
    fields = {"kind": "fact", "name": "New", "body": "Herons go to 8443.", "project": "widgets"}
    renamed(notes, '"moved_to_store": "other"')
    with pytest.raises(LocatorConflictError, match="in another store"):
        notes.service.save(fields)


def test_what_is_saved_again_does_not_come_under_a_name_that_its_project_has_left(notes: Notes) -> None:
    notes.store.delete(Locator(PORT))
    renamed(notes, '"moved_to": "gadgets"')
    with pytest.raises(LocatorConflictError, match="are in 'projects/gadgets' now"):
        notes.service.write(PORT, "what a person wrote meanwhile\n", "absent")
    assert not notes.store.exists(Locator(PORT))


def test_a_secret_is_not_written(notes: Notes) -> None:
    before = notes.text(PORT)
    with pytest.raises(InvalidContentError, match="secret"):
        notes.service.write(PORT, "gh" + "p_" + "Q7w2Zk9" * 5 + "x", content_hash(before))
    assert notes.text(PORT) == before


def test_a_new_note_is_saved_and_found_at_once(notes: Notes) -> None:
    fields = {"kind": "fact", "name": "The New Port!", "body": "Herons go to 8443.", "tags": " net, , new ,"}
    key = notes.service.save({**fields, "project": "widgets", "supersedes": PORT})
    assert key == "projects/widgets/facts/the-new-port.md"
    saved = notes.service.read(key)
    assert (saved["tags"], saved["source"], saved["supersedes"]) == (["net", "new"], "operator", [PORT[:-3]])
    assert [found["key"] for found in notes.service.search("herons")["found"]] == [key]
    assert {note["key"]: note["status"] for note in notes.service.notes()["notes"]}[PORT] == "superseded"
    with pytest.raises(NotFoundError, match="there is no project 'gadgets'"):
        notes.service.save({**fields, "project": "gadgets"})
    assert notes.service.save({**fields, "name": "mine"}) == "personal/facts/mine.md"


# ------------------------------------------------------------------------------------------------ more of each


def test_notes_are_listed_newest_first_with_all_that_is_known_of_each(notes: Notes) -> None:
    for slug, day in (("a", "2025-01-01"), ("b", "2025-01-01"), ("c", "2025-02-01")):
        notes.store.write(Locator(f"personal/facts/{slug}.md"), f"---\nupdated: {day}\n---\n\n# {slug}\n")
    notes.store.write(Locator("personal/facts/d.md"), "---\nsupersedes: [c]\nkind: [open\n---\n\nText.\n")
    listed = notes.service.notes()["notes"]
    assert [note["key"].rpartition("/")[2] for note in listed] == [
        "c.md",
        "b.md",
        "a.md",
        "port.md",
        "host.md",
        "d.md",
    ]
    assert "not YAML" in listed[-1]["problem"]
    assert listed[0] == {
        "key": "personal/facts/c.md",
        "title": "c",
        "kind": "fact",
        "status": "active",
        "current": True,
        "tags": [],
        "project": None,
        "created": "",
        "updated": "2025-02-01",
        "changed": "2025-02-01",
        "source": "",
        "confidence": None,
        "supersedes": [],
        "problem": None,
    }


def test_what_another_note_replaces_is_neither_counted_nor_current(notes: Notes) -> None:
    notes.store.write(Locator("projects/widgets/facts/new.md"), "---\nsupersedes: [port, host]\n---\n\nNew.\n")
    listed = {note["key"]: (note["status"], note["current"]) for note in notes.service.notes()["notes"]}
    assert listed[PORT] == ("superseded", False)
    assert listed[HOST] == ("deleted", False), "what was forgotten stays forgotten"
    assert notes.service.count(notes.store, Locator("projects/widgets")) == (1, 0)
    assert notes.service.count(notes.store, Locator("personal")) == (0, 0)


def test_of_what_else_the_front_matter_says_so_much_is_shown(notes: Notes) -> None:
    fields = "".join(f"field{number}: x\n" for number in range(13))
    notes.store.write(Locator(PORT), f"---\n{fields}---\n\nText.\n")
    assert [name for name, _ in notes.service.read(PORT)["more"]] == [f"field{number}" for number in range(12)]
    notes.store.write(Locator(PORT), f"---\n{'n' * 50}: {'v' * 310}\n---\n\nText.\n")
    assert notes.service.read(PORT)["more"] == [("n" * 40, "v" * 300)]


def test_a_search_is_narrowed_and_says_why_each_was_found(notes: Notes) -> None:
    for number in range(31):
        notes.store.write(Locator(f"personal/facts/heron-{number}.md"), f"# Heron {number}\n\nHerons fly.\n")
    notes.store.write(
        Locator("personal/decisions/heron.md"), "---\nconfidence: 0.5\n---\n\n# Law\n\nHerons are protected.\n"
    )
    assert len(notes.found("herons")) == 30
    assert notes.found("herons", kind="decision") == ["personal/decisions/heron.md"]
    assert len(notes.service.search("herons", limit=2)["found"]) == 2
    (found,) = notes.service.search("herons", kind="decision")["found"]
    assert found["why"] == ["heron in its name or tags", "herons in the text", "confidence counts 0.85"]
    assert found["snippet"] == [("Herons", True), (" are protected.", False)]


def test_so_many_words_that_begin_like_the_last_one_are_looked_for(notes: Notes) -> None:
    words = ["quokka", "quorum", "quota", "quote", "quoin"]
    for number, word in enumerate(words):
        for copy in range(5 - number):
            notes.store.write(Locator(f"personal/facts/{word}-{copy}.md"), f"# {word}\n\nNumber {copy}.\n")
    found = {key.split("/")[-1].partition("-")[0] for key in notes.found("quo")}
    assert found == set(words[:4]), "the most frequent"
    assert {key.split("/")[-1].partition("-")[0] for key in notes.found("QUOK")} == {"quokka"}
    assert notes.found("qu-") == []


def test_an_index_that_cannot_be_written_is_said(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []

    def busy(_index: RecallIndex, *, wait: float) -> None:
        waited.append(wait)
        raise IndexUnavailable("another process is updating it")

    monkeypatch.setattr(RecallIndex, "update", busy)
    assert notes.service.refresh() == "searching may miss the newest notes: another process is updating it"
    assert waited == [5.0], "a page waits for its turn"


def test_what_connects_notes_is_told(notes: Notes) -> None:
    notes.store.write(Locator("projects/widgets/facts/new.md"), "See [[port]].\n")
    assert notes.service.refresh() is None
    assert notes.service.links() == [("projects/widgets/facts/new.md", PORT, "link", "")]


def test_a_text_is_written_on_condition_and_found_at_once(notes: Notes) -> None:
    assert notes.service.refresh() is None
    shown = content_hash(notes.text(PORT))
    assert notes.service.write(PORT, "Cranes go to 80.\n", shown) == content_hash("Cranes go to 80.\n")
    assert [found["key"] for found in notes.service.search("cranes")["found"]] == [PORT]
    with pytest.raises(ConcurrentModificationError):
        notes.service.write(PORT, "Another.\n", shown)
    with pytest.raises(ConcurrentModificationError):
        notes.service.write(PORT, "Another.\n", "absent")
    assert notes.text(PORT) == "Cranes go to 80.\n"
    new = "personal/facts/new.md"
    assert notes.service.write(new, "New.\n", "absent") == content_hash("New.\n")
    with pytest.raises(NotFoundError, match="is not a note"):
        notes.service.write("_meta/store.md", "New.\n", "absent")


def test_a_change_of_status_is_dated_and_says_what_to_do_about_another_change(notes: Notes) -> None:
    with pytest.raises(ConcurrentModificationError, match=f"'{PORT}' was changed meanwhile") as refused:
        notes.service.set_status(PORT, "deleted", "0" * 64)
    assert refused.value.hint == "look at it again"
    notes.service.set_status(PORT, "superseded", content_hash(notes.text(PORT)))
    read = notes.service.read(PORT)
    assert (read["status"], read["current"], read["updated"][:2]) == ("superseded", False, "20")
    notes.service.set_status(PORT, "active", content_hash(notes.text(PORT)))
    assert notes.service.read(PORT)["current"]


def test_a_name_is_cut_and_what_is_always_loaded_is_of_no_project(notes: Notes) -> None:
    fields = {"kind": "fact", "name": "x" * 79 + " yz", "body": "Text."}
    assert notes.service.save(fields) == f"personal/facts/{'x' * 79}.md"
    tone = {"kind": "always-load", "name": "Tone", "body": "Be brief.", "project": "nowhere"}
    assert notes.service.save(tone) == "personal/_always-load/tone.md"
    with pytest.raises(InvalidContentError):
        notes.service.save({"kind": "fact", "name": "", "body": "Text."})
