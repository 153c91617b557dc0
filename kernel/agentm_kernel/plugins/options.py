"""The options that installed plugins declare, each table when it is asked for."""

from __future__ import annotations

from agentm_kernel.device.installed import OPTIONS
from agentm_kernel.errors import PluginError
from agentm_kernel.plugins.load import load, unusable
from agentm_kernel.plugins.table import find
from agentm_kernel.seam.options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.facts import DeviceFacts


def declared_options(device: DeviceFacts, table: str) -> tuple[Option, ...] | None:
    """What `plugins.<table>` may hold; `None` where nobody declares it: the plugin may not be installed yet."""
    record = find(device, OPTIONS, table)
    if record is None:
        return None
    found = load(record)
    if not isinstance(found, tuple) or not all(isinstance(option, Option) for option in found):
        raise unusable(record, "does not name a tuple of Option")
    return found


def known_option_keys(device: DeviceFacts) -> dict[str, Option]:
    """Every declared option by its key in the configuration; a plugin that cannot be loaded is left out."""
    keys: dict[str, Option] = {}
    for table in sorted({record.name for record in device.plugins.of(OPTIONS)}):
        try:
            declared = declared_options(device, table) or ()
        except PluginError:
            continue
        keys |= {f"plugins.{table}.{option.name}": option for option in declared}
    return keys
