"""Notes that prove that they are whole."""

from __future__ import annotations

from hashlib import sha256


class Torn(Exception):
    """This is not what anybody wrote."""


def seal(body: str) -> str:
    return f"{sha256(body.encode()).hexdigest()}\n{body}"


def unseal(note: str) -> str:
    """The body of a note that is whole."""
    expected, _, body = note.partition("\n")
    if sha256(body.encode()).hexdigest() != expected:
        raise Torn(f"{len(note)} characters that begin with {note[:30]!r}")
    return body


def numbered(number: int, size: int) -> str:
    """A sealed note of about `size` characters that holds `number`."""
    return seal(f"{number}\n" + f"a line of the note with number {number}\n" * (size // 40))


def number_in(note: str) -> int:
    return int(unseal(note).partition("\n")[0])
