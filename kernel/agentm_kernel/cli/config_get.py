"""`agentm config get`: hooks and shell scripts ask for one value, so this is reached without click."""

from __future__ import annotations

from agentm_kernel.cli.config_values import as_text
from agentm_kernel.cli.streams import json_text, write_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.state.device import Device


def config_get(device: Device, key: str, json: bool) -> int:
    """Print the value of `key`; 1 and, but for JSON, not a word if it is not set."""
    value = device.config.get(key)
    if json:
        write_text(json_text(key=key, value=value))
    elif value is not None:
        write_text(f"{as_text(value)}\n")
    return 0 if value is not None else 1
