"""The figures about recall come from a corpus that is whole, and from fair marks."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.memory.corpus import later_questions, notes, questions
from tests.benchmarks.memory.judging import Marks, Places
from tests.benchmarks.memory.locomo import load
from tests.benchmarks.memory.rivals import Grep, PlainBm25


def test_every_question_has_an_answer_in_the_corpus():
    entries = notes()
    keys = {entry.locator.key for entry in entries}

    asked = questions(entries)

    assert len(keys) == len(entries) > 150
    assert len(asked) > 100
    assert all(question.answers and question.answers <= keys and question.wrong <= keys for question in asked)


def test_the_later_questions_are_many_and_name_notes_that_exist():
    entries = notes(more=True)
    keys = {entry.locator.key for entry in entries}

    asked = later_questions(entries)

    assert len(keys) == len(entries)
    assert len(asked) >= 300
    assert {question.category for question in asked if not question.answers} == {"no-answer"}
    assert all(question.text and question.answers | question.wrong <= keys for question in asked)
    assert not {question.text for question in asked} & {
        question.text for question in [*questions(entries), *later_questions(entries, "tuning.txt")]
    }


def test_places_tell_any_answer_from_all_of_them():
    places = Places()

    places.judge(["x", "a"], {"a", "b"}, {"x"})
    places.judge(["x"], set(), given=False)

    assert (places.first, places.any_of_5, places.all_of_5) == ([False], [True], [False])
    assert (places.wrong_above, places.share_given) == (1, 0.5)


def test_marks_count_what_is_found_and_how_soon():
    marks = Marks()

    marks.judge(["x", "a", "y", "z", "w", "b"], {"a", "b"}, {"x"})

    assert (marks.at_5, marks.at_10, marks.reciprocal, marks.wrong_above) == ([0.5], [1.0], [0.5], 1)


def test_an_answer_that_is_not_found_earns_nothing():
    marks = Marks()

    marks.judge(["x"], {"a"})

    assert (marks.at_5, marks.reciprocal, marks.wrong_above) == ([0.0], [0.0], 0)


@pytest.mark.parametrize("rival", [PlainBm25, Grep])
def test_a_rival_prefers_the_note_with_more_of_the_words(rival):
    texts = {"one": "the lock is a file", "two": "the lock is a directory and a file", "three": "nothing"}

    assert rival(texts).ask("lock directory", 10)[0] == "two"


def test_a_locomo_file_gives_sessions_turns_and_questions(tmp_path):
    file = tmp_path / "data.json"
    file.write_text(
        json.dumps(
            [
                {
                    "conversation": {
                        "speaker_a": "Ana",
                        "session_1_date_time": "8 May",
                        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "I paint."}],
                        "session_2": [],
                    },
                    "qa": [
                        {"question": "What does Ana do?", "evidence": ["D1:1; D2:3"]},
                        {"question": "Nobody knows", "evidence": []},
                    ],
                }
            ]
        )
    )

    (conversation,) = load(file)

    assert conversation.sessions == {"D1": "8 May\nAna: I paint."}
    assert conversation.turns == {"D1:1": "Ana: I paint."}
    assert conversation.questions == [("What does Ana do?", frozenset({"D1:1", "D2:3"}))]
