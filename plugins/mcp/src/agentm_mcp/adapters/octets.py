"""Bytes in a store of text: what is UTF-8 is kept as it is, anything else as a `data:` URI, which is text.

Notes (`.md`) are text and nothing else, so they are never looked into, and bytes that are not text are refused there.
"""

from __future__ import annotations

from base64 import b64decode, b64encode

from agentm_kernel.plugin import InvalidContentError

PREFIX = "data:application/octet-stream;base64,"


def text_of(path: str, data: bytes) -> str:
    """The text to store for `data`; `bytes_of` gives the same bytes back."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if _is_note(path):
            raise InvalidContentError(
                f"'{path}' would not be UTF-8 text ({error.reason} at byte {error.start}), and a note is text",
                hint="give the file another name than *.md, or decode it first",
            ) from None
    else:
        if _is_note(path) or not text.startswith(PREFIX):
            return text
    return PREFIX + b64encode(data).decode()


def bytes_of(path: str, text: str) -> bytes:
    """What was stored as `text`."""
    if not _is_note(path) and text.startswith(PREFIX):
        try:
            return b64decode(text[len(PREFIX) :], validate=True)
        except ValueError:
            pass  # somebody else's text that happens to begin like this
    return text.encode()


def may_be_octets(path: str, size: int) -> bool:
    """Whether a file of this size has to be read before it is known how many bytes it stands for."""
    return size >= len(PREFIX) and not _is_note(path)


def _is_note(path: str) -> bool:
    return path.endswith(".md")
