"""Identifiers fall into their words, and words find identifiers."""

from __future__ import annotations

import pytest

from agentm_recall.index.words import STOP_WORDS, hidden_words, looked_for, match_expression, pieces


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("maxRetryCount", ["max", "retry", "count"]),
        ("max_retry_count", ["max", "retry", "count"]),
        ("MAX_RETRY_COUNT", ["max", "retry", "count"]),
        ("HTTPServer2", ["http", "server2"]),
        ("parseURLFast", ["parse", "url", "fast"]),
        ("__init__", ["init"]),
        ("sha256", ["sha256"]),
        ("word", ["word"]),
        ("größe_max", ["größe", "max"]),
    ],
)
def test_an_identifier_falls_into_its_words(identifier, words):
    assert pieces(identifier) == words


def test_what_the_tokenizer_does_not_see_is_added():
    hidden = hidden_words("the maxRetryCount of max_wait_time in plain words").split("\n")

    assert hidden == ["max retry count", "maxwaittime"]


def test_a_question_is_asked_by_its_telling_words():
    wanted = looked_for("Where is the retry policy of our workers?")

    assert wanted[:3] == ["retry", "policy", "workers"]
    assert "retry policy" in wanted
    assert STOP_WORDS.isdisjoint(wanted)


@pytest.mark.parametrize("question", ["maxRetryCount", "max_retry_count", "max-retry-count", "max.retry/count"])
def test_every_spelling_of_an_identifier_asks_for_the_same(question):
    assert {"max", "retry", "count", "max retry count", "maxretrycount"} <= set(looked_for(question))


def test_a_question_of_nothing_but_small_words_is_asked_all_the_same():
    assert match_expression("how do we") is not None


@pytest.mark.parametrize("question", ["", "???", " \n", "-- ; ''"])
def test_a_question_without_words_is_none(question):
    assert match_expression(question) is None


def test_short_forms_are_understood_both_ways():
    assert "database" in looked_for("db choice")
    assert "db" in looked_for("database choice")


def test_a_long_question_stays_bounded():
    assert len(looked_for(" ".join(f"word{number}" for number in range(5000)))) < 200
