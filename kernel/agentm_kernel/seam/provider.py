"""The contract of group `agentm.providers`: the stores that a storage policy (AIP-35) can name.

An entry point of the group is called by the provider id and leads to an opener:

    def open(config, credentials, context) -> StorageBackend

`config` is the policy's block for this provider, checked; `credentials` a read-only mapping from the names of
environment variables to their values, each looked up, checked and recorded at the moment it is asked for, so a
provider asks late and keeps nothing; `context` is a `ProviderContext`. Opening creates nothing and does not use the
network.

What a store can do beyond the verbs, its facets tell: a `WorkingCopy` has an origin elsewhere (mode `pull-push`), a
`WatchedStore` is changed by other programs too (mode `watch`). A store that has neither is `canonical`.
"""

from __future__ import annotations

from agentm_kernel.seam import Frozen, Opening

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state import Device

    Opener = Callable[[Mapping[str, Any], Mapping[str, str], "ProviderContext"], StorageBackend]


class SyncRules(Frozen):
    """What of a policy's `sync` block is the provider's to follow; when to do it is decided by the caller."""

    mode: str  # `canonical`, `pull-push` or `watch`
    conflict_policy: str = "abort"
    branch_policy: str = "main"
    pr_policy: str = "none"


class ProviderContext(Frozen):
    """What a provider is told about the policy and the process that open it."""

    device: Device
    opening: Opening
    name: str  # the policy's id, or where its document lies: for messages
    rules: SyncRules
    is_excluded: Callable[[str], bool]
    """Whether a key is kept out of what is mirrored. A store that syncs obeys; a canonical one may ignore it."""


class Author(Frozen):
    """Somebody whose name a commit carries. The first of several is the author, the others are co-authors."""

    name: str
    email: str
    role: str = "author"

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


class SyncTrigger(Frozen):
    """Why a store is pulled, committed or pushed now: the event, and where in the agent's life it happened."""

    event: str
    conversation: str | None = None
    turn: str | None = None
    operator: str | None = None


class SyncOutcome(Frozen):
    """What a pull, commit or push did. To have found nothing to do is an outcome, not an error."""

    changed: bool
    ref: str | None = None  # what is there now, as the origin calls it: a commit, a version
    url: str | None = None  # where people can look at it: a pull request
    note: str | None = None  # a line for the operator


class Change(Frozen):
    """Something that another program did to a note."""

    locator: Locator
    event: str  # `write` or `delete`, the words of AIP-37
