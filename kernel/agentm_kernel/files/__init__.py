"""The write floor: confined directories, the store mutex, atomic replacement, and `FileStore` over the three.

Small files outside of stores: the configuration, records of this device, markers of a checkout.

Hooks read them, so nothing is waited for: a FIFO or a device in the place of a file is an error at once.
"""

from __future__ import annotations

import errno
import os
import stat

_CHUNK = 4096
NOT_WAITING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened of which nobody knows whether it is one."""


def read_small_file(path: str, limit: int) -> bytes:
    """The bytes of a file, a link to one will do.

    What is no regular file, or has more than `limit` bytes, is an `OSError` too: `EINVAL`, `EFBIG`.
    """
    descriptor = os.open(path, NOT_WAITING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        chunks = []
        room = limit + 1
        wanted, is_whole = max(status.st_size + 1, _CHUNK), False
        while room > 0 and not is_whole and (chunk := os.read(descriptor, min(room, wanted))):
            chunks.append(chunk)
            room -= len(chunk)
            # Hundreds of these files are read at a time: one call less for each that is as long as it says.
            is_whole = len(chunk) < wanted and limit + 1 - room >= status.st_size
    finally:
        os.close(descriptor)
    if room <= 0:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes")
    return b"".join(chunks)
