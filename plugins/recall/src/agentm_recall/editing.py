"""Changing fields of a note's front matter, and not one other byte.

What cannot be edited this way is refused: the note belongs to whoever wrote it.
"""

from __future__ import annotations

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.front_matter import find_block
from agentm_recall.rendering import rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_recall.rendering import Value

_BOM = "\ufeff"


def with_fields(key: str, text: str, changes: Mapping[str, Value]) -> str:
    """`text` of the note at `key` with these fields set; `InvalidContentError` if that would touch anything else."""
    block = find_block(text)
    if block is None:
        return _with_new_block(key, text, changes)
    from agentm_recall.block_editing import NotEditable, edit_block

    try:
        edited = edit_block(text[block.start : block.end], changes, _newline(text))
    except NotEditable as why:
        raise _refusal(key, str(why)) from None
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
    lines = ["---", *(f"{key}: {rendered(value)}" for key, value in changes.items()), "---", ""]
    bom = _BOM if text.startswith(_BOM) else ""
    return bom + newline.join(lines) + text.removeprefix(_BOM)


def _refusal(key: str, why: str) -> InvalidContentError:
    return InvalidContentError(
        f"'{key}' is not edited: {why}", hint="edit the front matter by hand; nothing was written"
    )
