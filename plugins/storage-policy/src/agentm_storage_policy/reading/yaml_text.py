"""YAML as plain values with positions, within bounds.

ruamel.yaml's pure parser supplies the events; what a scalar means is decided here, by the core schema of YAML 1.2:
`on` and `no` are text, a date is text, only `true` and `false` (and their capitals) are booleans. Everything that
could make a small document large, slow or ambiguous is an error with a position: depth, number of nodes, long
numbers, keys given twice, aliases that grow, tags, a second document. Parsing stops there, so that a bad document
costs next to nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.scanner import Scanner, ScannerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ruamel.yaml.error import StreamMark
    from ruamel.yaml.events import Event

MAX_DEPTH = 32
MAX_NODES = 1_500
"""A policy has some dozens. Counted as if every alias were written out."""
MAX_DIGITS = 18
"""What fits 64 bits whatever the digits are."""

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"

Path = tuple[str | int, ...]


class Mark(NamedTuple):
    """A position, counted from 1 as editors do."""

    line: int
    column: int


class UnreadableYaml(Exception):
    """Why the text cannot be read, and where. The reason repeats no value."""

    def __init__(self, reason: str, mark: Mark) -> None:
        super().__init__(reason)
        self.reason = reason
        self.mark = mark


class YamlDocument:
    """A value and where its parts stand."""

    def __init__(self) -> None:
        self.value: object = None
        self.keys: dict[Path, Mark] = {}
        """The marks of keys, by the path that the key makes."""
        self.values: dict[Path, Mark] = {}

    def mark_of(self, path: Path, *, key: bool = False) -> Mark:
        """Where the value (or its key) stands; what has no place of its own stands where its surroundings do."""
        marks = self.keys if key else self.values
        while path and path not in marks:
            path, marks = path[:-1], self.values
        return marks.get(path, Mark(1, 1))


def read_yaml(text: str, *, first_line: int = 1) -> YamlDocument:
    """The one document of `text`; `first_line` is where it begins in its file."""
    reader = _Reader(text, first_line)
    try:
        return reader.read()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableYaml(_reason(error), reader.mark(mark)) from None
    except YAMLError as error:
        before = text[: getattr(error, "position", 0)]
        mark = Mark(first_line + before.count("\n"), len(before) - before.rfind("\n"))
        raise UnreadableYaml("a character that YAML does not allow", mark) from None


def _reason(error: MarkedYAMLError) -> str:
    """The parser's own words; they name tokens and single characters, never what stands in the document."""
    return " ".join(str(part) for part in (error.context, error.problem) if part) or "not valid YAML"


class _BoundedScanner(Scanner):
    """The scanner reads ahead, and its work for each open bracket grows with their number: it has to stop first."""

    def fetch_flow_collection_start(self, *arguments: Any, **options: Any) -> None:
        if len(self.flow_context) >= MAX_DEPTH:
            raise ScannerError(None, None, _TOO_DEEP, self.reader.get_mark())
        super().fetch_flow_collection_start(*arguments, **options)


class _Reader:
    def __init__(self, text: str, first_line: int) -> None:
        parser = YAML(typ="safe", pure=True)
        parser.Scanner = _BoundedScanner
        self._events: Iterator[Event] = parser.parse(text)
        self._first_line = first_line
        self._document = YamlDocument()
        self._anchors: dict[str, tuple[object, int]] = {}
        self._nodes = 0

    def read(self) -> YamlDocument:
        event = self._next()
        while not isinstance(event, (DocumentStartEvent, StreamEndEvent)):
            event = self._next()
        if isinstance(event, StreamEndEvent):
            return self._document
        if event.version is not None and tuple(event.version) < (1, 2):
            raise self._error("documents are read as YAML 1.2, and this one asks for an older version", event)
        self._document.value = self._node(self._next(), (), 1)
        self._next()  # the end of the document
        after = self._next()
        if not isinstance(after, StreamEndEvent):
            raise self._error("a second document begins here", after)
        return self._document

    def mark(self, mark: StreamMark | None) -> Mark:
        return Mark(self._first_line + mark.line, mark.column + 1) if mark else Mark(self._first_line, 1)

    # -- nodes ----------------------------------------------------------------------------------------------

    def _node(self, event: Event, path: Path, depth: int) -> object:
        self._count(1, event)
        self._document.values[path] = self.mark(event.start_mark)
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if getattr(event, "tag", None) is not None:
            raise self._error("tags are not understood", event)
        before = self._nodes
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
        elif depth > MAX_DEPTH:
            raise self._error(_TOO_DEEP, event)
        elif isinstance(event, MappingStartEvent):
            value = self._mapping(path, depth)
        else:
            assert isinstance(event, SequenceStartEvent)
            value = self._sequence(path, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._nodes - before + 1
        return value

    def _mapping(self, path: Path, depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key = self._key(event)
            if key in found:
                raise self._error("this key is given twice", event)
            inner = (*path, key)
            at = self._document.keys[inner] = self.mark(event.start_mark)
            found[key] = self._node(self._next(), inner, depth + 1)
            if found[key] is None:
                self._document.values[inner] = at  # what is empty has no place of its own
        return found

    def _key(self, event: Event) -> str:
        self._count(1, event)
        value = self._scalar(event) if isinstance(event, ScalarEvent) and event.tag is None else None
        if not isinstance(value, str):
            raise self._error("a key has to be text: put it in quotes", event)
        return value

    def _sequence(self, path: Path, depth: int) -> list[object]:
        found: list[object] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            found.append(self._node(event, (*path, len(found)), depth + 1))
        return found

    def _alias(self, event: AliasEvent) -> object:
        if event.anchor not in self._anchors:
            raise self._error("an alias of nothing that was written before it", event)
        value, weight = self._anchors[event.anchor]
        self._count(weight, event)
        return value

    def _scalar(self, event: ScalarEvent) -> object:
        if event.style is not None:
            return event.value
        try:
            return resolve(event.value)
        except ValueError as error:
            raise self._error(str(error), event) from None

    # -- bounds ---------------------------------------------------------------------------------------------

    def _next(self) -> Event:
        return next(self._events)

    def _count(self, nodes: int, event: Event) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise self._error(f"more than {MAX_NODES:,} values, with aliases written out", event)

    def _error(self, reason: str, event: Event) -> UnreadableYaml:
        return UnreadableYaml(reason, self.mark(event.start_mark))


# ------------------------------------------------------------------------------------------------ plain scalars

_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def resolve(text: str) -> object:
    """What a plain scalar means in the core schema; `ValueError` says why it may not stand."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(_bounded(text))
    if other := _OTHER_BASE.fullmatch(text):
        octal, hexadecimal = other.groups()
        return int(_bounded(octal), 8) if octal else int(_bounded(hexadecimal), 16)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError("a number has to be finite")
    if _FLOAT.fullmatch(text):
        return _finite(float(_bounded(text)))
    return text


def _bounded(digits: str) -> str:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS} digits")
    return digits


def _finite(number: float) -> float:
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number has to be finite")
    return number
