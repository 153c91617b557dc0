"""Strict JSON, and the small tables of it that this device keeps.

`json` is not imported: it pulls in `re`, a fifth of what a hook may cost. The C scanner that it is built on is called
directly. Whenever that does not give a clean answer, `json` is imported after all and asked to say what is wrong and
where: a failing hook may take that time.
"""

from __future__ import annotations

import os
import sys

from agentm_kernel import errors
from agentm_kernel.files import read_small_file, status_if_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from agentm_kernel.errors import AgentmError

try:
    from _json import make_scanner
except ImportError:  # not CPython
    make_scanner = None  # type: ignore[assignment, misc]
if hasattr(sys, "gettotalrefcount"):  # a debug build aborts where the 3.11 scanner forgets to set its exception
    make_scanner = None  # type: ignore[assignment, misc]

MAX_DEPTH = 100
MAX_DIGITS = 1000
_TABLE_LIMIT = 10_000_000
_BLANKS = " \t\n\r"


def parse(data: str | bytes) -> object:
    """The value that a text, or its UTF-8, spells; `MalformedJson` for anything that is not exactly one value.

    Refused beyond the grammar: a key given twice in one object, `NaN` and infinities, numbers beyond reason,
    nesting deeper than `MAX_DEPTH`. Other encodings are named rather than guessed at.
    """
    text = data if isinstance(data, str) else _decoded(data)
    if text.startswith("\ufeff"):
        raise errors.MalformedJson("it starts with a byte order mark")
    body = text.strip(_BLANKS)
    if not body:
        raise errors.MalformedJson("it is empty")
    value = _scan(body, text)
    # No deeper than it has brackets: most texts need no walk.
    if body.count("[") + body.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise errors.MalformedJson(f"it is nested more than {MAX_DEPTH} levels deep")
    return value


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise errors.MalformedJson("it is UTF-16 or UTF-32, not UTF-8")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise errors.MalformedJson(f"it is not UTF-8: byte {error.start} is {data[error.start]:#04x}") from None


def parse_object(data: str | bytes) -> dict[str, Any]:
    """`parse` of what has to be an object."""
    value = parse(data)
    if not isinstance(value, dict):
        raise errors.MalformedJson("it is not an object in braces")
    return value


def dump(document: Mapping[str, object] | Sequence[object]) -> str:
    """The text of a document, as people can read and compare it."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def encoded(document: Mapping[str, object] | Sequence[object]) -> bytes:
    """`dump` for a file. Half a surrogate pair, as paths may hold, is escaped the way JSON does, and comes back."""
    return dump(document).encode("utf-8", "backslashreplace")


def _scan(body: str, text: str) -> object:
    try:
        value, end = (None, -1) if _scanner is None else _scanner(body, 0)
        if end == len(body):
            return value
    except errors.MalformedJson:
        raise
    except (ValueError, StopIteration, RecursionError, SystemError):
        pass  # each version of the scanner fails in its own way; below, one way for all
    import json

    try:
        return json.loads(text, **_BUILDERS)
    except json.JSONDecodeError as error:
        raise errors.MalformedJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise errors.MalformedJson(f"it is nested more than {MAX_DEPTH} levels deep") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        left = dict(found)
        repeated = next(name for name, _ in pairs if left.pop(name, pairs) is pairs)
        raise errors.MalformedJson(f"the key {repeated!r} is given twice")
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise errors.MalformedJson(f"an integer has {len(digits):,} digits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise errors.MalformedJson(f"the number {digits[:40]} is too large")
    return number


def _constant(name: str) -> float:
    raise errors.MalformedJson(f"{name} is not a JSON value")


_BUILDERS: dict[str, Any] = {
    "object_pairs_hook": _object,
    "parse_int": _integer,
    "parse_float": _float,
    "parse_constant": _constant,
}
"""How each kind of value is built, by the names that `json` and its scanner have for it."""

_Rules = type("_Rules", (), {"strict": True, "object_hook": None, "array_hook": None, **_BUILDERS})
_scanner = None if make_scanner is None else make_scanner(_Rules)  # type: ignore[arg-type]


def _depth(value: object) -> int:
    """Levels of nesting, counted without recursion: the text decides how deep it goes, not our stack."""
    level = 0
    inside = [value]
    while containers := [item for item in inside if isinstance(item, (dict, list))]:
        level += 1
        inside = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
    return level


class JsonTable:
    """A small table that this device keeps: one object in one file, replaced as a whole under a lock.

    `fits` says whether a value can stand in it; `refuse` makes the error of its path and what is wrong.
    """

    __slots__ = ("fits", "path", "refuse")

    def __init__(self, path: str, fits: Callable[[object], bool], refuse: Callable[[str, str], AgentmError]) -> None:
        self.path, self.fits, self.refuse = path, fits, refuse

    def read(self) -> dict[str, Any]:
        """What it says, nothing where there is no such file; one that cannot be relied on is refused."""
        try:
            if status_if_any(self.path) is None:
                return {}
            found = parse_object(read_small_file(self.path, _TABLE_LIMIT))
        except OSError as error:
            raise self.refuse(self.path, str(error.strerror)) from error
        except errors.MalformedJson as error:
            raise self.refuse(self.path, str(error)) from error
        if not all(map(self.fits, found.values())):
            raise self.refuse(self.path, "it holds what does not belong there")
        return found

    def change(self, changes: Mapping[str, object]) -> None:
        """Give these keys these values, and take out those whose value is `None`; all others stay."""
        from agentm_kernel.files.atomic import atomic_write

        with locked_folder(os.path.dirname(self.path)):
            changed = {**self.read(), **changes}
            kept = {key: value for key, value in sorted(changed.items()) if value is not None}
            atomic_write(self.path, encoded(kept))


def locked_folder(folder: str) -> AbstractContextManager[object]:
    """The lock of a folder in which this device keeps something; made if it is missing, which may raise already."""
    from agentm_kernel.files.mutex import store_mutex
    from agentm_kernel.files.tree import make_private_folder

    try:
        make_private_folder(folder)
    except OSError as error:
        raise errors.StorageIOError(
            f"cannot write {folder}: {error.strerror}",
            hint="this device keeps there what it has to remember; make it writable",
            errno=error.errno,
        ) from error
    return store_mutex(folder)
