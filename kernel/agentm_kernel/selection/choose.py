"""Which backend this device uses: the configuration's word, then the environment's, then the default."""

from __future__ import annotations

from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.seam.values import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.config import Config
    from agentm_kernel.device.facts import DeviceFacts

VAULT_VARIABLE = "MEMORY_VAULT_PATH"
DEFAULT_PROTOCOL = "device-local"
BY_DEFAULT = "the default"


class Choice(Frozen):
    """A protocol, in words where the choice comes from, and what the choosing setting says beyond the name."""

    protocol: str
    origin: str
    setting: str | None = None
    """The setting that chose it, where that is not `storage.backend`: unsetting it chooses anew."""


def _undecided(config: Config, path: object) -> StorageSelectionError:
    """Older installs took a path for a choice. There are notes at that path: an empty store must not replace them."""
    return StorageSelectionError(
        f"{config.path} says where a vault is ({path}), but not which store to use",
        hint="run `agentm config set storage.backend vault` to use the vault, or "
        f"`agentm config set storage.backend {DEFAULT_PROTOCOL}` to use the store of this device",
    )


def choose(device: DeviceFacts) -> Choice:
    """The choice, made or refused; nothing is loaded for it."""
    config = device.config
    if config.shortcut is not None:
        setting, protocol, _ = config.shortcut
        if config.storage_backend not in (None, protocol):
            raise StorageSelectionError(
                f"{config.chosen_by} and {setting} in {config.path} name two stores",
                hint=f"keep one: run `agentm config unset {config.chosen_by}` or `agentm config unset {setting}`",
            )
        return Choice(protocol, f"{setting} in {config.path}", setting)
    if config.storage_backend is not None:
        return Choice(config.storage_backend, f"{config.chosen_by} in {config.path}")
    if device.environ.get(VAULT_VARIABLE, "").strip():
        return Choice("vault", f"${VAULT_VARIABLE}")
    if (path := config.options("vault").get("vault_path")) is not None:
        raise _undecided(config, path)
    return Choice(DEFAULT_PROTOCOL, BY_DEFAULT)
