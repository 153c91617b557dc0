"""Read, change, write on condition, again if somebody was faster: the way to edit without losing an update."""

from __future__ import annotations

import os
import time

from agentm_kernel.errors import ConcurrentModificationError, NotFoundError
from agentm_kernel.seam.backend import ABSENT, Appends, StorageBackend
from agentm_kernel.seam.content import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.locator import Locator

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


def update(
    backend: StorageBackend, locator: Locator, fn: Callable[[str | None], str], *, timeout: float = 30.0
) -> Locator:
    """Replace the note at `locator` by `fn` of its text, `None` if there is none, without losing anyone's edit.

    `fn` may run several times and should do nothing but compute. Text that it returns unchanged is not written.
    Gives up with `ConcurrentModificationError` when others kept winning for `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        current = read_or_none(backend, locator)
        wanted = fn(current)
        if wanted == current:
            return locator
        try:
            return backend.write(locator, wanted, if_match=ABSENT if current is None else content_hash(current))
        except ConcurrentModificationError:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause * os.urandom(1)[0] / 255)  # of any length up to it, or the losers of a race meet again
        pause = min(pause * 2, _LONGEST_PAUSE)


def append(backend: StorageBackend, locator: Locator, text: str) -> Locator:
    """Add `text` to the end of a note, on a line of its own: in place where the store can, else by `update`."""
    appends = backend.facet(Appends)
    if appends is not None:
        return appends.append(locator, text)

    def joined(current: str | None) -> str:
        separator = "\n" if current and not current.endswith("\n") else ""
        return f"{current or ''}{separator}{text}"

    return update(backend, locator, joined)


def read_or_none(backend: StorageBackend, locator: Locator) -> str | None:
    """The text stored at `locator`, `None` if there is no such note."""
    try:
        return backend.read(locator)
    except NotFoundError:
        return None
