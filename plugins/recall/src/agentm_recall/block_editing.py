"""Changing values in a block of YAML where they stand.

The YAML library says where in the text a value begins and ends; only that is replaced. The result is parsed again
before anybody sees it. Imported only when a note that has front matter is edited: the library takes long to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruamel.yaml.nodes import ScalarNode, SequenceNode

from agentm_recall.rendering import rendered
from agentm_recall.yaml_fields import NotYaml, compose, library_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ruamel.yaml.nodes import MappingNode, Node

    from agentm_recall.rendering import Value


class NotEditable(Exception):
    """Why the block cannot be changed without changing more than was asked for."""


def edit_block(yaml: str, changes: Mapping[str, Value], newline: str) -> str:
    """The lines between the dashes with these fields set."""
    try:
        tree = compose(yaml)
    except NotYaml as error:
        raise NotEditable(f"its front matter is not YAML: {error}") from None
    if tree is not None and tree.flow_style:
        raise NotEditable("its front matter is written in braces")
    values = _values(tree, changes)
    edited = yaml
    for name, node in sorted(values.items(), key=lambda pair: pair[1].start_mark.index, reverse=True):
        start, end, new = _replacement(edited, name, node, changes[name], newline)
        edited = edited[:start] + new + edited[end:]
    if edited and not edited.endswith("\n"):
        edited += newline
    edited += "".join(f"{name}: {rendered(value)}{newline}" for name, value in changes.items() if name not in values)
    _check(yaml, edited, changes)
    return edited


def _values(tree: MappingNode | None, changes: Mapping[str, Value]) -> dict[str, Node]:
    """The nodes of the values that are to be replaced."""
    values: dict[str, Node] = {}
    for name, value in tree.value if tree else ():
        if not isinstance(name, ScalarNode) or name.value not in changes:
            continue
        if name.value in values:
            raise NotEditable(f"its front matter has the key '{name.value}' twice")
        if not isinstance(value, ScalarNode | SequenceNode) or value.anchor is not None:
            raise NotEditable(f"the value of '{name.value}' in its front matter is not a plain one")
        values[name.value] = value
    return values


def _replacement(yaml: str, name: str, node: Node, value: Value, newline: str) -> tuple[int, int, str]:
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # no value yet: its place is behind the colon
        colon = yaml.rfind(":", 0, start)
        return colon + 1, colon + 1, f" {rendered(value)}"
    old = yaml[start:end]
    if isinstance(node, SequenceNode) and not node.flow_style and not isinstance(value, str) and value:
        indent = " " * node.start_mark.column
        text = f"{newline}{indent}".join(f"- {rendered(item)}" for item in value)
    else:
        text = rendered(value, quote=node.style if isinstance(node, ScalarNode) else None)
        if isinstance(node, SequenceNode) and not node.flow_style:
            raise NotEditable(f"'{name}' in its front matter is a list over several lines")
    trailing = old[len(old.rstrip()) :]
    return start, end, text + trailing


def _check(before: str, after: str, changes: Mapping[str, Value]) -> None:
    """Parse what came out: the fields that were meant have changed, and the others have not."""
    old, _ = library_fields(before)
    new, problem = library_fields(after)
    wanted = {**old, **{name: value if isinstance(value, str) else list(value) for name, value in changes.items()}}
    if problem or new != wanted:
        raise NotEditable("its front matter cannot be changed without changing more than was asked for")
