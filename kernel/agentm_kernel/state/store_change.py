"""`agentm project use-store`: one project to another store of this device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.device.config_writer import bind_project
from agentm_kernel.errors import ConfigError, StoreIdentityError
from agentm_kernel.projects.checkout_id import binding_key
from agentm_kernel.projects.checkouts import Checkouts
from agentm_kernel.projects.claiming import claim
from agentm_kernel.projects.other_store import Move, leave_word
from agentm_kernel.seam.backend import SWAP_PROVIDER
from agentm_kernel.selection.identity import read_stamp
from agentm_kernel.state.resolution import Resolution
from agentm_kernel.state.routing import bound_store

if TYPE_CHECKING:
    from agentm_kernel.projects.records import ProjectRecord
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator
    from agentm_kernel.state.device import Device


class StoreChange:
    """The project at `root` is to be in the store `name`; `None` is the default store."""

    def __init__(self, device: Device, root: str, name: str | None) -> None:
        self._device, self._name = device, name
        bound = bound_store(device, root)
        self.is_done = bound is None and name is None
        # Bound to it already: a run that was cut off, and what is left in the default store is to follow.
        source_name = None if bound == name else bound
        self._target = device.store(name, read_only=False)
        self._source = self._target if self.is_done else device.store(source_name, read_only=False)
        here = Resolution(root, self._target, device=device)
        here.refuse_no_project()
        self._identity = here.identity

    @property
    def slug(self) -> str:
        return self._move.place.name

    @property
    def place(self) -> str:
        return self._target.describe()

    def check(self, *, move: bool) -> int:
        """Claim the project's place in both stores; how many files go, and whether they can, is found out first."""
        self._source.check_allowed(SWAP_PROVIDER)
        self._before = self._claim(self._source)
        after = self._claim(self._target)
        if after.elsewhere is not None:
            leave_word(self._target, after, None)  # it comes back
        self._move = Move(self._source, self._before.folder, self._target, after.folder)
        files = len(self._move.files())
        if files and not move:
            raise ConfigError(
                f"'{self._before.slug}' has {files} files in {self._source.describe()}, which would stay behind",
                hint="add --move to take them along",
            )
        self._move.check()
        return files

    def make(self) -> dict[Locator, str]:
        """Copy, bind the project, and leave word in the store before; what was copied, with its hashes."""
        self._move.copy()
        store_id = read_stamp(self._target)
        if store_id is None:
            raise StoreIdentityError(f"the store at {self.place} has no identity", hint="set it up with its `init`")
        bind_project(self._device.environ, binding_key(self._identity.checkout), self._name)
        leave_word(self._source, self._before, store_id)
        return self._move.copy()  # once more: somebody may have written there who had not heard of it yet

    def remove(self, copied: dict[Locator, str]) -> int:
        return self._move.remove(copied)

    def _claim(self, store: StorageBackend) -> ProjectRecord:
        place = claim(store, self._identity, Checkouts(self._device.state_dir, store))
        assert place.record is not None
        return place.record
