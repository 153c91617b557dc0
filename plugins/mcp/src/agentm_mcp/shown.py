"""Text as a model is given it: nothing in it that a person who looks at the same text would not see.

What hides in controls, marks of direction, tags and selectors is an instruction to the model alone. Joiners shape the
letters of many scripts and put emoji together; beside plain letters they do neither.
"""

from __future__ import annotations

_JOINERS = "\u200c\u200d"
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that count as printable, and print nothing."""
_LINE_ENDS = "\n\x0b\x0c\x85\u2028\u2029"


def shown(text: str) -> str:
    """`text` without what nobody sees; spaces of any width are one space, line ends of any kind one line feed."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join([_shown(text, at, character) for at, character in enumerate(text)])


def _shown(text: str, at: int, character: str) -> str:
    if character in _LINE_ENDS:
        return "\n"
    if character in _JOINERS:
        beside = text[at - 1 : at] + text[at + 1 : at + 2]
        return character if len(beside) == 2 and not any(map(_is_plain, beside)) else ""
    if character.isspace():
        return "\t" if character == "\t" else " "
    return character if character.isprintable() and not _is_unseen(character) else ""


def _is_plain(character: str) -> bool:
    """Whether a joiner beside it joins nothing."""
    return character.isascii() or not character.isprintable() or _is_unseen(character)


def _is_unseen(character: str) -> bool:
    is_selector = "\u180b" <= character <= "\u180f" or "\ufe00" <= character <= "\ufe0f"
    return is_selector or character in _FILLERS or "\U000e0000" <= character <= "\U000e0fff"
