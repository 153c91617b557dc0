"""Numbers and other people's text in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def visible(text: str) -> str:
    """Text of a note or a file name for a terminal: control characters are shown, and never sent to it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
