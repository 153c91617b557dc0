"""Reading front matter with the YAML library. Imported only for blocks that are not plain `key: value` lines.

The library is asked for its syntax tree and for nothing more: no object is built from the text, so neither tags nor
aliases that multiply without end can do harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

    from agentm_recall.front_matter import Fields


_DEEPEST = 50


class NotYaml(Exception):
    """The text is not a YAML mapping; the message says where it stops being one."""


def compose(yaml: str) -> MappingNode | None:
    """The syntax tree of a front matter, `None` for an empty one."""
    if _depth(yaml) > _DEEPEST:
        raise NotYaml("it is nested too deeply")
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(yaml)
    except MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 2}: " if error.problem_mark else ""  # +1 for the `---` above
        raise NotYaml(f"{line}{error.problem or error.context}") from None
    except YAMLError as error:
        raise NotYaml(" ".join(str(error).split())[:120]) from None
    except RecursionError:
        raise NotYaml("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise NotYaml(str(error)) from None
    if node is not None and not isinstance(node, MappingNode):
        raise NotYaml("it is not a list of `key: value` fields")
    return node


def _depth(yaml: str) -> int:
    """How many brackets are open at once, quoted ones included; the library takes seconds over thousands."""
    depth = deepest = 0
    for character in yaml:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def library_fields(yaml: str) -> tuple[Fields, str | None]:
    """What `front_matter.read_fields` answers, for any block."""
    try:
        tree = compose(yaml)
    except NotYaml as error:
        return {}, f"its front matter is not YAML: {error}"
    fields: Fields = {}
    problem = None
    for key, value in tree.value if tree else ():
        if not isinstance(key, ScalarNode):
            continue
        if key.value in fields:
            problem = f"its front matter has the key '{key.value}' twice; the last one counts"
        read = _value_of(value)
        if read is not None:
            fields[key.value] = read
    return fields, problem


def _value_of(node: Node) -> str | list[str] | None:
    if isinstance(node, ScalarNode):
        return str(node.value)
    if isinstance(node, SequenceNode):
        return [str(item.value) for item in node.value if isinstance(item, ScalarNode)]
    return None
