"""What only some stores can do, each as a small type of its own.

Nobody asks what class a store is: `backend.facet(DeviceFiles)` gives an object that can do it, or `None`. A backend
answers with itself for each type that it inherits, or with a companion object. A layer lets through only the types in
its `passes`, and wraps them where its rule has a say (`wrap_facet`). What a layer does not name is `None`, so a facet
that is added later never slips past a rule that does not know it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.provider import Author, Change, SyncOutcome, SyncTrigger


class DeviceFiles(ABC):
    """The store's tree, or a copy of what hooks need of it, is files on this device. Only state routing may ask."""

    @abstractmethod
    def device_path(self, locator: Locator) -> str:
        """The absolute path of `locator` on this device, whether or not anything is there yet."""


class Transfer(Frozen):
    """What bringing a copy and its store together did."""

    fetched: int = 0
    sent: int = 0
    conflicts: tuple[str, ...] = ()  # the keys of versions that were kept beside the file they lost to


class DeviceCopy(ABC):
    """The store lies elsewhere, and a copy of its `_harness/` trees is on this device: hooks read that copy.

    `through` is the selected store, with its layers: what is fetched and sent passes their rules.
    """

    @abstractmethod
    def pull(self, through: StorageBackend) -> Transfer:
        """Bring the copy up to date."""

    @abstractmethod
    def push(self, through: StorageBackend) -> Transfer:
        """Send what changed in the copy to the store, and bring the copy up to date."""

    @abstractmethod
    def copy_age(self) -> float | None:
        """Seconds since the copy was last known to be current; `None` if it never was."""

    def forget_store(self) -> None:  # noqa: B027 - a copy that carries no mark has nothing to forget
        """The operator has said that another store may take the place of the one that this is a copy of."""


class PersonalSpace(ABC):
    """The operator's own notes, beside the store: no verb reaches them, and a write takes the operator's word."""

    @abstractmethod
    def personal_path(self, locator: Locator) -> str:
        """Where `locator` lies in the personal space, in words that the operator is asked with."""

    @abstractmethod
    def write_personal(
        self, locator: Locator, content: str, *, authorization: object, if_match: str | Absent | None = None
    ) -> Locator:
        """`write` in the personal space, under the same rules; leaves a line in the store that says so.

        `authorization` is what the operator's answer made, a type of the plugin that asks. Anything else is an
        `AuthorizationError`.
        """


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


class ConflictCopies(ABC):
    """The store may hold conflict copies of notes."""

    @abstractmethod
    def conflict_copies(self, below: Locator) -> list[ConflictCopy]:
        """Those of the note at `below`, or of every note below it; sorted by note."""

    @abstractmethod
    def read_copy(self, copy: Locator) -> str:
        """The text of a conflict copy; anything else, or nothing there: `NotFoundError`."""


class Appends(ABC):
    """The store can add to the end of a note without replacing it. Elsewhere, that is what `update` does."""

    @abstractmethod
    def append(self, locator: Locator, text: str) -> Locator:
        """Add `text` to the end of a note, on a line of its own; a note that is not there yet becomes `text`."""


class Identity(ABC):
    """The store is known on this device by the mark that it carries."""

    store_id: str | None = None
    """What the mark said when the store was opened; `None` for one that had none then."""

    @abstractmethod
    def confirm(self) -> None:
        """Raise `StoreIdentityError` unless the store is still the one that this device knows there."""


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


FACETS = (
    *(DeviceFiles, DeviceCopy, PersonalSpace, History, ConflictCopies, Appends, Identity, Rules),
    *(Unguarded, Sealed, WorkingCopy, WatchedStore),
)
"""Every facet that the kernel knows: for tests of layers, and for a layer that really has no say in any of them."""
