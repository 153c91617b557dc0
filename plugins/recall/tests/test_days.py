"""A note's age in days is counted without a calendar from the library, which a hook has no time to load."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from agentm_recall.index.search import day_of


@pytest.mark.parametrize("year", [4, 100, 400, 1600, 1900, 1970, 1999, 2000, 2001, 2024, 2026, 2100, 9998])
def test_it_is_the_number_of_the_calendar(year: int) -> None:
    days = [date(year, 1, 1) + timedelta(number) for number in range(366)]
    assert [day_of(day.isoformat()) for day in days] == [(day - date(1970, 1, 1)).days for day in days]


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-01", "0000-01-01", "2026-00-01", "2026-13-01", "2026-01-00", "2026-01-32", "²026-01-01"],
)
def test_what_is_no_date_has_no_number(text: str) -> None:
    assert day_of(text) is None


def test_a_time_after_the_date_does_not_matter() -> None:
    assert day_of("1970-01-02T23:59:59+00:00") == 1
