"""Looking for secrets in text that is about to be saved. Found ones are refused, never rewritten."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.secret_rules import RULES

_PLACEHOLDERS = (
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "your-",
    "your_",
    "yourtoken",
    "yourkey",
    "my-secret",
    "dummy",
    "redacted",
    "xxxx",
    "****",
    "....",
    "fake",
    "insert",
    "replace",
    "sample",
    "process.env",
    "os.environ",
    "getenv",
    "config.",
    "settings.",
    "secrets.",
)
"""What people and documentation write where a secret would stand."""

_TRIVIAL = frozenset(
    ("admin", "guest", "hunter2", "mysql", "pass", "passwd", "password", "postgres", "pwd", "root", "secret", "test")
    + ("token", "user", "username", "letmein", "correcthorsebatterystaple", "none", "null", "string", "required")
)
"""Passwords that protect nothing: development databases and examples."""

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF-")
_LEAST_CHANGES = 0.25
"""How often the class of a character differs from the one before: words hardly, random tokens half of the time."""


class Finding(NamedTuple):
    kind: str
    line: int


def find_secrets(text: str) -> list[Finding]:
    """The lines that seem to hold a secret, each with its kind; the secret itself is not repeated anywhere."""
    lowered = text.lower()
    found: dict[int, str] = {}
    for rule in RULES:
        if not any(word in lowered for word in rule.words):
            continue
        for match in rule.pattern.finditer(text):
            named = "value" in rule.pattern.groupindex
            value = match["value"] if named else match[0]
            if _is_placeholder(value) or (rule.needs_variety and not _looks_random(value)):
                continue
            found.setdefault(text.count("\n", 0, match.start("value" if named else 0)) + 1, rule.name)
    return [Finding(kind, line) for line, kind in sorted(found.items())]


def refuse_secrets(what: str, text: str) -> None:
    """`InvalidContentError` naming the line, before any store has seen the text."""
    found = find_secrets(text)
    if found:
        kind, line = found[0]
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        raise InvalidContentError(
            f"{what} seems to hold a secret: line {line} looks like a {kind}{more}; nothing was saved",
            hint="say where the secret is kept instead of what it is, and save again",
        )


def _is_placeholder(value: str) -> bool:
    lowered = value.lower()
    if lowered in _TRIVIAL or any(word in lowered for word in _PLACEHOLDERS):
        return True
    if value[0] in "$<{%(" or value[-1] in ">}":
        return True  # a variable or a blank to fill in
    return len(set(lowered)) < 4 or _is_sequence(lowered)


def _is_sequence(text: str) -> bool:
    """`abcdefgh…`, `12345678…`: a keyboard, not a generator."""
    steps = [ord(after) - ord(before) for before, after in pairwise(text)]
    return sum(step == 1 for step in steps) > len(steps) * 0.7


def _looks_random(value: str) -> bool:
    """Letters and digits in turn, as no word or identifier has them; not a digest, a commit's name or a UUID."""
    if _HEXADECIMAL.issuperset(value):
        return False
    letters_and_digits = [character for character in value if character.isalnum()]
    classes = [_class_of(character) for character in letters_and_digits]
    if classes.count("digit") < 2 or len(classes) - classes.count("digit") < 2:
        return False
    changes = sum(
        before != after and (before, after) != ("upper", "lower")  # a capital begins a word
        for before, after in pairwise(classes)
    )
    return changes >= len(classes) * _LEAST_CHANGES and len(set(letters_and_digits)) > len(classes) * 0.4


def _class_of(character: str) -> str:
    if character.isdigit():
        return "digit"
    return "upper" if character.isupper() else "lower"
