"""The same for TOML: a table of ours at the end of the text, or through tomlkit where that does not fit."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from agentm_hosts.files.json_edit import Unfit
from agentm_hosts.place import SET

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_hosts.files.json_edit import Insertion
    from agentm_hosts.place import Entry

_MARK = "\ufeff"


def parse_toml(text: str) -> dict[str, Any]:
    """The document; `tomllib.TOMLDecodeError` for anything else."""
    return tomllib.loads(_plain(text))


def _plain(text: str) -> str:
    return text.removeprefix(_MARK).replace("\r\n", "\n")


def insert(text: str, entry: Entry) -> tuple[str, Insertion | None, tuple[str, ...]]:
    """As `json_edit.insert`, for a table of values."""
    if entry.how != SET:
        raise Unfit("the adapter wants to add to a list, which it can in JSON only")
    before = parse_toml(text)
    there = _at(before, entry.path)
    if there == entry.value:
        return text, None, ()
    if there is not None:
        raise Unfit(f"{'.'.join(entry.path)} has another value")
    wanted = _with(before, entry.path, entry.value)
    for propose in (_appended, _edited):
        try:
            at, added, taken = propose(text, entry)
            after = text[:at] + added + text[at + len(taken) :]
            if parse_toml(after) == wanted:
                made = entry.path[:-1] if _at(before, entry.path[:-1]) is None else ()
                return after, (at, added, taken), made
        except (tomllib.TOMLDecodeError, TOMLKitError, ValueError, TypeError, NotImplementedError):  # by its version
            continue
    raise Unfit(f"{'.'.join(entry.path[:-1])} cannot take another entry")


def remove(
    text: str, path: tuple[str, ...], is_ours: Callable[[Any], bool], made: tuple[str, ...] = ()
) -> tuple[str, int]:
    """The text without the table at `path` if it is ours, and without the one around it if we made that."""
    before = parse_toml(text)
    there = _at(before, path)
    if there is None or not is_ours(there):
        return text, 0
    mark = _MARK if text.startswith(_MARK) else ""
    document = tomlkit.parse(text.removeprefix(_MARK))
    parents: list[Any] = [document]
    for key in path[:-1]:
        parents.append(parents[-1][key])
    comments, rest = _behind(text, parents[-1][path[-1]])
    del parents[-1][path[-1]]
    for depth in range(len(path) - 1, 0, -1):
        if made[:depth] == path[:depth] and not parents[depth].unwrap():
            del parents[depth - 1][path[depth - 1]]
    after = mark + tomlkit.dumps(document)
    if comments and after.endswith(rest):
        after = after.removesuffix(rest) + comments + rest
    wanted = _with(before, path, None)
    if _pruned(parse_toml(after)) != _pruned(wanted):
        raise Unfit(f"{'.'.join(path)} cannot be taken out")
    return after, 1


def _behind(text: str, table: Any) -> tuple[str, str]:
    """The comments behind the last value of a table, which speak of what follows, and the text after them."""
    body = table.as_string() if isinstance(table, tomlkit.items.Table) else ""
    comments = ""
    for key, item in reversed(table.value.body if body else ()):
        if key is not None:
            break
        comments = item.as_string() + comments
    if "#" not in comments or text.count(body) != 1:
        return "", ""
    return comments, text.partition(body)[2]


def _appended(text: str, entry: Entry) -> Insertion:
    newline = "\r\n" if "\r\n" in text else "\n"
    document = tomlkit.document()
    inner: Any = document
    for key in entry.path[:-1]:
        inner[key] = tomlkit.table(is_super_table=True)
        inner = inner[key]
    inner[entry.path[-1]] = tomlkit.item(entry.value)
    block = tomlkit.dumps(document).replace("\n", newline)
    plain = text.removeprefix(_MARK)
    gap = "" if not plain else newline if plain.endswith("\n") else newline * 2
    return len(text), gap + block, ""


def _edited(text: str, entry: Entry) -> Insertion:
    mark = _MARK if text.startswith(_MARK) else ""
    document = tomlkit.parse(text.removeprefix(_MARK))
    inner: Any = document
    for key in entry.path[:-1]:
        inner = inner[key]
    table = tomlkit.inline_table()
    table.update(entry.value)
    inner[entry.path[-1]] = table
    after = mark + tomlkit.dumps(document)
    at = next((n for n, (one, other) in enumerate(zip(text, after, strict=False)) if one != other), len(text))
    same = 0
    while same < min(len(text), len(after)) - at and text[-1 - same] == after[-1 - same]:
        same += 1
    return at, after[at : len(after) - same], text[at : len(text) - same]


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _with(document: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy with `value` at the path; without what is there, for `None`."""
    first, *rest = path
    inside = document.get(first, {})
    if rest:
        return {**document, first: _with(inside if isinstance(inside, dict) else {}, tuple(rest), value)}
    kept = {key: other for key, other in document.items() if key != first}
    return kept if value is None else {**kept, first: value}


def _pruned(value: Any) -> Any:
    """Without empty tables: whether one is written down makes no difference."""
    if not isinstance(value, dict):
        return value
    inside = {key: _pruned(inner) for key, inner in value.items()}
    return {key: inner for key, inner in inside.items() if inner != {}}
