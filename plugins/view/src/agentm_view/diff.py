"""Two texts and what differs: line by line below each other, or side by side."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING

from agentm_view.html import Html, join, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT = 3
_MOST_LINES = 4000
"""Comparing takes the square of it; longer texts are shown as they are."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_changed(before: str, after: str) -> Html:
    """What was taken away and what was added, with a few lines around it."""
    if before == after:
        return tag("p", "The two are the same.", class_="quiet")
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        return tag("p", f"{len(old):,} lines before, {len(new):,} after: too many to compare here.", class_="quiet")
    return tag("div", *_changes(old, new), class_="diff", role="group", aria_label="Lines that changed", tabindex="0")


def _changes(old: list[str], new: list[str]) -> Iterator[Html]:
    for number, group in enumerate(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT)):
        if number or group[0][1]:
            yield tag("div", "⋯", class_="skip")
        for kind, first, last, other_first, other_last in group:
            if kind == "equal":
                yield from (_line("", " ", line) for line in old[first:last])
            else:
                yield from (_line("gone", "-", line) for line in old[first:last])
                yield from (_line("added", "+", line) for line in new[other_first:other_last])


def _line(class_: str, mark: str, text: str) -> Html:
    words = {"gone": "removed: ", "added": "added: "}.get(class_)
    return tag(
        "div",
        tag("span", mark, class_="mark", aria_hidden="true"),
        words and tag("span", words, class_="unseen"),
        text or Html("&nbsp;"),
        class_=f"line {class_}".strip(),
    )


def side_by_side(left: str, right: str, left_title: str, right_title: str) -> Html:
    """Both texts whole, what differs marked in each."""
    old, new = left.splitlines(), right.splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        rows = [("equal", *pair) for pair in zip_longest(old, new)]
    else:
        rows = list(_rows(old, new))
    return tag(
        "div",
        _column(left_title, [(kind, text) for kind, text, _ in rows], "gone"),
        _column(right_title, [(kind, text) for kind, _, text in rows], "added"),
        class_="sides",
    )


def _rows(old: list[str], new: list[str]) -> Iterator[tuple[str, str | None, str | None]]:
    for kind, first, last, other_first, other_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for pair in zip_longest(old[first:last], new[other_first:other_last]):
            yield kind, *pair


def _column(title: str, lines: list[tuple[str, str | None]], mark: str) -> Html:
    shown = []
    for kind, text in lines:
        if text is None:
            shown.append(tag("div", Html("&nbsp;"), class_="line none"))
        else:
            shown.append(tag("div", text or Html("&nbsp;"), class_="line" if kind == "equal" else f"line {mark}"))
    return tag(
        "section",
        tag("h3", title),
        tag("div", join(*shown), class_="diff", tabindex="0", role="group", aria_label=title),
    )


def with_line_ends(before: str, after: str) -> str:
    """`after`, which came from a form and so has bare line feeds, with the line ends that `before` has.

    Lines that did not change keep theirs exactly; new ones get what most lines have. Nothing else is touched.
    """
    if "\r" not in before:
        return after
    old = _LINE.findall(before)
    new = _LINE.findall(after.replace("\r\n", "\n"))
    most = "\r\n" if before.count("\r\n") * 2 >= before.count("\n") else "\n"
    if max(len(old), len(new)) > _MOST_LINES:
        return "".join(_ended(line, most) for line in new)
    plain_old, plain_new = [line.rstrip("\r\n") for line in old], [line.rstrip("\r\n") for line in new]
    kept: list[str] = []
    for kind, first, last, other_first, other_last in SequenceMatcher(
        None, plain_old, plain_new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            kept += [_like(line, new[other_first + n], most) for n, line in enumerate(old[first:last])]
        else:
            kept += [_ended(line, most) for line in new[other_first:other_last]]
    return "".join(kept)


def _like(old: str, new: str, most: str) -> str:
    """The line as it was, unless it has gained or lost its end."""
    return old if old.endswith(("\r", "\n")) == new.endswith("\n") else _ended(new, most)


def _ended(line: str, end: str) -> str:
    return line[:-1] + end if line.endswith("\n") else line
