"""Dates as notes write them: `2026-05-01`, with or without a time."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds_of(date: str) -> float | None:
    """Seconds since the epoch; `None` for what is no date, in UTC too. A date without a zone is taken for UTC."""
    try:
        found = datetime.fromisoformat(date.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # the last evening of the year 9999 is none
        return None
