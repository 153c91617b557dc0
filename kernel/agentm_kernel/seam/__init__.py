"""The storage seam: what a backend implements and what the engine may hold. No file-system path crosses it.

Here are the values that do: what a backend is opened with, what it declares, what its verbs return. They are `Frozen`
and no dataclasses: hooks import this module, and `dataclasses` would double what they cost.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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

    def __init__(cls, *made: Any) -> None:
        super().__init__(*made)
        inside = vars(cls)
        cls._keepers = tuple([inside[field].__set__ for field in inside["__slots__"]])


@dataclass_transform(frozen_default=True)
class Frozen(metaclass=_Fields):
    """A value: its annotated names are what it is made of, in that order; it cannot be changed once it is made.

    Type checkers take it for a frozen dataclass. `__post_init__` may refuse what does not fit together.
    """

    __slots__: tuple[str, ...] = ()
    _defaults: ClassVar[dict[str, object]] = {}
    _keepers: ClassVar[tuple[Callable[[object, object], None], ...]]
    """How the fields are set past `__setattr__`: hooks and walks make many of these."""

    def __init__(self, *given: object, **named: object) -> None:
        keepers = self._keepers
        if named or len(given) != len(keepers):  # most are given everything, in order
            names = self.__slots__
            first = dict(zip(names, given, strict=False))
            values = {**self._defaults, **first, **named}
            if len(given) > len(first) or first.keys() & named or values.keys() != set(names):
                raise TypeError(f"{type(self).__name__} takes {', '.join(names)}")
            given = tuple(values[name] for name in names)
        for keep, value in zip(keepers, given):  # noqa: B905 - as many as there are; being strict takes its time
            keep(self, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Raise if a value cannot be."""

    def _set(self, **values: object) -> None:
        """For a subclass with an `__init__` of its own."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setattr__(self, name: str, *_: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set or delete {name!r}")

    __delattr__ = __setattr__

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
    size: int  # length in UTF-8 bytes; 0 for a directory
    mtime: float  # seconds since the epoch. Sync tools rewrite it: show it, never decide by it
    version: str  # an opaque token: different means look again, equal means unchanged as far as the store can tell

    def __init__(self, locator: Locator, is_dir: bool, size: int, mtime: float, version: str = "") -> None:
        _keep_locator(self, locator)
        _keep_is_dir(self, is_dir)
        _keep_size(self, size)
        _keep_mtime(self, mtime)
        _keep_version(self, version)


# A walk makes thousands of these.
_keep_locator, _keep_is_dir, _keep_size, _keep_mtime, _keep_version = Info._keepers  # noqa: SLF001


class Capabilities(Frozen):
    """What a backend promises. Everything is `False` until it is declared."""

    concurrent_writers: bool = False  # several processes may write at once
    conflict_files: bool = False  # a sync layer may leave conflict copies beside a note
    encryption: bool = False  # content is encrypted at rest by the backend
    sync: bool = False  # the store is shared between devices, so it is the home of harness state
    device_files: bool = False  # the tree is files on this device: the backend has the facet `DeviceFiles`
    delete: bool = False  # `delete` works

    def replace(self, **flags: bool) -> Capabilities:
        """The same promises but for these flags: what a layer declares that changes some of them."""
        return Capabilities(**{**{name: getattr(self, name) for name in self.__slots__}, **flags})

    def missing_from(self, required: Capabilities) -> tuple[str, ...]:
        """The names of the flags that `required` asks for and this lacks."""
        return tuple(name for name in self.__slots__ if getattr(required, name) and not getattr(self, name))


class Opening(Frozen):
    """For what, and under which name, a store is opened. What a backend keeps beside its store goes by this."""

    name: str = "default"  # what the configuration calls the store; `default` for the one that this device uses
    read_only: bool = False  # the opener will only read: create nothing, lock nothing
    state_dir: str = ""  # where this device keeps what is not the store: `<state_dir>/…`, never inside a store
