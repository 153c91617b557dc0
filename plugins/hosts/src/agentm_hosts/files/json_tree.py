"""JSON with positions: where each value of a text begins and ends, so that it can be edited and the rest stays.

Comments and commas before a closing bracket are read where the program that owns the file reads them too (JSONC).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 200
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class NotJson(ValueError):
    """What is wrong with the text, and where."""


@dataclass
class Node:
    """One value: an object has `keys` beside its `items`, a list only `items`, anything else neither."""

    start: int
    end: int
    kind: str
    keys: list[str] = field(default_factory=list)
    key_starts: list[int] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    scalar: Any = None

    @property
    def value(self) -> Any:
        if self.kind == "object":
            return {key: item.value for key, item in zip(self.keys, self.items, strict=True)}
        if self.kind == "list":
            return [item.value for item in self.items]
        return self.scalar

    def member(self, key: str) -> Node | None:
        return self.items[self.keys.index(key)] if self.kind == "object" and key in self.keys else None

    def at(self, path: tuple[str, ...]) -> Node | None:
        """The value below this one that the keys lead to."""
        node: Node | None = self
        for key in path:
            node = node.member(key) if node is not None else None
        return node

    def begins(self, number: int) -> int:
        """Where a member begins: an object's with its key."""
        return self.key_starts[number] if self.kind == "object" else self.items[number].start


def parse(text: str, *, comments: bool) -> Node:
    """The value that a text holds, with positions; `NotJson` for anything else. A byte order mark is passed over."""
    return _Reader(text, comments).document()


class _Reader:
    def __init__(self, text: str, comments: bool) -> None:
        self._text, self._comments = text, comments
        self._at = 1 if text.startswith("\ufeff") else 0
        self._depth = 0

    def document(self) -> Node:
        self._skip()
        node = self._value()
        self._skip()
        if self._at != len(self._text):
            raise self._wrong("something follows the value")
        return node

    def _skip(self) -> None:
        while True:
            blank = _BLANK.match(self._text, self._at)
            self._at = blank.end() if blank else self._at
            comment = _COMMENT.match(self._text, self._at)
            if comment is None:
                return
            if not self._comments:
                raise self._wrong("there is a comment")
            self._at = comment.end()

    def _value(self) -> Node:
        start = self._at
        opening = self._text[start : start + 1]
        if opening in ("{", "["):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise self._wrong("it is nested too deep")
            node = self._container(start, "object" if opening == "{" else "list")
            self._depth -= 1
            return node
        found = (_STRING if opening == '"' else _SCALAR).match(self._text, start)
        if not found:
            raise self._wrong("a value was expected")
        self._at = found.end()
        return Node(start, self._at, "scalar", scalar=json.loads(found.group()))

    def _container(self, start: int, kind: str) -> Node:
        node = Node(start, start, kind)
        closing = "}" if kind == "object" else "]"
        self._at += 1
        self._skip()
        while self._text[self._at : self._at + 1] != closing:
            if kind == "object":
                self._key(node)
            node.items.append(self._value())
            self._skip()
            if self._text[self._at : self._at + 1] == ",":
                self._at += 1
                self._skip()
                if self._text[self._at : self._at + 1] == closing and not self._comments:
                    raise self._wrong("there is a comma before a closing bracket")
            elif self._text[self._at : self._at + 1] != closing:
                raise self._wrong(f"a comma or {closing} was expected")
        self._at += 1
        node.end = self._at
        return node

    def _key(self, node: Node) -> None:
        found = _STRING.match(self._text, self._at)
        if not found:
            raise self._wrong("a key in quotes was expected")
        key = json.loads(found.group())
        if key in node.keys:
            raise self._wrong(f"the key {key!r} is given twice")
        node.keys.append(key)
        node.key_starts.append(self._at)
        self._at = found.end()
        self._skip()
        if self._text[self._at : self._at + 1] != ":":
            raise self._wrong("a colon was expected")
        self._at += 1
        self._skip()

    def _wrong(self, what: str) -> NotJson:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        return NotJson(f"line {line}, column {column}: {what}")
