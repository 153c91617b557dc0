"""The receipt of a text: by it, the text is found in the transcript, whole or cut."""

from __future__ import annotations

import sys

try:  # `hashlib` brings OpenSSL, which costs a hook more than the rest of it
    if sys.version_info >= (3, 12):
        from _sha2 import sha256  # type: ignore[import-not-found]
    else:
        from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha256

_DIGITS = 10
_OPENING = "[agentm "
_last: tuple[str | None, str] = None, ""
"""The last text and its receipt: an answer's is asked for twice, by its envelope and by the ledger."""


def receipt_of(text: str) -> str:
    """Equal texts have equal receipts: a host that resumes a session then keeps one copy, not two."""
    global _last
    known, receipt = _last
    if known is not text:
        receipt = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        _last = text, receipt
    return receipt


def stamped(text: str) -> str:
    """`text` with its receipt as the first line."""
    return f"{_OPENING}{receipt_of(text)}]\n{text}"


def found_in(context: str) -> list[tuple[str, str]]:
    """Every receipt in a context, with what follows it."""
    found = []
    at = context.find(_OPENING)
    while at >= 0:
        start = at + len(_OPENING)
        receipt = context[start : start + _DIGITS]
        if len(receipt) == _DIGITS and context[start + _DIGITS : start + _DIGITS + 2] == "]\n":
            found.append((receipt, context[start + _DIGITS + 2 :]))
        at = context.find(_OPENING, start)
    return found


def is_whole(receipt: str, following: str, length: int) -> bool:
    """Whether the text of that length is all there."""
    return len(following) >= length and receipt_of(following[:length]) == receipt
