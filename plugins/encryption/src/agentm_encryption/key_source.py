"""The keys of one store as this device trusts them: read when they are first needed, and refused unless pinned."""

from __future__ import annotations

from agentm_encryption.device_identity import DeviceIdentity
from agentm_encryption.epochs import format_fingerprint, open_keys
from agentm_encryption.pins import Pins
from agentm_encryption.places import KEYS, epoch_of, key_file, store_folder
from agentm_encryption.seen import Seen
from agentm_kernel.plugin import IntegrityError, StorageSelectionError, read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_encryption.epochs import Keys
    from agentm_kernel.plugin import StorageBackend


def newest_epoch(inner: StorageBackend) -> int:
    """The number of the newest key file in the store; 0 if it has none."""
    return max((epoch_of(found) or 0 for found in inner.list(KEYS)), default=0)


class KeySource:
    """Where a layer gets its keys from. Making one reads nothing but the store's mark, and needs no network."""

    def __init__(
        self,
        inner: StorageBackend,
        state_dir: str,
        environ: Mapping[str, str],
        options: Mapping[str, Any],
        *,
        read_only: bool,
    ) -> None:
        self._inner = inner
        self._read_only = read_only
        store_id = read_stamp(inner)
        if store_id is None:
            raise StorageSelectionError(
                f"encryption is configured, and the store at {inner.describe()} has not been set up for it",
                hint="run `agentm encryption init`",
            )
        self.store_id: str = store_id
        self.folder = store_folder(state_dir, store_id)
        self.identity = DeviceIdentity(state_dir, environ, options)
        self.pins = Pins(self.folder)
        self.seen = Seen(self.folder, read_only=read_only)
        self._keys: Keys | None = None

    @property
    def keys(self) -> Keys:
        if self._keys is None:
            self._keys = self._load()
        return self._keys

    def reload(self) -> None:
        """Look for the keys again when they are next needed, and for what the operator has confirmed since."""
        self._keys = None
        self.pins = Pins(self.folder)

    def newest_keys(self) -> Keys:
        """The same, loaded again if there is a newer epoch: what is written with keys that are over is lost."""
        if self._keys is not None and self._inner.exists(key_file(self._keys.current.number + 1)):
            self.reload()
        return self.keys

    def _load(self) -> Keys:
        epoch = newest_epoch(self._inner)
        if epoch not in self.pins.epochs:
            self.pins = Pins(self.folder)  # another process of this device may have made them since this was opened
        self.check_pinned(epoch)
        keys = open_keys(self._inner.read(key_file(epoch)), self.identity.unlock(), self.store_id, epoch)
        if epoch not in self.pins.epochs and keys.fingerprint == self.pins.pending.get(epoch) and not self._read_only:
            self.pins.add(epoch, keys.fingerprint, sealed_names=keys.names_key is not None)
        if keys.fingerprint not in (self.pins.epochs.get(epoch), self.pins.pending.get(epoch)):
            raise IntegrityError(
                f"the keys of the store at {self._inner.describe()} are not those that were confirmed on this device",
                hint="ask the other members what they see: if one of them made new keys when this device did, "
                "`agentm encryption join` takes theirs; otherwise bring back the key file: somebody replaced it",
            )
        if not self._read_only:
            self.pins.raise_oldest(keys.oldest)
        return keys.replaced(oldest=max(keys.oldest, self.pins.oldest))

    def check_pinned(self, epoch: int) -> None:
        """Raise unless this device knows the store, and trusts the keys of its newest epoch."""
        place = self._inner.describe()
        if not self.pins and epoch not in self.pins.pending:
            raise StorageSelectionError(
                f"the store at {place} is encrypted, and this device has not joined it",
                hint="run `agentm encryption join`",
            )
        file = key_file(self.pins.newest)
        if epoch < self.pins.newest:
            raise IntegrityError(
                f"the keys of epoch {self.pins.newest} are gone from the store at {place}",
                hint="if another device made it plain, run `agentm encryption decrypt` here, too; otherwise bring "
                f"back {file} from a device or a backup; `agentm checkpoint show latest --path {file}` prints the "
                "one that a checkpoint has",
            )
        if epoch not in self.pins.epochs and epoch not in self.pins.pending:
            pin = format_fingerprint(self.pins.epochs.get(self.pins.newest, ""))
            raise StorageSelectionError(
                f"the store at {place} has new keys (epoch {epoch}; this device knows {self.pins.newest}: {pin})",
                hint="ask whoever rotated them for the fingerprint, and run `agentm encryption join`",
            )
