"""`MirroredState`: a store elsewhere with a copy of its projects' state on this device, so that hooks work with it.

Any synced store can use it. What the entry point names is a class that puts it around the store:

    class RedisStore(MirroredState):
        @classmethod
        def create(cls, options, device, opening):
            return cls(Redis(**options), os.path.join(opening.state_dir, "redis"), read_only=opening.read_only)

The verbs go straight to the store, and the copy follows what they write. Hooks read the copy, wait for no network,
and say how old it is. `pull` and `push` bring the two together, file by file (`mirror`). Hooks import this module;
what only a write or a synchronisation needs is imported there.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import ConcurrentModificationError, StorageReadOnlyError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.backend import (
    STAMP,
    Absent,
    BackendLayer,
    ConflictCopies,
    DeviceCopy,
    DeviceFiles,
    Identity,
    PersonalSpace,
    StorageBackend,
    passed_on,
)
from agentm_kernel.seam.facets import History, Rules, Unguarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable
    from typing import NoReturn, TypeVar

    from agentm_kernel.seam import Capabilities
    from agentm_kernel.seam.facets import ConflictCopy, Transfer
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state.mirror import Mirror

    F = TypeVar("F")

PULLED = "pulled"
"""A file whose modification time is when the copy was last known to be current."""


class MirroredState(BackendLayer, DeviceFiles, DeviceCopy, ConflictCopies):
    """Around a store that lies elsewhere; `folder` is where this device keeps the copy, private to the user.

    A store that carries another mark than the copy does, or none any more, is another store: it is neither read nor
    written.
    """

    passes = (PersonalSpace, History, Identity, Rules, Unguarded)

    def __init__(self, inner: StorageBackend, folder: str, *, read_only: bool = False) -> None:
        super().__init__(inner)
        self._folder, self._copy_root = folder, os.path.join(folder, "copy")
        self._read_only = read_only
        self._is_checked = False
        self._lazy_mirror: Mirror | None = None

    @property
    def _mirror(self) -> Mirror:
        if self._lazy_mirror is None:
            from agentm_kernel.state.mirror import Mirror

            self._lazy_mirror = Mirror(self._folder, self._copy_root, PULLED)
        return self._lazy_mirror

    def read(self, locator: Locator) -> str:
        if locator != STAMP:
            self.confirm_store()
        return self.inner.read(locator)

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        self._check_store(locator)
        try:
            self.inner.write(locator, content, if_match=if_match)
        except ConcurrentModificationError:
            if locator == STAMP:  # of two devices that mark a store at once, the slower one takes over the mark
                self.fetch_stamp()
            raise
        self._mirror.follow_write(locator, content)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        self._check_store(locator)
        return self.inner.mkdir(locator)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        self._check_store(locator)
        self.inner.delete(locator, if_match=if_match)
        self._mirror.follow_delete(locator)

    def _check_store(self, locator: Locator) -> None:
        if self._read_only:
            raise StorageReadOnlyError(f"'{locator}' was not changed: the store was opened to be read")
        self.before_first_change()

    def before_first_change(self) -> None:
        """A store that looks at its stamp within the deadline of the verb itself overrides this."""
        self.confirm_store()

    def confirm_store(self) -> None:
        """Look once, in the store itself, whether it is the one that the copy was made of."""
        self.check_stamp(self._stamp_there)

    list = passed_on(BackendLayer.list, confirm_store)
    exists = passed_on(BackendLayer.exists, confirm_store)
    info = passed_on(BackendLayer.info, confirm_store)
    walk = passed_on(BackendLayer.walk, confirm_store)
    foreign_entries = passed_on(BackendLayer.foreign_entries, confirm_store)

    def check_stamp(self, look: Callable[[], str | None]) -> None:
        """Raise unless the stamp that `look` finds in the store is the copy's, as far as the copy has one. Once."""
        if not self._is_checked:
            self._mirror.check_stamp(self.describe(), look)
            self._is_checked = True

    def check_reachable(self, seconds: float) -> None:
        self.inner.check_reachable(seconds)
        self._mirror.check_stamp(self.describe(), self._stamp_there)

    def make_place(self) -> None:
        self.inner.make_place()
        if self._stamp_there() is None:
            self.forget_store()

    def device_path(self, locator: Locator) -> str:
        return os.path.join(self._copy_root, *locator.parts)

    def stamp_text(self) -> str | None:
        return FileStore(self._copy_root, create_root=True).stamp_text()

    def fetch_stamp(self) -> str | None:
        """The mark that the store carries now, put into the copy: how a device joins a store that others made."""
        return self._mirror.keep_stamp(self._stamp_there())

    def forget_store(self) -> None:
        self._mirror.forget_store()
        self._is_checked = False

    def copy_age(self) -> float | None:
        import time

        try:
            pulled = os.stat(os.path.join(self._folder, PULLED)).st_mtime
        except FileNotFoundError:
            return None
        return max(0.0, time.time() - pulled)

    def pull(self, through: StorageBackend) -> Transfer:
        self._mirror.check_stamp(self.describe(), self._stamp_there)
        return self._mirror.synchronise(through, sending=False)

    def push(self, through: StorageBackend) -> Transfer:
        self._mirror.check_stamp(self.describe(), self._stamp_there)
        return self._mirror.synchronise(through, sending=True)

    def conflict_copies(self, below: Locator) -> builtins.list[ConflictCopy]:
        """Versions that lost to another device's, as the copy has them."""
        return self._mirror.conflict_copies(below)

    def read_copy(self, copy: Locator) -> str:
        return self._mirror.read_copy(copy)

    def _stamp_there(self) -> str | None:
        from agentm_kernel.seam.update import read_or_none

        return read_or_none(self.inner, STAMP)


class LocalCopy(FileStore):
    """A store elsewhere as its copy below `root` shows it. What the copy lacks is absent; nothing is written."""

    passes = (DeviceFiles, DeviceCopy, ConflictCopies, Identity, Rules)
    """The facets that are the store's own. Of the copy itself there is none: whatever changes it is refused."""

    def __init__(self, store: StorageBackend, root: str) -> None:
        super().__init__(root, create_root=True)
        self._store = store

    def facet(self, kind: type[F]) -> F | None:
        return self._store.facet(kind) if kind in self.passes else None

    @property
    def capabilities(self) -> Capabilities:
        return self._store.capabilities

    def describe(self) -> str:
        return self._store.describe()

    def _refuse(self, locator: Locator, *_: object, **__: object) -> NoReturn:
        raise StorageReadOnlyError(
            f"'{locator}' was not changed: this is a copy of {self.describe()}",
            hint="resolve the project with `resolve_project()` to write to the store itself",
        )

    write = mkdir = append = delete = _refuse
