"""Any text as a segment of a key: other programs name things freely, a store cannot.

Lower-case letters, digits, `-` and `_` stand for themselves, everything else is a percent sign and two digits for
each byte. So names that differ in case only stay apart where a file system would not keep them apart, and what no
file may be called is spelled otherwise. A name that is too long for that is known by its hash.
"""

from __future__ import annotations

from urllib.parse import unquote

from agentm_kernel.plugin import InvalidLocatorError, content_hash

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_")
_LONGEST = 150
HASHED = "%%"
"""How a name begins that cannot be read from its segment."""
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(10))}
)


def segment_of(name: str) -> str:
    """The segment for `name`, one for each."""
    try:
        data = name.encode()
    except UnicodeEncodeError:
        raise InvalidLocatorError(f"{name!r} is not valid Unicode") from None
    if not data:
        raise InvalidLocatorError("a name has at least one character")
    plain = _PLAIN if name not in _DEVICES else frozenset[int]()
    segment = "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in data)
    return segment if len(segment) <= _LONGEST else HASHED + content_hash(name)


def name_of(segment: str) -> str:
    """The name that `segment_of` was given, unless it was too long."""
    return unquote(segment, errors="strict")
