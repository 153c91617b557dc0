"""Files that only save time. They are not synced: one that a power cut takes, or tears, is made again.

Each begins with a checksum, so that a torn one is noticed; beyond that, what is in them is believed.
"""

from __future__ import annotations

import os
from zlib import crc32

from agentm_checkpoint.directories import make_folder

_CHECKSUM_BYTES = 4
_SEED = 0x61676D  # so that no checksum is that of an empty file, or of one full of zeros


def load_cache(path: str) -> bytes | None:
    """What was saved there; `None` if that is lost."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    content = data[_CHECKSUM_BYTES:]
    return content if _checksum(content) == data[:_CHECKSUM_BYTES] else None


def save_cache(path: str, content: bytes) -> None:
    """Keep `content` in the place of what was there, for whoever comes next. If that fails, it costs them time."""
    temp = f"{path}.{os.urandom(8).hex()}.new"
    try:
        make_folder(os.path.dirname(path))
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_checksum(content))
            file.write(content)
        os.replace(temp, path)
    except OSError:
        try:
            os.unlink(temp)
        except OSError:
            pass  # it was never made, or the disk takes nothing at all


def _checksum(content: bytes) -> bytes:
    """Of a megabyte in a fifth of a millisecond: these files are checked at every checkpoint."""
    return crc32(content, _SEED).to_bytes(_CHECKSUM_BYTES, "little")
