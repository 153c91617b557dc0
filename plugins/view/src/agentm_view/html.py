"""HTML from Python: every text is escaped unless it is `Html` already, so a note cannot become markup by accident.

What a reader could not see is spelled out: control characters, and those that turn the direction of a text round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Child = object
"""`Html`, text, a number, `None` (nothing), or several of them."""

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_VOID = frozenset({"input", "meta", "link", "br", "hr", "col"})


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def visible(text: str) -> str:
    """`text` with the characters that nobody sees spelled out."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def escape(text: object) -> Html:
    """`text` to be read by a person."""
    return Html(visible(str(text)).translate(_ESCAPES))


def exact(text: str) -> Html:
    """`text` to be given back as it is: for fields of forms. A line feed at the beginning would be lost."""
    return Html(text.translate(_ESCAPES))


def join(*children: Child) -> Html:
    """Everything in `children`, one after the other."""
    return Html("".join(_pieces(children)))


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str | int | float):
            yield escape(child)
        elif isinstance(child, Iterable):
            yield from _pieces(child)
        else:
            raise TypeError(f"{type(child).__name__} cannot be shown")


def tag(element: str, /, *children: Child, **attributes: str | bool | int | None) -> Html:
    """An element. `class_` is `class`, `data_key` is `data-key`; `True` is an attribute without a value."""
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{shown}>")
    return Html(f"<{element}{shown}>{join(*children)}</{element}>")


def _attribute(key: str, value: str | bool | int | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{exact(str(value))}"'
