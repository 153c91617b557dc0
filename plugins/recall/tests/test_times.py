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


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we do today", "2025-07-31", None),
        ("what did we do this week", "2025-07-24", None),
        ("what changed this month", "2025-06-30", None),
        ("what changed last month", "2025-06-30", None),
        ("what was decided before 2025-02-03", None, "2025-02-03"),
        ("what held till March", None, "2025-03-01"),
        ("notes of 2025-02-03", "2025-02-03", "2025-02-04"),
        ("notes from March 2024", "2024-03-01", "2024-04-01"),
        ("decisions in May", "2025-05-01", "2025-06-01"),
        ("decisions until May", None, "2025-05-01"),
        ("decisions since may", "2025-05-01", None),
        ("decisions of May 2024", "2024-05-01", "2024-06-01"),
        ("the list of may calls", None, None),
        ("notes from late September", "2024-09-01", "2024-10-01"),
        ("of the 3 in 2024", "2024-01-01", "2025-01-01"),
        ("what lastweek said", None, None),
    ],
)
def test_more_windows(text, since, until):
    times = read_times(text, TODAY)

    assert (times.since, times.until) == (day_of(since) if since else None, day_of(until) if until else None)


@pytest.mark.parametrize(("day", "is_past"), [("2025-08-01", True), ("2025-08-02", False)])
def test_a_time_that_has_ended_is_the_past(day, is_past):
    assert read_times(f"the port until {day}", TODAY).wants_past is is_past


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("what was it before Kafka", "Kafka"),
        ("what did we use instead of the message bus", "message bus"),
        ("what did Kafka replace", "Kafka"),
        ("what carries events", ""),
    ],
)
def test_what_came_afterwards_is_named(text, after):
    assert read_times(text, TODAY).after == after


@pytest.mark.parametrize(("length", "is_read"), [(400, True), (401, False)])
def test_a_text_of_four_hundred_letters_may_ask(length, is_read):
    assert read_times("latest ".ljust(length, "x"), TODAY).wants_latest is is_read


@pytest.mark.parametrize(("count", "is_read"), [(25, True), (26, False)])
def test_a_text_of_twenty_five_words_may_ask(count, is_read):
    assert read_times("latest " + "it " * (count - 1), TODAY).wants_latest is is_read
