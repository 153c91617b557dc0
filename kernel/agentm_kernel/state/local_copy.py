"""A store that lies elsewhere as its copy on this host shows it: hooks read that and wait for no network."""

from __future__ import annotations

from agentm_kernel.errors import StorageReadOnlyError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.layer import BackendLayer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

    from agentm_kernel.seam.backend import Absent, StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.seam.values import Info


class LocalCopy(BackendLayer):
    """Reads the copy below `root`; what the copy lacks is absent. Whoever wants to write goes to the store itself."""

    def __init__(self, inner: StorageBackend, root: str) -> None:
        super().__init__(inner)
        self._copy = FileStore(root, create_root=True)

    def read(self, locator: Locator) -> str:
        return self._copy.read(locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        return self._copy.list(locator)

    def exists(self, locator: Locator) -> bool:
        return self._copy.exists(locator)

    def info(self, locator: Locator) -> Info:
        return self._copy.info(locator)

    def walk(self, locator: Locator) -> Iterator[Info]:
        return self._copy.walk(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        raise self._read_only(locator)

    def mkdir(self, locator: Locator) -> Locator:
        raise self._read_only(locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        raise self._read_only(locator)

    def _read_only(self, locator: Locator) -> StorageReadOnlyError:
        return StorageReadOnlyError(
            f"'{locator}' was not changed: this is a copy of {self.describe()}",
            hint="resolve the project with `resolve_project()` to write to the store itself",
        )
