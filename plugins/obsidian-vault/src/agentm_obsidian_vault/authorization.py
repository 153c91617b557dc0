"""The operator's permission for one write to the personal space. Only the command that asks makes one.

The store is the agent's. What lies in the personal space is not, so no verb of the seam reaches it, and there is no
flag on `write` that would: it is a facet of its own, and takes one of these.
"""

from __future__ import annotations

import time

from agentm_kernel.plugin import AuthorizationError, content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from agentm_kernel.plugin import Locator

LIFETIME = 120.0
"""Seconds between the operator's answer and the write. Long enough for a slow disk, too short to be put by."""


class Authorization:
    """The operator's permission for one write: this locator, this content, once, and soon.

    Only the command that asks the operator makes one (an architecture test sees to it).
    """

    __slots__ = ("_digest", "_expires", "_locator", "_unused")

    def __init__(self, locator: Locator, content: str, *, lifetime: float = LIFETIME) -> None:
        self._locator = locator
        self._digest = content_hash(content)
        self._expires = time.monotonic() + lifetime
        self._unused = [True]

    def use(self, locator: Locator, content: str) -> None:
        """Spend the permission, or raise `AuthorizationError`. It is spent even if the write then fails."""
        if locator != self._locator or content_hash(content) != self._digest:
            raise _refusal(locator, "the permission is for another note or another text")
        try:
            self._unused.pop()  # one step, so of two threads one gets it
        except IndexError:
            raise _refusal(locator, "the permission has been used") from None
        if time.monotonic() > self._expires:
            raise _refusal(locator, "the permission has expired")

    def __reduce__(self) -> NoReturn:
        raise TypeError("an Authorization is one permission: it cannot be copied or pickled")


def _refusal(locator: Locator, why: str) -> AuthorizationError:
    return AuthorizationError(
        f"'{locator}' was not written to the personal space: {why}",
        hint="run `agentm personal write` and answer its question yourself",
    )
