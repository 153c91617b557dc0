"""The values that cross the seam: what a backend is opened with, what it declares, what its verbs return.

They are frozen and written by hand rather than as dataclasses: hooks import this module, and `dataclasses` would
double what they cost. `Frozen` is the little that they share.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.seam.locator import Locator

MAX_CONTENT_BYTES = 16 * 1024 * 1024
"""How large a note may be unless the backend's `size_limit` option says otherwise."""


class Frozen:
    """Equality, hash, repr and pickling over `__slots__`, and no assignment after construction."""

    __slots__: tuple[str, ...] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class Info(Frozen):
    """What a backend knows about a locator without reading it."""

    __slots__ = ("locator", "is_dir", "size", "mtime", "version")
    locator: Locator
    is_dir: bool
    size: int
    """Length in UTF-8 bytes; 0 for a directory."""
    mtime: float
    """Seconds since the epoch. Sync tools rewrite it: show it, never decide by it."""
    version: str
    """An opaque token: different means look again, equal means unchanged as far as the store can tell."""

    def __init__(self, locator: Locator, is_dir: bool, size: int, mtime: float, version: str = "") -> None:
        _keep_locator(self, locator)
        _keep_is_dir(self, is_dir)
        _keep_size(self, size)
        _keep_mtime(self, mtime)
        _keep_version(self, version)


# The slots themselves, not `_set`: a walk makes thousands of these.
_keep_locator, _keep_is_dir, _keep_size, _keep_mtime, _keep_version = (
    vars(Info)[name].__set__ for name in Info.__slots__
)


class Capabilities(Frozen):
    """What a backend promises. Everything is `False` until it is declared."""

    __slots__ = ("concurrent_writers", "conflict_files", "encryption", "sync", "device_files", "delete")
    concurrent_writers: bool
    """Several processes may write at once."""
    conflict_files: bool
    """A sync layer may leave conflict copies beside a note."""
    encryption: bool
    """Content is encrypted at rest by the backend."""
    sync: bool
    """The store is shared between devices, so it is the home of harness state."""
    device_files: bool
    """The tree is files on this device: the backend has the facet `DeviceFiles`."""
    delete: bool
    """`delete` works."""

    def __init__(
        self,
        concurrent_writers: bool = False,
        conflict_files: bool = False,
        encryption: bool = False,
        sync: bool = False,
        device_files: bool = False,
        delete: bool = False,
    ) -> None:
        self._set(
            concurrent_writers=concurrent_writers,
            conflict_files=conflict_files,
            encryption=encryption,
            sync=sync,
            device_files=device_files,
            delete=delete,
        )

    def replace(self, **flags: bool) -> Capabilities:
        """The same promises but for these flags: what a layer declares that changes some of them."""
        return Capabilities(**{**{name: getattr(self, name) for name in self.__slots__}, **flags})

    def missing_from(self, required: Capabilities) -> tuple[str, ...]:
        """The names of the flags that `required` asks for and this lacks."""
        return tuple(name for name in self.__slots__ if getattr(required, name) and not getattr(self, name))


class Opening(Frozen):
    """For what, and under which name, a store is opened. What a backend keeps beside its store goes by this."""

    __slots__ = ("name", "read_only", "state_dir")
    name: str
    """What the configuration calls the store; `default` for the one that this device uses."""
    read_only: bool
    """The opener will only read: create nothing, lock nothing."""
    state_dir: str
    """Where this device keeps what is not the store: `<state_dir>/…`, never inside a store."""

    def __init__(self, name: str = "default", read_only: bool = False, state_dir: str = "") -> None:
        self._set(name=name, read_only=read_only, state_dir=state_dir)
