"""From text to words: what is indexed besides the text itself, and what a question looks for.

SQLite's tokenizer splits at everything that is neither letter nor digit, so `snake_case` and paths fall into words by
themselves, and it stems English. It does not see the words inside `camelCase`, and does not know that
`maxRetryCount`, `max_retry_count` and "max retry count" are one thing. That is added here.
"""

from __future__ import annotations

import re
from itertools import pairwise

_IDENTIFIER = re.compile(r"\w+")
_COMPOUND = re.compile(r"\w+(?:[./:\\-]+\w+)*")
_PIECE = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")

_SAY_NOTHING = """
a about after all also am an and any are as at be because been before being but by can cannot could did do does doing
done for from get gets got had has have having he her here him his how i if in into is it its just let like made make
may me might more most must my no not now of off on once one only or other our out over please shall she should so
some such than that the their them then there these they thing things this those to too under up us use used uses
using very via was we were what when where which while who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_SAY_NOTHING.split())

_SAME = (
    "admin administrator",
    "api endpoint",
    "app application",
    "args arguments",
    "async asynchronous",
    "auth authentication authenticate authorization login",
    "ci pipeline",
    "cli command",
    "cmd command",
    "config configuration configure settings",
    "conn connection",
    "cron schedule",
    "db database",
    "deps dependencies dependency",
    "dev development",
    "dir directory folder",
    "docs documentation",
    "doc documentation",
    "env environment",
    "err error",
    "exec execute",
    "fs filesystem",
    "impl implementation",
    "info information",
    "init initialize initialization",
    "k8s kubernetes",
    "lang language",
    "lib library",
    "max maximum",
    "mem memory",
    "min minimum",
    "msg message",
    "num number",
    "param parameter",
    "perf performance",
    "pkg package",
    "pr pull",
    "prod production",
    "proc process",
    "py python",
    "repo repository",
    "req request",
    "sec security",
    "spec specification",
    "sync synchronize",
    "temp temporary",
    "tmp temporary",
    "ts typescript",
    "tz timezone",
    "url link address",
    "util utility",
    "val value",
    "var variable",
)
"""Short forms that programmers write, and what they stand for."""


def _abbreviations() -> dict[str, tuple[str, ...]]:
    same: dict[str, tuple[str, ...]] = {}
    for line in _SAME:
        short, *meanings = line.split()
        same[short] = tuple(meanings)
        for meaning in meanings:
            same[meaning] = (*same.get(meaning, ()), short)
    return same


ABBREVIATIONS = _abbreviations()

_MOST_TERMS = 40
"""A question of more words than this says nothing more with them."""


def pieces(identifier: str) -> list[str]:
    """The words inside an identifier, lower-cased: `HTTPServer2_url` is http, server2, url."""
    if not identifier.isascii():
        return [part.lower() for part in identifier.split("_") if part]
    return [piece.lower() for piece in _PIECE.findall(identifier)]


def hidden_words(text: str) -> str:
    """What the tokenizer does not find in `text`: the words inside identifiers, and identifiers as one word."""
    hidden: dict[str, None] = {}
    for identifier in dict.fromkeys(_IDENTIFIER.findall(text)):
        tokens = [part.lower() for part in identifier.split("_") if part]
        words = pieces(identifier)
        if words != tokens:
            hidden[" ".join(words)] = None
        if len(tokens) > 1:
            hidden["".join(tokens)] = None
    return "\n".join(hidden)


def looked_for(question: str) -> list[str]:
    """What to look for: single words and, where words belong together, whole phrases; best first, none twice."""
    words: list[str] = []
    phrases: list[str] = []
    for compound in _COMPOUND.findall(question):
        inside = [word for identifier in _IDENTIFIER.findall(compound) for word in pieces(identifier)]
        if len(inside) > 1:
            phrases.append(" ".join(inside))
            phrases.append("".join(inside))
        words += inside
    telling = [word for word in words if word not in STOP_WORDS] or words
    telling = telling[:_MOST_TERMS]
    pairs = [f"{first} {second}" for first, second in pairwise(telling) if first != second]
    meanings = [meaning for word in telling for meaning in ABBREVIATIONS.get(word, ())]
    return list(dict.fromkeys((*telling, *phrases, *pairs, *meanings)))


def match_expression(question: str) -> str | None:
    """The question in the language of FTS5, `None` if there is no word in it."""
    wanted = looked_for(question)
    return " OR ".join(f'"{term}"' for term in wanted) if wanted else None
