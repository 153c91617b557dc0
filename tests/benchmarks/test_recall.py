"""The figures about recall come from a corpus that is whole, and from fair marks."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.memory.corpus import notes, questions
from tests.benchmarks.memory.judging import Marks
from tests.benchmarks.memory.locomo import load
from tests.benchmarks.memory.rivals import Grep, PlainBm25


def test_every_question_has_an_answer_in_the_corpus():
    entries = notes()
    keys = {entry.locator.key for entry in entries}

    asked = questions(entries)

    assert len(keys) == len(entries) > 150
    assert len(asked) > 100
    assert all(question.answers and question.answers <= keys and question.wrong <= keys for question in asked)


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
