"""The facets of stores that are synced, watched, under a policy, encrypted, or keep their history; hooks seldom ask.

What a facet is, and those that hooks ask every store for: `backend`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentm_kernel.seam import Frozen
from agentm_kernel.seam.backend import AT_HAND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event

    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.provider import Author, Change, SyncOutcome, SyncTrigger


class Transfer(Frozen):
    """What bringing a copy and its store together did."""

    fetched: int = 0
    sent: int = 0
    conflicts: tuple[str, ...] = ()  # the keys of versions that were kept beside the file they lost to


class WorkingCopy(ABC):
    """The store is a working copy of an origin elsewhere.

    Diverged histories are settled by `SyncRules.conflict_policy`; where that forbids it, `StorageConflictError`.
    Excluded keys are in no commit and in no push. Failures of the medium or the network are a `StorageIOError`.
    """

    @abstractmethod
    def has_changes(self) -> bool:
        """Whether there is anything to commit. Such a tree is never pulled over."""

    @abstractmethod
    def pull(self, trigger: SyncTrigger) -> SyncOutcome:
        """Bring in what the origin has; called only while `has_changes()` is false."""

    @abstractmethod
    def commit(self, message: str, authors: Sequence[Author], trigger: SyncTrigger) -> SyncOutcome:
        """Record what was written as one step."""

    @abstractmethod
    def push(self, trigger: SyncTrigger) -> SyncOutcome:
        """Send to the origin what was committed."""

    def operator(self) -> Author | None:
        """Who works here, where the store's own tool has been told: the author where a policy names none."""
        return None


class WatchedStore(ABC):
    """The store is a folder of this device that other programs write to as well."""

    @abstractmethod
    def scan(self) -> list[Change]:
        """What others changed since this device last looked, and have it looked. The first look finds nothing."""

    @abstractmethod
    def watch(self, stop: Event | None = None) -> Iterator[list[Change]]:
        """Wait for changes of others and hand them over as they come, until `stop` is set."""


class Rules(ABC):
    """A policy says what may be done to the store."""

    @property
    @abstractmethod
    def read_only(self) -> bool:
        """Whether the policy allows no change at all."""

    @abstractmethod
    def require(self, action: str, locator: Locator | None = None) -> None:
        """Raise unless `action`, such as `storage:push`, is granted."""


class Unguarded(ABC):
    """Some notes are under a guard that refuses to read them once they are not what is known to be good."""

    @property
    @abstractmethod
    def unguarded(self) -> StorageBackend:
        """The store beneath the guard, to look at: a checkpoint records what is there, good or not."""


class Sealed(ABC):
    """The store holds its notes encrypted, and its verbs open them."""

    @property
    @abstractmethod
    def as_stored(self) -> StorageBackend:
        """The store beneath the encryption, to look at: a copy of it keeps what is hidden hidden."""

    @abstractmethod
    def open_text(self, locator: Locator, text: str) -> str:
        """What a text says that was stored at `locator` once, however old; one that is not this store's raises."""

    @abstractmethod
    def seal_derived(self, data: bytes) -> bytes:
        """What was made of the notes, an index for one, for this device to keep: no other can open it."""

    @abstractmethod
    def open_derived(self, data: bytes) -> bytes:
        """The same again, without asking the store; `IntegrityError` if it is damaged or another device's."""


class Version(Frozen):
    """A note as it was at some time."""

    id: str  # what `read_version` takes; opaque
    time: float  # seconds since the epoch
    author: str = ""
    what: str = "written"  # `written`, `changed` or `deleted`
    size: int = 0


class History(ABC):
    """The store keeps the earlier versions of a note."""

    @abstractmethod
    def versions(self, locator: Locator) -> list[Version]:
        """Every version of a note that is known, the latest first; `[]` for a note that has none."""

    @abstractmethod
    def read_version(self, locator: Locator, version_id: str) -> str:
        """The text of one version; one that is not known, or that deleted the note: `NotFoundError`."""


class ConflictCopy(Frozen):
    """A version of a note that is not the note, and waits for somebody to settle it."""

    note: Locator
    copy: Locator  # what `read_copy` takes. A store may hide it from its verbs
    origin: str  # who made it: the name of a sync tool, or `agentm`
    size: int
    mtime: float


FACETS = (*AT_HAND, History, Rules, Unguarded, Sealed, WorkingCopy, WatchedStore)
"""Every facet that the kernel knows: for tests of layers, and for a layer that really has no say in any of them."""
