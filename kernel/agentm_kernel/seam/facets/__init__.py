"""What only some stores can do, each as a small type of its own.

Nobody asks what class a store is: `backend.facet(DeviceFiles)` gives an object that can do it, or `None`. A backend
answers with itself for each type that it inherits, or with a companion object. A layer lets through only the types in
its `passes`, and wraps them where its rule has a say (`wrap_facet`). What a layer does not name is `None`, so a facet
that is added later never slips past a rule that does not know it.

Here are those that hooks ask every store for. The others are had from here too, and loaded when they are first used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.facets.managed import *
    from agentm_kernel.seam.locator import Locator


class DeviceFiles(ABC):
    """The store's tree, or a copy of what hooks need of it, is files on this device. Only state routing may ask."""

    @abstractmethod
    def device_path(self, locator: Locator) -> str:
        """The absolute path of `locator` on this device, whether or not anything is there yet."""


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

    store_id: str | None = None  # what the mark said when the store was opened; `None` for one that had none then

    @abstractmethod
    def confirm(self) -> None:
        """Raise `StoreIdentityError` unless the store is still the one that this device knows there."""


AT_HAND = (DeviceFiles, DeviceCopy, PersonalSpace, ConflictCopies, Appends, Identity)

if not TYPE_CHECKING:  # hidden from type checkers: for them, a misspelt name must stay an error

    def __getattr__(name: str) -> object:
        value: object = getattr(__import__(f"{__name__}.managed", fromlist=["managed"]), name)
        globals()[name] = value
        return value
