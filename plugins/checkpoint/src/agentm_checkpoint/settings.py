"""The options `plugins.checkpoint.*`, checked."""

from __future__ import annotations

from agentm_checkpoint.options import OPTIONS
from agentm_kernel.plugin import ConfigError, check_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agentm_kernel.plugin import Device

_KINDS = {"text": "text", "path": "text", "number": "a number above zero", "flag": "true or false"}


class Settings:
    """What the configuration says about checkpoints, with defaults for the rest."""

    def __init__(self, options: dict[str, Any]) -> None:
        check_options("checkpoint", options, OPTIONS)
        for option in OPTIONS:
            value: Any = options.get(option.name)
            if option.name in options and not (option.fits(value) and (option.kind != "number" or value > 0)):
                raise ConfigError(
                    f"plugins.checkpoint.{option.name} is {value!r}, and takes {_KINDS[option.kind]}",
                    hint=f"run `agentm config set plugins.checkpoint.{option.name} VALUE`",
                )
        self._options = options

    @property
    def author(self) -> str:
        import getpass

        try:
            return str(self._options.get("author") or getpass.getuser())
        except (KeyError, OSError):  # a user that the system has no name for
            return "unknown"

    @property
    def heartbeat_minutes(self) -> float:
        return float(self._options.get("heartbeat_minutes", 10))

    @property
    def history_days(self) -> float:
        return float(self._options.get("history_days", 90))

    @property
    def history_megabytes(self) -> float:
        return float(self._options.get("history_megabytes", 64))

    @property
    def image_folder(self) -> str | None:
        """Where images are kept, if not with the rest of what this device knows."""
        value = self._options.get("image_folder")
        return None if value is None else str(value)

    @property
    def ipfs_allow_remote(self) -> bool:
        return bool(self._options.get("ipfs_allow_remote", False))

    @property
    def ipfs_api(self) -> str:
        from agentm_checkpoint.ipfs import DEFAULT_API

        return str(self._options.get("ipfs_api", DEFAULT_API))

    @property
    def ipfs_timeout(self) -> float:
        from agentm_checkpoint.ipfs import DEFAULT_TIMEOUT

        return float(self._options.get("ipfs_timeout", DEFAULT_TIMEOUT))


def settings_of(device: Device) -> Settings:
    return Settings(device.config.options("checkpoint"))
