"""Putting values into JSON text and taking them out, in the text's own style. Every other byte stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentm_hosts.files.json_tree import parse
from agentm_hosts.files.recognition import GROUPED
from agentm_hosts.place import APPEND

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_hosts.files.json_tree import Node
    from agentm_hosts.place import Entry

Insertion = tuple[int, str, str]
"""Where, in the text as it was then, what was put there, and what it took the place of: mostly nothing."""


class Unfit(ValueError):
    """The text holds something else where our entry belongs."""


def insert(text: str, entry: Entry, *, comments: bool) -> tuple[str, Insertion | None, tuple[str, ...]]:
    """The text with the entry in it, what was put where, and the path of the outermost container that was made for
    it. Nothing is put where the entry is already.
    """
    if not text.strip("\ufeff \t\r\n"):
        start = len(text) if text.startswith("\ufeff") else 0
        made = _layout(_nested(entry.path, entry), "", "  ", "\n") + "\n"
        return text[:start] + made + text[start:], (start, made, ""), _made(entry, 0)
    root = parse(text, comments=comments)
    node, depth = root, 0
    while depth < len(entry.path):
        below = node.member(entry.path[depth])
        if node.kind != "object":
            raise Unfit(f"{'.'.join(entry.path[:depth]) or 'it'} is not an object")
        if below is None:
            break
        node, depth = below, depth + 1
    rest = entry.path[depth:]
    if not rest:
        if entry.how != APPEND:
            if node.value == entry.value:
                return text, None, ()
            raise Unfit(f"{'.'.join(entry.path)} has another value")
        if node.kind != "list":
            raise Unfit(f"{'.'.join(entry.path)} is not a list")
        if entry.value in node.value:
            return text, None, ()
        at, added = _added(text, root, node, None, entry.value)
    else:
        at, added = _added(text, root, node, rest[0], _nested(rest[1:], entry))
    return text[:at] + added + text[at:], (at, added, ""), _made(entry, depth)


def _made(entry: Entry, depth: int) -> tuple[str, ...]:
    """The outermost container that is made for an entry, where so many of its keys lead to something already."""
    rest = len(entry.path) - depth
    return entry.path[: depth + 1] if rest > 1 or (rest and entry.how == APPEND) else ()


def remove(text: str, path: tuple[str, ...], is_ours: Callable[[Any], bool], *, comments: bool) -> tuple[str, int]:
    """The text without the members of the list at `path`, or the value at `path`, that are ours; how many went. From
    a member that is a group with somebody else's handlers in it, only ours goes.
    """
    gone = 0
    while True:
        root = parse(text, comments=comments) if text.strip("\ufeff \t\r\n") else None
        found = None if root is None else _member_of_ours(root, path, is_ours)
        if found is None:
            return text, gone
        text = _without(text, *found)
        gone += 1


def _member_of_ours(root: Node, path: tuple[str, ...], is_ours: Callable[[Any], bool]) -> tuple[Node, int] | None:
    """What holds a member that is ours, and which one that is."""
    found, parent = root.at(path), root.at(path[:-1])
    if found is None or parent is None:
        return None
    if found.kind != "list":
        return (parent, parent.keys.index(path[-1])) if is_ours(found.value) else None
    groups = [group for item in found.items if (group := item.member(GROUPED)) is not None and group.kind == "list"]
    for holder in (found, *groups):
        for number, item in enumerate(holder.items):
            if is_ours(item.value):
                return holder, number
    return None


def remove_if_empty(text: str, path: tuple[str, ...], shortest: int, *, comments: bool) -> str:
    """The text without the containers along `path`, at least `shortest` keys down, that hold nothing."""
    for length in range(len(path), max(shortest, 1) - 1, -1):
        root = parse(text, comments=comments)
        found, parent = root.at(path[:length]), root.at(path[: length - 1])
        if found is None or parent is None or found.kind == "scalar" or found.items:
            continue
        if text[found.start + 1 : found.end - 1].strip():
            continue  # a comment of somebody's
        text = _without(text, parent, parent.keys.index(path[length - 1]))
    return text


# ------------------------------------------------------------------------------------------------ putting in


def _nested(path: tuple[str, ...], entry: Entry) -> Any:
    value = [entry.value] if entry.how == APPEND else entry.value
    for key in reversed(path):
        value = {key: value}
    return value


def _added(text: str, root: Node, parent: Node, key: str | None, value: Any) -> tuple[int, str]:
    """Where a member goes and what it looks like: behind the last one, on a line of its own if that one is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text, root)
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if parent.items:
        indent = _indent(text, parent.begins(len(parent.items) - 1))
        at = parent.items[-1].end
        if indent is None:
            return at, f", {label}{json.dumps(value, ensure_ascii=False)}"
        return at, f",{newline}{indent}{label}{_layout(value, indent, unit, newline)}"
    outer = _line_indent(text, parent.start)
    inside = text[parent.start + 1 : parent.end - 1]
    at = parent.start + 1
    if "\n" not in text.strip("\ufeff \t\r\n") and parent is not root:
        return at, f"{label}{json.dumps(value, ensure_ascii=False)}"
    indent = outer + unit
    ending = "" if "\n" in inside else f"{newline}{outer}"
    return at, f"{newline}{indent}{label}{_layout(value, indent, unit, newline)}{ending}"


def _layout(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)


def _unit(text: str, root: Node) -> str:
    """One level of indentation, as the outermost members have it."""
    found = _indent(text, root.begins(0)) if root.items else None
    return found or "  "


def _indent(text: str, start: int) -> str | None:
    """What stands before a member on its line; `None` if it does not begin the line."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return before if "\n" in text[:start] and not before.strip(" \t") else None


def _line_indent(text: str, start: int) -> str:
    line = text[text.rfind("\n", 0, start) + 1 :].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


# ------------------------------------------------------------------------------------------------ taking out


def _without(text: str, parent: Node, number: int) -> str:
    """The text without one member and one comma. Comments beside it stay."""
    start, end = parent.begins(number), parent.items[number].end
    if len(parent.items) == 1:
        inside_start = parent.start + 1
        before, after = text[inside_start:start], text[end : parent.end - 1]
        if not before.strip() and not after.strip(" \t\r\n,"):
            return text[:inside_start] + text[parent.end - 1 :]
        comma = end + _comma(after)
        return text[:start] + text[end:comma] + text[comma + 1 if comma < parent.end - 1 else comma :]
    if number > 0:
        gap_start = parent.items[number - 1].end
        gap = text[gap_start:start]
        if not gap.strip(" \t\r\n,"):
            return text[:gap_start] + text[end:]
        comma = gap_start + _comma(gap)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    gap = text[end : parent.begins(1)]
    if not gap.strip(" \t\r\n,"):
        return text[:start] + text[parent.begins(1) :]
    comma = end + _comma(gap)
    return text[:start] + text[end:comma] + text[comma + 1 :]


def _comma(gap: str) -> int:
    """Where the comma is behind a member, comments passed over; at the end where there is none."""
    at = 0
    while at < len(gap):
        if gap.startswith("//", at):
            at = gap.find("\n", at)
        elif gap.startswith("/*", at):
            at = gap.find("*/", at) + 1
        elif gap[at] == ",":
            return at
        at += 1
    return at
