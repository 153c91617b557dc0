"""Looking at small files, and saying what was seen: an answer can be given again while nothing of that has changed.

Whoever looks at a file on the way to an answer says so here, in one line, together with what was seen. While somebody
gathers evidence for an answer (`gathering`), this is kept; otherwise it costs next to nothing. Errors are never
evidence: what fails is looked at again by whoever asks.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from agentm_kernel.files.gathering import Evidence

    Place = TypeVar("Place")
    Answer = TypeVar("Answer")

Signature = tuple[int, int, int, int, int]
_SETTLED_AFTER_NS = 2_000_000_000  # the coarsest clock of a file system in use
_CHUNK = 4096
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class _Current(_local):
    evidence: Evidence | None = None


current = _Current()
"""Of each thread: what one thread looks at is no evidence for another's answer."""


def read_small_file(path: str, limit: int) -> tuple[bytes, Signature | None]:
    """The bytes of a file, a link to one will do, and its `settled_signature`. Hooks do this: nobody is waited for.

    What is no regular file, or has more than `limit` bytes, is an `OSError` too: `EINVAL`, `EFBIG`.
    """
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        trusted = settled_signature(status)
        chunks = []
        room = limit + 1
        while room > 0 and (chunk := os.read(descriptor, min(room, max(status.st_size + 1, _CHUNK)))):
            chunks.append(chunk)
            room -= len(chunk)
    finally:
        os.close(descriptor)
    if room <= 0:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes")
    return b"".join(chunks), trusted


def observe(look: Callable[[Place], Answer], place: Place) -> Answer:
    """`look(place)`, remembered as evidence. Looking again must be cheap."""
    answer = look(place)
    if current.evidence is not None:
        current.evidence.saw(look, place, answer)
    return answer


def saw_file(path: str, trusted: Signature | None, content: object, read: Callable[[str], object] | None) -> None:
    """A file was read. `trusted` is the `settled_signature` it had before; without one, `read` compares contents."""
    if current.evidence is not None:
        current.evidence.saw_file(path, trusted, content, read)


def saw_nothing(path: str) -> None:
    """There was nothing at `path`, not even a link that leads nowhere."""
    if current.evidence is not None:
        current.evidence.saw_nothing(path)


def saw_process() -> None:
    """The environment and the search path had a say."""
    if current.evidence is not None:
        current.evidence.saw_process()


def saw_more() -> None:
    """Something had a say that cannot be looked at again cheaply: the answer is not to be kept."""
    if current.evidence is not None:
        current.evidence.is_complete = False


def signature_of(status: os.stat_result) -> Signature:
    """What of a file's status changes with its content."""
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def settled_signature(status: os.stat_result) -> Signature | None:
    """The signature, if any later change of the content must show in it.

    A file system's clock ticks slowly: two changes within one tick can look alike. Until the tick is over for
    certain, only the bytes can tell.
    """
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_AFTER_NS:
        return signature_of(status)
    return None
