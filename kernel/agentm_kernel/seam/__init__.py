"""The storage seam: what a backend implements and what the engine may hold. No file-system path crosses it.

The values that cross the seam: what a backend is opened with, what it declares, what its verbs return.

They are frozen and written by hand rather than as dataclasses: hooks import this module, and `dataclasses` would
double what they cost. `Frozen` is the little that they share.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, dataclass_transform

    from agentm_kernel.seam.locator import Locator

else:

    def dataclass_transform(**_: bool) -> object:
        return lambda made: made


MAX_CONTENT_BYTES = 16 * 1024 * 1024
"""How large a note may be unless the backend's `size_limit` option says otherwise."""


class _Fields(type):
    """Turns the annotated names of a class body into slots. Their defaults are kept aside: a slot can have none."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Fields:
        if "__slots__" not in body:
            fields = tuple(body.get("__annotations__", ()))
            body["_defaults"] = {field: body.pop(field) for field in fields if field in body}
            body["__slots__"] = fields
        return super().__new__(cls, name, bases, body)


_keep = object.__setattr__


@dataclass_transform(frozen_default=True)
class Frozen(metaclass=_Fields):
    """A value: its annotated names are what it is made of, in that order; it cannot be changed once it is made.

    Type checkers take it for a frozen dataclass. `__post_init__` may refuse what does not fit together.
    """

    __slots__: tuple[str, ...] = ()
    _defaults: ClassVar[dict[str, object]] = {}

    def __init__(self, *given: object, **named: object) -> None:
        names = self.__slots__
        if named or len(given) != len(names):  # most are given everything, in order
            first = dict(zip(names, given, strict=False))
            values = {**self._defaults, **first, **named}
            if len(given) > len(first) or first.keys() & named or values.keys() != set(names):
                raise TypeError(f"{type(self).__name__} takes {', '.join(names)}")
            given = tuple(values[name] for name in names)
        for name, value in zip(names, given, strict=True):
            _keep(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Raise if a value cannot be."""

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            _keep(self, name, value)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

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


# The slots themselves: a walk makes thousands of these.
_keep_locator, _keep_is_dir, _keep_size, _keep_mtime, _keep_version = (
    vars(Info)[name].__set__ for name in Info.__slots__
)


class Capabilities(Frozen):
    """What a backend promises. Everything is `False` until it is declared."""

    concurrent_writers: bool = False
    """Several processes may write at once."""
    conflict_files: bool = False
    """A sync layer may leave conflict copies beside a note."""
    encryption: bool = False
    """Content is encrypted at rest by the backend."""
    sync: bool = False
    """The store is shared between devices, so it is the home of harness state."""
    device_files: bool = False
    """The tree is files on this device: the backend has the facet `DeviceFiles`."""
    delete: bool = False
    """`delete` works."""

    def replace(self, **flags: bool) -> Capabilities:
        """The same promises but for these flags: what a layer declares that changes some of them."""
        return Capabilities(**{**{name: getattr(self, name) for name in self.__slots__}, **flags})

    def missing_from(self, required: Capabilities) -> tuple[str, ...]:
        """The names of the flags that `required` asks for and this lacks."""
        return tuple(name for name in self.__slots__ if getattr(required, name) and not getattr(self, name))


class Opening(Frozen):
    """For what, and under which name, a store is opened. What a backend keeps beside its store goes by this."""

    name: str = "default"
    """What the configuration calls the store; `default` for the one that this device uses."""
    read_only: bool = False
    """The opener will only read: create nothing, lock nothing."""
    state_dir: str = ""
    """Where this device keeps what is not the store: `<state_dir>/…`, never inside a store."""
