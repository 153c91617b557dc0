"""The store of this device as the commands of encryption need it: beneath its layers, with its identity compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_encryption.key_source import KeySource, newest_epoch
from agentm_encryption.opening import refuse_shared_folder, sealed_store
from agentm_encryption.places import NAME
from agentm_kernel.command import set_value, unset_value
from agentm_kernel.plugin import StorageSelectionError, check_store, open_unidentified

if TYPE_CHECKING:
    from agentm_encryption.store import EncryptedStore
    from agentm_kernel.plugin import Device, StorageBackend


class SelectedStore:
    """The store that the configuration names, without any layer around it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        found = open_unidentified(device)
        self.protocol = found.protocol
        self.backend: StorageBackend = found.backend
        self.backend.check_usable(read_only=False)
        check_store(device, self.backend, self.protocol)

    @property
    def options(self) -> dict[str, Any]:
        return self.device.config.options(NAME)

    def source(self) -> KeySource:
        """The keys, as far as this device has them; refused for a store without a mark."""
        device = self.device
        return KeySource(self.backend, device.state_dir, device.environ, self.options, read_only=False)

    def encrypted(self, source: KeySource) -> EncryptedStore:
        """The store with its texts opened; nothing else around it, so that what is written is told to nobody."""
        return sealed_store(self.backend, source)

    def joined(self) -> EncryptedStore:
        """The same, for commands that only a member can run."""
        source = self.source()
        epoch = newest_epoch(self.backend)
        if not epoch:
            raise StorageSelectionError(
                f"the store at {self.backend.describe()} is not encrypted", hint="run `agentm encryption init`"
            )
        source.check_pinned(epoch)
        return self.encrypted(source)

    # -- the configuration ------------------------------------------------------------------------------------

    @property
    def is_configured(self) -> bool:
        return NAME in self._wrappers()

    def configure(self) -> None:
        """Have the store encrypted on this device from now on: the innermost layer."""
        refuse_shared_folder(self.backend)
        set_value(self.device.environ, self.device.config.wrapped_by, [NAME, *self._others()])

    def unconfigure(self) -> None:
        others = self._others()
        if others:
            set_value(self.device.environ, self.device.config.wrapped_by, others)
        elif self.is_configured:
            unset_value(self.device.environ, self.device.config.wrapped_by)

    def _others(self) -> list[str]:
        return [name for name in self._wrappers() if name != NAME]

    def _wrappers(self) -> tuple[str, ...]:
        """As they are now: another command may have changed them since this one began."""
        return self.device.renewed().config.wrappers
