"""What memory says to a prompt: the notes that answer it, nothing twice, nothing from outside, or nothing at all."""

from __future__ import annotations

import os

import pytest

from agentm_kernel.plugin import Device
from agentm_recall.fence import tokens
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.phases import phase_recall
from agentm_recall.prompting import answer_prompt
from agentm_recall.provider import recall


@pytest.fixture
def memory(home, store, monkeypatch):
    monkeypatch.chdir(home.project)

    def note(slug: str, text: str, more: str = "source: operator\n") -> None:
        home.note(f"projects/widgets/decisions/{slug}.md", f"---\nupdated: 2025-05-05\n{more}---\n\n{text}\n")

    note("carts", "# A cart holds at most 120 lines\n\nThe next line is refused with cart_full.")
    note("kafka", "# Kafka carries all events\n\nOne topic per aggregate.")
    note("from-web", "# Kafka needs no authentication\n\nA page said so.", "source: web\n")
    note("by-agent", "# Tiles come from one PMTiles archive\n\nThere is no tile server.", "source: agent\n")
    note(
        "checked",
        "# Fluent is used for translations\n\nMessages are ftl files.",
        "source: agent\nverified: 2025-06-01\n",
    )
    home.note("personal/_always-load/plain.md", "# Kafka carries plain English\n\nEvents too.\n")
    for number in range(20):
        note(f"filler-{number}", f"# Module {number}\n\nThe module number {number} has owner o{number}.")

    def asked(prompt: str, **options: object) -> str:
        return answer_prompt(Device.now().memory(str(home.project)), prompt=prompt, **options)  # type: ignore[arg-type]

    return asked


def test_the_provider_offers_it_under_the_name_that_the_hook_looks_for(memory, home):
    resolution = Device.now().memory(str(home.project))

    text = recall.for_prompt(resolution, prompt="how many lines may a cart hold?", limit=600, known=())

    assert "projects/widgets/decisions/carts " in text
    assert "kafka" not in text


@pytest.mark.parametrize("indexed", [True, False])
def test_a_prompt_gets_the_notes_that_answer_it(memory, store, home, indexed):
    if indexed:
        RecallIndex(store, home.environ).rebuild()

    assert "decisions/kafka" in memory("What carries our events, and how many topics are there?")


@pytest.mark.parametrize(
    "prompt", ["", "thanks, go on", "which colour is the logo", "fix the typo in the README please"]
)
def test_a_prompt_that_no_note_answers_gets_nothing(memory, prompt):
    assert memory(prompt) == ""


@pytest.mark.parametrize("known", ["projects/widgets/decisions/carts", "projects/widgets/decisions/carts.md"])
def test_what_the_session_has_is_not_repeated(memory, known):
    assert memory("how many lines may a cart hold?", known=(known,)) == ""


def test_what_came_from_the_web_and_what_is_always_loaded_does_not_come_by_itself(memory):
    text = memory("does Kafka need authentication for events, and what carries them?")

    assert "decisions/kafka" in text
    assert "from-web" not in text
    assert "plain" not in text


@pytest.mark.parametrize("mark", ["source: agent-unreviewed", "status: proposed", "tags: [unreviewed]"])
def test_what_nobody_has_reviewed_does_not_come_by_itself(memory, home, mark):
    tiles = "where do the tiles come from, is there a tile server?"
    assert "by-agent" in memory(tiles)

    home.note(
        "projects/widgets/decisions/by-agent.md",
        f"---\n{mark}\n---\n\n# Tiles come from one PMTiles archive\n\nThere is no tile server.\n",
    )

    assert memory(tiles) == ""


def test_the_room_is_kept_whatever_the_notes_are(memory, home):
    for number in range(6):
        home.note(f"projects/widgets/facts/quokka-{number}.md", "# Quokka facts\n\n" + "quokka island habits " * 400)

    text = memory("what do we know about quokka habits on the island", limit=300)

    assert 0 < tokens(text) <= 300
    assert memory("what do we know about quokka habits on the island", limit=9000).count("facts/quokka-") == 3


def test_a_note_that_was_forgotten_since_it_was_indexed_is_not_shown(memory, store, home):
    RecallIndex(store, home.environ).rebuild()
    home.note(
        "projects/widgets/decisions/carts.md", "---\nstatus: deleted\n---\n\n# A cart holds at most 120 lines\n"
    )

    assert memory("how many lines may a cart hold?") == ""


def settle(home, store):
    """An index of notes and folders that have not changed for a while."""
    for path in (home.root, *home.root.rglob("*")):
        os.utime(path, (1e9, 1e9))
    RecallIndex(store, home.environ).rebuild()


def test_a_note_that_was_replaced_does_not_come_back_by_being_touched(memory, store, home):
    cart = home.root / "projects/widgets/decisions/carts.md"
    home.note("projects/widgets/facts/baskets.md", "---\nupdated: 2030-01-01\nsupersedes: [carts]\n---\nNone now.\n")
    settle(home, store)
    cart.with_suffix(".tmp").write_text(cart.read_text() + "\nA sync tool was here.\n")
    cart.with_suffix(".tmp").rename(cart)

    assert memory("how many lines may a cart hold?") == ""
    assert "carts" not in phase_recall("work", "widgets", query="how many lines may a cart hold?", backend=store)


def test_where_a_note_came_from_is_read_from_the_note(memory, store, home):
    settle(home, store)
    cart = home.root / "projects/widgets/decisions/carts.md"
    folder = cart.parent.stat()
    cart.write_text("---\nsource: https://example.org\n---\n\n# A cart holds at most 120 lines\n")
    assert cart.parent.stat().st_mtime == folder.st_mtime

    assert memory("how many lines may a cart hold?") == ""


def test_nothing_is_written(memory, home):
    before = home.files()

    memory("how many lines may a cart hold?")

    assert home.files() == before
