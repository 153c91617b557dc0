"""Read, change, write on condition, again if somebody was faster: the way to edit without losing an update."""

from __future__ import annotations

import time

from agentm_kernel.errors import ConcurrentModificationError, NotFoundError
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import StorageBackend
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
        import random  # only losers of a race pay for it

        time.sleep(random.uniform(0, pause))
        pause = min(pause * 2, _LONGEST_PAUSE)


def read_or_none(backend: StorageBackend, locator: Locator) -> str | None:
    """The text stored at `locator`, `None` if there is no such note."""
    try:
        return backend.read(locator)
    except NotFoundError:
        return None
