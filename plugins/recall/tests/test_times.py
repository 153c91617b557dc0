"""What a question says about time is read as what it means."""

from __future__ import annotations

import pytest

from agentm_recall.index.search import day_of
from agentm_recall.index.times import read_times

TODAY = day_of("2025-08-01") or 0.0


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what changed since March", "2025-03-01", None),
        ("decisions since October", "2024-10-01", None),
        ("what was decided in May 2024", "2024-05-01", "2024-06-01"),
        ("the database in 2024", "2024-01-01", "2025-01-01"),
        ("what was decided in December 2024", "2024-12-01", "2025-01-01"),
        ("decisions in July", "2025-07-01", "2025-08-01"),
        ("decisions in August", "2025-08-01", "2025-09-01"),
        ("what did we do last week", "2025-07-24", None),
        ("notes of 2025-02-30", "2025-08-01", "2025-08-01"),
        ("where were postings stored until 2025", None, "2025-01-01"),
        ("notes after 2025-06-30", "2025-07-01", None),
        ("what did we do yesterday", "2025-07-30", None),
        ("what may I deploy", None, None),
        ("roadmap 2025", None, None),
    ],
)
def test_a_time_is_a_window(text, since, until):
    times = read_times(text, TODAY)

    assert times.since == (day_of(since) if since else None)
    assert times.until == (day_of(until) if until else None)


@pytest.mark.parametrize(
    "text",
    [
        "which database did we use before PostgreSQL",
        "what was the retry policy previously",
        "what used to be the configuration format",
        "how did the storefront use to authenticate",
        "what was replaced by Kotlin",
    ],
)
def test_the_past_is_recognised(text):
    assert read_times(text, TODAY).wants_past


@pytest.mark.parametrize(
    "text",
    ["which database do we use", "what must be done before a release", "why was the test flaky", "retry policy"],
)
def test_what_is_no_question_about_the_past(text):
    assert not read_times(text, TODAY).wants_past


def test_the_latest_is_asked_for():
    assert read_times("latest decision about retries", TODAY).wants_latest
    assert not read_times("decision about retries", TODAY).wants_latest


@pytest.mark.parametrize("more", ["it " * 26, "x" * 400])
def test_a_long_text_speaks_of_time_without_asking_about_it(more):
    """Long by its words, or by its letters."""
    assert read_times("the latest since March", TODAY).wants_latest
    assert read_times(f"the latest since March {more}", TODAY) == read_times("", TODAY)
