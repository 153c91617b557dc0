"""No answer is an answer, the past is found when it is asked for, and of two that are alike the newer comes first."""

from __future__ import annotations

import pytest

from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.search import Scope, day_of, search

TODAY = day_of("2025-08-01")


@pytest.fixture
def ask(home, store):
    def note(slug: str, date: str, text: str, more: str = "", kind: str = "decisions") -> None:
        home.note(
            f"projects/widgets/{kind}/{slug}.md",
            f"---\nstatus: active\ncreated: {date}\nupdated: {date}\n{more}---\n\n{text}\n",
        )

    note(
        "use-kafka",
        "2025-01-15",
        "# Kafka carries all events\n\nOne topic per aggregate.",
        "supersedes: [use-rabbit]\n",
    )
    note("use-rabbit", "2024-03-12", "# RabbitMQ carries all events\n\nTopic exchanges.")
    note("limit-old", "2024-12-02", "# A cart holds at most 50 lines\n\nThe next line is refused with cart_full.")
    note("limit-new", "2025-06-18", "# A cart holds at most 120 lines\n\nThe next line is refused with cart_full.")
    note(
        "mojibake",
        "2025-04-02",
        "# CSVの文字化け\n\n取引先のCSVはShift_JISなので、変換すること。",
        kind="known-issues",
    )
    note(
        "cuisine", "2025-05-10", "# L'écran de la cuisine\n\nIl se rafraîchit toutes les dix secondes.", kind="facts"
    )
    for number in range(30):
        note(
            f"filler-{number}", "2025-02-02", f"# Module {number}\n\nThe module number {number} has owner o{number}."
        )

    def asked(question: str, **options: object):
        with RecallIndex(store, home.environ).opened(may_write=False) as opened:
            return search(opened.database, question, Scope(project="widgets"), today=TODAY, **options)  # type: ignore[arg-type]

    return asked


def _slugs(result) -> list[str]:
    return [hit.note.slug for hit in result.hits]


@pytest.mark.parametrize(
    "question", ["what carries the events", "cart lines", "use_kafka", "Kafka topic per aggregate"]
)
def test_what_a_note_covers_is_an_answer(ask, question):
    assert ask(question).is_answer


@pytest.mark.parametrize(
    "question",
    [
        "which colour is the logo on the printed catalogue of the events team",
        "thanks, go on",
        "write me a poem about sailing, cats and one cart that nobody wants, for a birthday in Italy. " * 5,
    ],
)
def test_what_no_note_covers_is_none(ask, question):
    assert not ask(question).is_answer


def test_a_word_that_no_note_has_counts_against_an_answer(ask):
    assert ask("cart lines").confidence > ask("cart gardening").confidence


def test_the_past_comes_behind_its_successor(ask):
    assert _slugs(ask("how were events carried in the past"))[:2] == ["use-kafka", "use-rabbit"]


def test_the_past_comes_first_where_its_successor_is_named(ask):
    assert _slugs(ask("what carried the events before Kafka"))[0] == "use-rabbit"
    assert _slugs(ask("what carried events in 2024"))[0] == "use-rabbit"


def test_the_past_is_left_out_otherwise(ask):
    result = ask("what carries the events")

    assert "use-rabbit" not in _slugs(result)
    assert result.dead == 1


def test_of_two_that_are_alike_the_newer_comes_first(ask):
    assert _slugs(ask("a cart holds at most 50 lines"))[:2] == ["limit-new", "limit-old"]


def test_scripts_without_spaces_are_found(ask):
    assert _slugs(ask("文字化け"))[0] == "mojibake"
    assert _slugs(ask("取引先のファイル"))[0] == "mojibake"


def test_accents_may_be_left_out_or_added(ask):
    assert _slugs(ask("ecran de la cuisine"))[0] == "cuisine"
    assert _slugs(ask("écrân cuísine"))[0] == "cuisine"


def test_a_question_is_found_at_the_end_of_a_long_paste(ask):
    frames = "\n".join(f'  File "/lib/python3/site-packages/pkg{n}/mod.py", line {n}, in call' for n in range(300))

    assert _slugs(ask(f"Traceback:\n{frames}\nshop.CartError: cart_full, the line was refused"))[0] == "limit-new"
