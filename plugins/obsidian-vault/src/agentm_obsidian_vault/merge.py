"""The union of two versions of an append-only file: every line of both, in the order each of them has it."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from fnmatch import fnmatchcase

_APPEND_ONLY = ("progress*.md", "*.log", "*.log.md", "log*.md", "journal*.md", "changelog*.md", "personal-writes.md")


def is_append_only(name: str) -> bool:
    """Whether a note only ever grows, so that both versions together are what was meant."""
    return any(fnmatchcase(name.casefold(), pattern) for pattern in _APPEND_ONLY)


_FEWEST = 3
"""Lines that two notes must begin with alike for that to mean something."""


def is_version(mine: str, theirs: str) -> bool:
    """Whether the texts show that one is a version of the other: they begin alike, or share most of what they say.

    Front matter, headings and empty lines show nothing: notes of one template share those.
    """
    if mine == theirs:
        return bool(mine.strip())
    ours, others = _telling_lines(mine), _telling_lines(theirs)
    if not ours or not others:
        return False
    shortest = min(len(ours), len(others))
    alike = _common(ours, others)
    if alike >= _FEWEST and 4 * alike >= shortest:
        return True
    shared = sum((Counter(ours) & Counter(others)).values())
    return shared > 1 and 2 * shared > shortest and 3 * shared >= max(len(ours), len(others))


def _telling_lines(text: str) -> list[str]:
    lines = [line.strip() for line in text.removeprefix("\ufeff").splitlines()]
    if lines and lines[0] == "---" and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    return [line for line in lines if line.strip("-*_=#|[] ") and not line.startswith("#")]


def union(mine: str, theirs: str) -> str:
    """Both versions in one: lines they share stand once, of the rest mine stand before theirs at each place.

    Line endings do not make lines different: a file that passed through Windows keeps its lines.
    """
    ours, others = mine.split("\n"), theirs.split("\n")
    # A final newline is an empty last part; it belongs to neither side's lines.
    ends_with_newline = ours[-1] == "" or others[-1] == ""
    ours, others = _without_end(ours), _without_end(others)
    start = _common([_key(line) for line in ours], [_key(line) for line in others])
    merged = ours[:start] + _interleaved(ours[start:], others[start:])
    return "\n".join(merged) + ("\n" if merged and ends_with_newline else "")


def _interleaved(ours: list[str], others: list[str]) -> list[str]:
    merged: list[str] = []
    matcher = SequenceMatcher(None, [_key(line) for line in ours], [_key(line) for line in others], autojunk=False)
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        merged += ours[start:end]
        if kind != "equal":
            merged += others[other_start:other_end]
    return merged


def _common(ours: list[str], others: list[str]) -> int:
    """How many lines both begin with: of two logs of one project, nearly all."""
    length = 0
    while length < min(len(ours), len(others)) and ours[length] == others[length]:
        length += 1
    return length


def _without_end(lines: list[str]) -> list[str]:
    return lines[:-1] if lines[-1] == "" else lines


def _key(line: str) -> str:
    return line.removesuffix("\r")
