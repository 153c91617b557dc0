"""Strict JSON, without importing `json`: that module pulls in `re`, a fifth of what a hook may cost.

The C scanner that `json` itself is built on is called directly. Whenever it does not give a clean answer, `json` is
imported after all and asked to say what is wrong and where: a failing hook may take that time.
"""

from __future__ import annotations

import sys

try:
    from _json import make_scanner
except ImportError:  # not CPython
    make_scanner = None  # type: ignore[assignment, misc]
if hasattr(sys, "gettotalrefcount"):  # a debug build aborts where the 3.11 scanner forgets to set its exception
    make_scanner = None  # type: ignore[assignment, misc]

MAX_DEPTH = 100
MAX_DIGITS = 1000
_BLANKS = " \t\n\r"


class MalformedJson(ValueError):
    """The text is not JSON, or is JSON that two readers could understand differently. Says what is wrong."""


def parse(text: str) -> object:
    """The value that `text` spells; `MalformedJson` for anything that is not exactly one value.

    Refused beyond the grammar: a key given twice in one object, `NaN` and infinities, numbers beyond reason,
    nesting deeper than `MAX_DEPTH`.
    """
    if text.startswith("\ufeff"):
        raise MalformedJson("it starts with a byte order mark")
    body = text.strip(_BLANKS)
    if not body:
        raise MalformedJson("it is empty")
    value = _scan(body, text)
    # No deeper than it has brackets: most texts need no walk.
    if body.count("[") + body.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise MalformedJson(f"it is nested more than {MAX_DEPTH} levels deep")
    return value


def parse_bytes(data: bytes) -> object:
    """`parse` of UTF-8; other encodings are named rather than guessed at."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise MalformedJson("it is UTF-16 or UTF-32, not UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise MalformedJson(f"it is not UTF-8: byte {error.start} is {data[error.start]:#04x}") from None
    return parse(text)


# ------------------------------------------------------------------------------------------------ scanning


def _scan(body: str, text: str) -> object:
    if _scanner is not None:
        try:
            value, end = _scanner(body, 0)
            if end == len(body):
                return value
        except MalformedJson:
            raise
        except (ValueError, StopIteration, RecursionError, SystemError):
            pass  # each version of the scanner fails in its own way; below, one way for all
    return _scan_and_explain(text)


def _scan_and_explain(text: str) -> object:
    import json

    try:
        return json.loads(
            text,
            object_pairs_hook=_Rules.object_pairs_hook,
            parse_float=_Rules.parse_float,
            parse_int=_Rules.parse_int,
            parse_constant=_Rules.parse_constant,
        )
    except json.JSONDecodeError as error:
        raise MalformedJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise MalformedJson(f"it is nested more than {MAX_DEPTH} levels deep") from None


class _Rules:
    """What the scanner asks for by attribute: how each kind of value is built."""

    strict = True
    object_hook = None
    array_hook = None

    @staticmethod
    def object_pairs_hook(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise MalformedJson(f"the key {_first_repeated(pairs)!r} is given twice")
        return found

    @staticmethod
    def parse_int(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise MalformedJson(f"an integer has {len(digits):,} digits")
        return int(digits)

    @staticmethod
    def parse_float(digits: str) -> float:
        number = float(digits)
        if number in (float("inf"), float("-inf")):
            raise MalformedJson(f"the number {digits[:40]} is too large")
        return number

    @staticmethod
    def parse_constant(name: str) -> float:
        raise MalformedJson(f"{name} is not a JSON value")


_scanner = None if make_scanner is None else make_scanner(_Rules)  # type: ignore[arg-type]


def _first_repeated(pairs: list[tuple[str, object]]) -> str | None:
    seen = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return None


def _depth(value: object) -> int:
    """Levels of nesting, counted without recursion: the text decides how deep it goes, not our stack."""
    level = 0
    inside = [value]
    while containers := [item for item in inside if isinstance(item, (dict, list))]:
        level += 1
        inside = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    return level
