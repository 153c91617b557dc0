"""The contract of a backend: its verbs and their edge cases; layers around it; and the facets that hooks ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentm_kernel import errors
from agentm_kernel.seam import MAX_CONTENT_BYTES, Capabilities, Info, Opening
from agentm_kernel.seam.layout import STAMP_KEY
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, ClassVar, Final, Self, TypeVar

    from agentm_kernel.seam.facets import ConflictCopy, Transfer
    from agentm_kernel.seam.tier_layout import TierLayout
    from agentm_kernel.state import Device

    F = TypeVar("F")
    Verb = TypeVar("Verb", bound=Callable[..., Any])

API_VERSION = 1  # the version of this contract. A backend built for another one is refused before it is used.

SWAP_PROVIDER = "storage:swap-provider"
COMMIT = "storage:commit"
PUSH = "storage:push"
"""Actions that somebody has to be allowed beyond the verbs (`StorageBackend.check_allowed`): to take the notes to
another store, and to record and send what was written. The names are those of AIP-39.
"""


class Absent:
    """The type of `ABSENT`, the condition "nothing may be stored there yet"."""

    __slots__ = ()
    _instance: Absent | None = None

    def __new__(cls) -> Absent:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "ABSENT"

    __reduce__ = __repr__  # pickled and copied by that name


ABSENT: Final = Absent()

STAMP = Locator(STAMP_KEY)  # where a store carries its identity


class StorageBackend(ABC):
    """One kind of store. Verbs take and return locators and text, never file-system paths.

    For every verb: an operating-system or network failure is a `StorageIOError`, and what cannot be read is never
    reported as missing or empty.
    """

    api_version = API_VERSION
    self_stamping = False
    """Whether the first write may give an unmarked store its identity without being told to (see selection)."""
    size_limit = MAX_CONTENT_BYTES  # how many bytes a note may have
    own_wrappers: ClassVar[tuple[str, ...]] = ()
    """Layers that belong around this backend, outside of those that the configuration asks for."""
    scratch_options: ClassVar[Mapping[str, str]] = {}
    """Options that open a store in an empty folder, for `agentm plugins check`; `{scratch}` stands for the folder."""
    heavy_imports: ClassVar[tuple[str, ...]] = ()
    """Heavy modules that this backend cannot be imported without: declared, because every hook call pays for them."""

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        """Open the store that the configuration describes; `options` is its `plugins.<protocol>` table.

        Creates nothing and touches no network: the first write may, opening may not.
        """
        return cls(**options)

    @classmethod
    def found_options(cls, options: Mapping[str, Any], device: Device) -> Mapping[str, Any]:
        """Further options that the place itself tells, for `store add` to write down; none by default."""
        return {}

    def facet(self, kind: type[F]) -> F | None:
        """An object that can do what `kind`, a facet, describes for this store; `None` where the store cannot.

        A class that inherits the facet answers itself; one with a companion object overrides this.
        """
        # Not `isinstance`, which takes four times as long for an abstract class: hooks ask again and again.
        return self if kind in type(self).__mro__ else None  # type: ignore[return-value]

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this backend promises: constant for an instance, and cheap to ask for."""

    @abstractmethod
    def read(self, locator: Locator) -> str:
        """The text stored at `locator`, byte for byte (no newline is translated).

        Nothing there, a directory, or a place below a file: `NotFoundError`. Not UTF-8: `InvalidContentError`.
        """

    @abstractmethod
    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        """Store `content`, atomically and durably, and return the locator; directories above appear by themselves.

        `if_match` is the `content_hash` that must be stored now, or `ABSENT` for create-only; otherwise
        `ConcurrentModificationError` and nothing is written. The root, a directory, a place below a file, and a new
        key that differs from a stored one only in case are a `LocatorConflictError`.
        """

    @abstractmethod
    def list(self, locator: Locator) -> builtins.list[Locator]:
        """The immediate children, sorted by key; `[]` for an empty directory, a file, or nothing there."""

    @abstractmethod
    def exists(self, locator: Locator) -> bool:
        """Whether a file or a directory is there. The root always is."""

    @abstractmethod
    def info(self, locator: Locator) -> Info:
        """Metadata without reading the content; nothing there, or below a file: `NotFoundError`."""

    @abstractmethod
    def mkdir(self, locator: Locator) -> Locator:
        """Make sure that a directory is there; onto or below a file: `LocatorConflictError`."""

    def resolve(self, *parts: str) -> Locator:
        """The locator for `parts`; the root for none."""
        return Locator().child(*parts)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        """Remove one file. Only where `capabilities.delete`; nothing there: `NotFoundError`; a directory:
        `LocatorConflictError`.
        """
        raise errors.StorageError(
            f"this backend cannot delete '{locator}'", hint="its capabilities do not include delete"
        )

    def walk(self, locator: Locator) -> Iterator[Info]:
        """Everything below `locator`, parents before children, siblings by key; a file or nothing yields nothing.

        What vanishes while the walk runs is left out.
        """
        # Not by recursion: a key may have 500 parts, and a caller's stack has no room to promise for them.
        pending = self.list(locator)[::-1]
        while pending:
            child = pending.pop()
            try:
                info = self.info(child)
            except errors.NotFoundError:
                continue
            yield info
            if info.is_dir:
                pending += self.list(child)[::-1]

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        """What lies below `locator` and no key can express: for reports, so that nothing is passed over silently."""
        return iter(())

    def describe(self) -> str:
        """Where the store is, in words that an operator recognises; the same for every opening of one store."""
        return type(self).__name__

    def check_usable(self, *, read_only: bool) -> None:  # noqa: B027 - a store that is always usable says nothing
        """Raise `StorageSelectionError` if the store cannot be used as it is. Creates nothing, touches no network."""

    def check_reachable(self, seconds: float) -> None:  # noqa: B027 - files on this device are there or not
        """Raise if a store elsewhere does not answer within `seconds`, or not as it should.

        The only question about a store that may use the network without being a verb: `doctor` asks it, hooks never.
        """

    def check_allowed(self, action: str) -> None:  # noqa: B027 - without rules everything is allowed
        """Raise `AuthorizationError` or `StorageReadOnlyError` if the rules around this store forbid `action`.

        Asked before something that no verb shows: `SWAP_PROVIDER`, `COMMIT`, `PUSH`. Whoever asks does it next, so
        the answer may be recorded.
        """

    def make_place(self) -> None:  # noqa: B027 - a store that needs no place of its own has nothing to do
        """Make the place of a store that is gone, for bringing it back there. Selection never does."""

    def stamp_text(self) -> str | None:
        """The text of the store's identity stamp, `None` if it has none.

        A store elsewhere answers from its local copy: hooks ask this, and hooks do not wait for a network.
        """
        try:
            return self.read(STAMP)
        except errors.NotFoundError:
            return None

    @property
    def tier_layout(self) -> TierLayout:
        """Where source, shared abstracts and the local index belong."""
        from agentm_kernel.seam.tier_layout import TierLayout

        return TierLayout()


def passed_on(verb: Verb, first: Callable[[Any], object] | None = None) -> Verb:
    """A verb of a layer, or of a facet that it wraps, that asks the same of `inner`; `first` is called before."""
    name = verb.__name__

    def ask(self: Any, *given: object, **named: object) -> object:
        if first is not None:
            first(self)
        return getattr(self.inner, name)(*given, **named)

    ask.__name__ = name
    return ask  # type: ignore[return-value]


class BackendLayer(StorageBackend):
    """Every verb of `inner`; a subclass overrides the ones that its rule concerns."""

    passes: ClassVar[tuple[type, ...]] = ()
    """The facets of `inner` that this layer lets through. Any other is `None`, even if `inner` has it."""
    changes: ClassVar[tuple[str, ...]] = ()
    """The capabilities that it does not declare as `inner` does, such as `encryption`; the kit asks for the rest."""

    def __init__(self, inner: StorageBackend) -> None:
        self.inner = inner
        self.self_stamping = inner.self_stamping
        self.size_limit = min(self.size_limit, inner.size_limit)

    def facet(self, kind: type[F]) -> F | None:
        if kind in type(self).__mro__:
            return self  # type: ignore[return-value]
        found = self.inner.facet(kind) if self._lets_through(kind) else None
        return None if found is None else self.wrap_facet(kind, found)

    def _lets_through(self, kind: type) -> bool:
        return kind in self.passes

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        """What to hand out in the place of `found`, a facet of `inner`, where this layer's rule has a say in it."""
        return found

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def tier_layout(self) -> TierLayout:
        return self.inner.tier_layout

    read = passed_on(StorageBackend.read)
    write = passed_on(StorageBackend.write)
    list = passed_on(StorageBackend.list)
    exists = passed_on(StorageBackend.exists)
    info = passed_on(StorageBackend.info)
    mkdir = passed_on(StorageBackend.mkdir)
    delete = passed_on(StorageBackend.delete)
    walk = passed_on(StorageBackend.walk)
    foreign_entries = passed_on(StorageBackend.foreign_entries)
    describe = passed_on(StorageBackend.describe)
    check_usable = passed_on(StorageBackend.check_usable)
    check_reachable = passed_on(StorageBackend.check_reachable)
    check_allowed = passed_on(StorageBackend.check_allowed)
    make_place = passed_on(StorageBackend.make_place)
    stamp_text = passed_on(StorageBackend.stamp_text)


# ------------------------------------------------------------------------------------------------ facets
# What only some stores can do, each as a small type of its own. Nobody asks what class a store is:
# `backend.facet(DeviceFiles)` gives an object that can do it, or `None`. A backend answers with itself for each type
# that it inherits, or with a companion object. A layer lets through only the types in its `passes`, and wraps them
# where its rule has a say (`wrap_facet`). What a layer does not name is `None`, so a facet that is added later never
# slips past a rule that does not know it.


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

    def keep_sealed(self, seal: Callable[[Locator, bytes], bytes]) -> None:  # noqa: B027 - most keep nothing
        """Keep no bytes that were written to a note in plain, but what `seal` makes of them: nothing, perhaps."""


class Identity:
    """The store is known on this device by the mark that it carries."""

    store_id: str | None = None  # what the mark said when the store was opened; `None` for one that had none then


AT_HAND = (DeviceFiles, DeviceCopy, PersonalSpace, ConflictCopies, Appends, Identity)
"""The facets that hooks ask stores for. The others are in `facets`: making a class takes a hook a while."""
