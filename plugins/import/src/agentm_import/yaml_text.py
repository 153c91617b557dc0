"""Front matter of other tools as plain values: mappings, lists and texts.

The YAML library is asked for its syntax tree only: no object is built from the text, so tags cannot make one, and a
limit on size and depth keeps aliases and brackets from multiplying.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ruamel.yaml.nodes import Node

_LONGEST = 16_384
_DEEPEST = 30
_PLAIN_LINE = re.compile(
    r"([A-Za-z_][A-Za-z0-9_-]{0,60}): {1,4}([A-Za-z0-9](?:[A-Za-z0-9 ._/,()+-]|:(?! |$)){0,400})"
)
_MOST_NODES = 5_000


class NotYaml(Exception):
    """The text is not a YAML mapping of sane size."""


def split(text: str) -> tuple[str | None, str, int]:
    """The front matter without its `---` lines (`None` without one), the body, and the line on which that begins."""
    start = 1 if text.startswith("\ufeff") else 0
    first, newline, rest = text[start:].partition("\n")
    if first.rstrip() != "---" or not newline:
        return None, text[start:], 1
    position = 0
    for number, line in enumerate(_lines(rest)):
        if line.rstrip() in ("---", "..."):
            return rest[:position], rest[position + len(line) :], number + 3
        position += len(line)
        if position > _LONGEST:
            break
    return None, text[start:], 1


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def mapping(yaml: str) -> dict[str, Any]:
    """The fields of a front matter; every scalar is its text."""
    quick = _quick(yaml)
    if quick is not None:
        return quick
    if len(yaml) > _LONGEST or max(yaml.count(bracket) for bracket in "[{") > 500:
        raise NotYaml("it is too large")
    try:
        node = YAML(typ="safe", pure=True).compose(yaml)
    except (YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise NotYaml(" ".join(str(error).split())[:120]) from None
    if node is None:
        return {}
    if not isinstance(node, MappingNode):
        raise NotYaml("it is not a list of `key: value` fields")
    budget = [_MOST_NODES]
    return dict(_pairs(node, 0, budget))


def _quick(yaml: str) -> dict[str, Any] | None:
    """The fields of a block of plain `key: value` lines, without the library, which takes milliseconds."""
    fields: dict[str, Any] = {}
    for line in yaml.splitlines():
        match = _PLAIN_LINE.fullmatch(line.rstrip())
        if match is None:
            return None
        fields[match.group(1)] = match.group(2)
    return fields


def _pairs(node: MappingNode, depth: int, budget: list[int]) -> Iterator[tuple[str, Any]]:
    for key, value in node.value:
        if isinstance(key, ScalarNode):
            yield str(key.value), _plain(value, depth + 1, budget)


def _plain(node: Node, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if depth > _DEEPEST or budget[0] < 0:
        raise NotYaml("it is nested too deeply")
    if isinstance(node, MappingNode):
        return dict(_pairs(node, depth, budget))
    if isinstance(node, SequenceNode):
        return [_plain(item, depth + 1, budget) for item in node.value]
    return str(node.value)


def one_text(value: object) -> str:
    """A field as one line of text; nothing for a list or a mapping."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """A field as several: a list, or words with commas between them."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    plain = (one_text(item).lstrip("#") for item in items)
    return tuple(dict.fromkeys(item for item in plain if item))
