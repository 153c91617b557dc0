"""The table of broken backends: each breaks one promise, and says which checks must notice and which others may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from agentm_devkit.conformance import LayerSubject, Subject
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.files.store import FileStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import BackendLayer, StorageBackend

Backend = TypeVar("Backend", bound="type[StorageBackend]")
Layer = TypeVar("Layer", bound="type[BackendLayer]")


@dataclass(frozen=True)
class Broken:
    subject: Subject
    caught_by: tuple[str, ...]
    """The checks that must fail."""
    saying: str
    """What the first of them must say: the backend is caught for its fault and not by accident."""
    also: tuple[str, ...]
    """Checks and groups that may fail as well, because the fault shows there too."""

    @property
    def name(self) -> str:
        opened = self.subject.open
        return getattr(opened, "__name__", type(opened).__name__)


BROKEN: list[Broken] = []


def broken(
    *caught_by: str, saying: str, also: tuple[str, ...] = (), persistent: bool = False, **details: object
) -> Callable[[Backend], Backend]:
    """Enter a backend into the table; `details` are those of its `Subject`."""

    def entered(backend: Backend) -> Backend:
        in_memory = issubclass(backend, MemoryBackend) and not persistent
        subject = Subject(backend, in_memory=in_memory, **details)  # type: ignore[arg-type]
        BROKEN.append(Broken(subject, caught_by, saying, also))
        return backend

    return entered


class Around:
    """Opens a layer around files; a class, so that other processes can be given one."""

    def __init__(self, layer: type[BackendLayer]) -> None:
        self.layer = layer
        self.__name__ = layer.__name__

    def __call__(self, scratch: str) -> StorageBackend:
        return self.layer(FileStore(scratch))

    def wrap(self, inner: StorageBackend, scratch: str) -> StorageBackend:
        return self.layer(inner)


def broken_layer(*caught_by: str, saying: str, also: tuple[str, ...] = ()) -> Callable[[Layer], Layer]:
    """Enter a layer into the table."""

    def entered(layer: Layer) -> Layer:
        around = Around(layer)
        subject = LayerSubject(around, wrap=around.wrap, changes=layer.changes)
        BROKEN.append(Broken(subject, caught_by, saying, also))
        return layer

    return entered


class Memory(MemoryBackend):
    """A sound backend to break: fast, without files."""

    def __init__(self, scratch: str) -> None:
        super().__init__()
        self.scratch = scratch


class Files(FileStore):
    """A sound backend to break: files in the scratch directory."""

    def __init__(self, scratch: str) -> None:
        super().__init__(scratch)
        self.scratch = scratch


def is_large(content: object) -> bool:
    """Whether this is one of the notes over which writers are killed."""
    return isinstance(content, str) and content.count("\n") > 70_000
