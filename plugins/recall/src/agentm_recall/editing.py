"""Changing fields of a note's front matter, and not one other byte.

The YAML library says where in the text a value begins and ends; only that is replaced. The result is parsed again
before anybody sees it. What cannot be edited this way is refused: the note belongs to whoever wrote it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruamel.yaml.nodes import ScalarNode, SequenceNode

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.front_matter import find_block
from agentm_recall.yaml_fields import NotYaml, compose, library_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ruamel.yaml.nodes import MappingNode, Node

    Value = str | Sequence[str]

_BOM = "\ufeff"


def new_text(fields: Mapping[str, Value], body: str) -> str:
    """A new note: front matter, an empty line, the body."""
    head = "".join(f"{key}: {_rendered(value)}\n" for key, value in fields.items())
    return f"---\n{head}---\n\n{body}"


def with_fields(key: str, text: str, changes: Mapping[str, Value]) -> str:
    """`text` of the note at `key` with these fields set; `InvalidContentError` if that would touch anything else."""
    block = find_block(text)
    if block is None:
        return _with_new_block(key, text, changes)
    edited = _edit(key, text[block.start : block.end], changes, _newline(text))
    return text[: block.start] + edited + text[block.end :]


def with_body(text: str, body: str) -> str:
    """`text` with another body below the same front matter."""
    block = find_block(text)
    return f"{text[: block.body]}{_newline(text)}{body}" if block else body


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _with_new_block(key: str, text: str, changes: Mapping[str, Value]) -> str:
    if text.removeprefix(_BOM).startswith("---"):
        raise _refusal(key, "it begins with front matter that does not end")
    newline = _newline(text)
    lines = ["---", *(f"{key}: {_rendered(value)}" for key, value in changes.items()), "---", ""]
    bom = _BOM if text.startswith(_BOM) else ""
    return bom + newline.join(lines) + text.removeprefix(_BOM)


def _edit(key: str, yaml: str, changes: Mapping[str, Value], newline: str) -> str:
    try:
        tree = compose(yaml)
    except NotYaml as error:
        raise _refusal(key, f"its front matter is not YAML: {error}") from None
    if tree is not None and tree.flow_style:
        raise _refusal(key, "its front matter is written in braces")
    values = _values(key, tree, changes)
    edited = yaml
    for name, node in sorted(values.items(), key=lambda pair: pair[1].start_mark.index, reverse=True):
        start, end, rendered = _replacement(key, edited, name, node, changes[name], newline)
        edited = edited[:start] + rendered + edited[end:]
    if edited and not edited.endswith("\n"):
        edited += newline
    edited += "".join(f"{name}: {_rendered(value)}{newline}" for name, value in changes.items() if name not in values)
    _check(key, yaml, edited, changes)
    return edited


def _values(key: str, tree: MappingNode | None, changes: Mapping[str, Value]) -> dict[str, Node]:
    """The nodes of the values that are to be replaced."""
    values: dict[str, Node] = {}
    for name, value in tree.value if tree else ():
        if not isinstance(name, ScalarNode) or name.value not in changes:
            continue
        if name.value in values:
            raise _refusal(key, f"its front matter has the key '{name.value}' twice")
        if not isinstance(value, ScalarNode | SequenceNode) or value.anchor is not None:
            raise _refusal(key, f"the value of '{name.value}' in its front matter is not a plain one")
        values[name.value] = value
    return values


def _replacement(key: str, yaml: str, name: str, node: Node, value: Value, newline: str) -> tuple[int, int, str]:
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # no value yet: its place is behind the colon
        colon = yaml.rfind(":", 0, start)
        return colon + 1, colon + 1, f" {_rendered(value)}"
    old = yaml[start:end]
    if isinstance(node, SequenceNode) and not node.flow_style and not isinstance(value, str) and value:
        indent = " " * node.start_mark.column
        rendered = f"{newline}{indent}".join(f"- {_rendered(item)}" for item in value)
    else:
        rendered = _rendered(value, quote=node.style if isinstance(node, ScalarNode) else None)
        if isinstance(node, SequenceNode) and not node.flow_style:
            raise _refusal(key, f"'{name}' in its front matter is a list over several lines")
    trailing = old[len(old.rstrip()) :]
    return start, end, rendered + trailing


def _check(key: str, before: str, after: str, changes: Mapping[str, Value]) -> None:
    """Parse what came out: the fields that were meant have changed, and the others have not."""
    old, _ = library_fields(before)
    new, problem = library_fields(after)
    wanted = {**old, **{name: value if isinstance(value, str) else list(value) for name, value in changes.items()}}
    if problem or new != wanted:
        raise _refusal(key, "its front matter cannot be changed without changing more than was asked for")


def _refusal(key: str, why: str) -> InvalidContentError:
    return InvalidContentError(
        f"'{key}' is not edited: {why}", hint="edit the front matter by hand; nothing was written"
    )


# ------------------------------------------------------------------------------------------------ rendering


def _rendered(value: Value, *, quote: str | None = None) -> str:
    if isinstance(value, str):
        return _scalar(value, quote)
    return f"[{', '.join(_scalar(item, None, in_list=True) for item in value)}]"


def _scalar(text: str, quote: str | None, *, in_list: bool = False) -> str:
    """As plain as it can be: a value that YAML would read as something else than this very text is quoted."""
    if quote == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    if quote is None or quote not in ('"', "'"):
        line = f"x: [{text}]\n" if in_list else f"x: {text}\n"
        wanted = [text] if in_list else text
        if text and text == text.strip() and library_fields(line) == ({"x": wanted}, None) and is_text(text):
            return text
    import json

    return json.dumps(text, ensure_ascii=False)


def is_text(text: str) -> bool:
    """Whether other tools read it as a string too, and not as a truth value or nothing."""
    return text.lower() not in ("true", "false", "yes", "no", "on", "off", "null", "y", "n", "~")
