"""Standard streams, byte for byte, and JSON answers: all that fast commands need of a command line."""

from __future__ import annotations

import sys

from agentm_kernel.errors import AgentmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA = 1
"""The shape of every JSON answer; a change that readers would notice gets the next number."""


def read_text(path: str) -> str:
    """The text of `path`, or of standard input for `-`, byte for byte."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode()
        with open(path, "rb") as file:
            return file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise AgentmError(
            f"cannot read {path}: {error}", hint="give a file with UTF-8 text, or - for standard input"
        ) from error


def json_text(**fields: Any) -> str:
    """One JSON object, with the number of its shape first."""
    from json import dumps

    return dumps({"schema": SCHEMA, **fields}, indent=2, ensure_ascii=False) + "\n"


_ON_SCREEN = frozenset("\n\t\u00a0\u3000\u200c\u200d")
"""Kept although Python does not call it printable: line ends, wide spaces, and what joins letters and emoji."""


def shown(text: str, *, err: bool = False) -> str:
    r"""`text` of a note, or a file's name, for standard output, or for standard error with `err`.

    A terminal obeys what it is sent: a note could write the clipboard, retitle the window or hide a line. So on a
    terminal every control character is spelled out (`\x1b`). A pipe or a file gets the text as it is.
    """
    stream = sys.stderr if err else sys.stdout
    if text.isprintable() or not stream.isatty():
        return text
    return "".join(c if c.isprintable() or c in _ON_SCREEN else ascii(c)[1:-1] for c in text)


def show_text(text: str) -> None:
    """`write_text` for what notes and files say: only a terminal, which would obey them, gets control characters
    spelled out.
    """
    write_text(shown(text))


def write_text(text: str) -> None:
    """Print `text` as UTF-8 bytes, as it is: a locale that cannot express a path must not change it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
