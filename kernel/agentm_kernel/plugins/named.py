"""What is asked for by name, under the policy of this device: for the kernel, and for plugins that ask for others."""

from __future__ import annotations

from agentm_kernel.device.config import load as load_config
from agentm_kernel.device.installed import find, kind_of, scan
from agentm_kernel.errors import PluginError
from agentm_kernel.plugins.load import load
from agentm_kernel.plugins.published import how_to_install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.device.config import Config
    from agentm_kernel.device.installed import PluginRecord


def find_plugin(group: str, name: str, config: Config | None = None) -> PluginRecord:
    """The one installed plugin called `name` in `group`, or `PluginError`. Nothing is imported.

    Several that claim the name, and one that the policy keeps out, are refused like one that is not there.
    """
    config = config or load_config()
    record = find(group, name, disabled=config.disabled_plugins, allowed=config.allowed_plugins)
    if record is None:
        installed = ", ".join(sorted({other.name for other in scan(group)})) or "none"
        raise PluginError(
            f"no installed plugin provides the {kind_of(group)} '{name}'; installed: {installed}",
            hint=how_to_install(group, name)
            or "install the distribution that does; `agentm plugins list` shows what is there",
        )
    return record


def load_plugin(group: str, name: str, config: Config | None = None) -> object:
    """What the plugin called `name` in `group` provides, imported now; `PluginError` if it cannot be had."""
    return load(find_plugin(group, name, config))
