"""What a question says about time: the latest, since March, in 2024, what it was before."""

from __future__ import annotations

from agentm_kernel.plugin import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MOMENT = rf"(?P<date>\d{{4}}-\d\d-\d\d)|(?:(?P<month>{'|'.join(_MONTHS)})\s*)?(?P<year>(?:19|20)\d\d)?"
_WHEN = (
    rf"(?i)\b(?P<how>since|after|until|till|before|in|during|of|from|spring|summer|autumn|fall|winter)\s+(?:the\s+)?"
    rf"(?:end of\s+|early\s+|late\s+|mid[- ]\s*)?(?:{_MOMENT})(?!\w)"
)
_AGO = {"yesterday": 1, "last week": 7, "this week": 7, "last month": 31, "this month": 31, "today": 0}
_LATEST = r"(?i)\b(?:latest|newest|most recent(?:ly)?|recent(?:ly)?|lately|last changed|what's new|up to date)\b"
_PAST = (
    r"(?i)\b(?:previous(?:ly)?|former(?:ly)?|original(?:ly)?|earlier|in the past|use[ds]? to be|"
    r"did \w+(?: \w+)* use to|used to \w+|old days|back then|last year|historically|old setup)\b"
    r"|\b(?:did|was|were|had|been)\b.*\b(?:before|until|replaced?|instead|back in|use to)\b"
    r"|^\W*(?:what|which|who)\s+(?:\w+\s+)?\w+(?:ed|an|ew|ought)\b.*\bbefore\b|\breplaced?\b"
)
_NAMED = (
    r"(?i)\b(?:before|replaced by|instead of|until|than)\s+(?:the\s+)?(?P<after>[\w-]+(?:\s+[\w-]+)?)"
    r"|\bdid\s+(?P<before>[\w-]+(?:\s+[\w-]+)?)\s+replace\b"
)
_OF_LATEST = ("latest", "newest", "recent", "lately", "last changed", "what's new", "up to date")
_OF_PAST = (
    *(
        "previous",
        "former",
        "original",
        "earlier",
        "in the past",
        "use to",
        "used to",
        "uses to",
        "old days",
        "old setup",
        "back then",
    ),
    *("last year", "historically", "before", "until", "replace", "instead", "back in"),
)
_OF_NAMED = ("before", "until", "replace", "instead of", "than")
"""What a text has to hold before `re` is loaded and compiles a pattern: half of what a hook takes otherwise."""
_MOST_WORDS = 25
"""A longer text speaks of time without asking about it."""


class Times(Frozen):
    """What is asked about time. Days are counted since 1970."""

    wants_latest: bool = False
    wants_past: bool = False
    since: float | None = None
    until: float | None = None
    after: str = ""
    """What came afterwards, as in "before Kafka"."""

    def includes(self, day: float) -> bool:
        return (self.since is None or day >= self.since) and (self.until is None or day < self.until)

    @property
    def is_bounded(self) -> bool:
        return self.since is not None or self.until is not None


def read_times(text: str, today: float) -> Times:
    if len(text) > 400 or len(text.split()) > _MOST_WORDS:
        return Times()
    since, until = _window(text, today)
    named = _search(_NAMED, text, _OF_NAMED)
    return Times(
        wants_latest=bool(_search(_LATEST, text, _OF_LATEST)),
        wants_past=bool(_search(_PAST, text, _OF_PAST)) or (until is not None and until <= today),
        since=since,
        until=until,
        after=(named["after"] or named["before"]) if named else "",
    )


def _search(pattern: str, text: str, telling: tuple[str, ...]) -> re.Match[str] | None:
    lowered = text.lower()
    if not any(words in lowered for words in telling):
        return None
    import re

    return re.search(pattern, text)


def _window(text: str, today: float) -> tuple[float | None, float | None]:
    lowered = text.lower()
    ago = {words: days for words, days in _AGO.items() if words in lowered}
    if not ago and not any(map(str.isdigit, text)) and not any(month in lowered for month in _MONTHS):
        return None, None
    import re

    for words, days in ago.items():
        if re.search(rf"\b{words}\b", lowered):
            return today - days - 1, None
    moments = re.finditer(_WHEN, text)
    match = next((found for found in moments if found["date"] or found["month"] or found["year"]), None)
    if match is None or (
        (match["month"] or "").lower() == "may"
        and not match["year"]
        and match["how"].lower() not in ("in", "since", "until")
    ):
        return None, None
    start, end = _moment(match, today)
    how = match["how"].lower()
    if how == "since":
        return start, None
    if how == "after":
        return end, None
    if how in ("until", "till", "before"):
        return None, start
    return start, end


def _moment(match: re.Match[str], today: float) -> tuple[float, float]:
    """The first day of what is named, and the first one after it. A month without a year is the last one that was."""
    from datetime import date

    first = date(1970, 1, 1).toordinal()
    if match["date"]:
        try:
            day = date.fromisoformat(match["date"]).toordinal() - first
        except ValueError:
            return today, today
        return day, day + 1
    month = _MONTHS.index(match["month"].lower()) + 1 if match["month"] else None
    now = date.fromordinal(int(today) + first)
    year = int(match["year"]) if match["year"] else (now.year if (month or 1) <= now.month else now.year - 1)
    start = date(year, month or 1, 1)
    end = date(year + 1, 1, 1) if month is None or month == 12 else date(year, month + 1, 1)
    return start.toordinal() - first, end.toordinal() - first
