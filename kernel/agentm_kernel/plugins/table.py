"""Plugins by name, under the policy of this device. From metadata alone: nothing is imported to find one."""

from __future__ import annotations

from agentm_kernel.device.installed import OPTIONS, canonical_name, is_hook_plugin, kind_of
from agentm_kernel.errors import PluginError
from agentm_kernel.plugins.load import load, unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_kernel.device.config import Config
    from agentm_kernel.device.facts import DeviceFacts
    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.seam.options import Option


def find(device: DeviceFacts, group: str, name: str) -> PluginRecord | None:
    """The one plugin called `name` in `group`; `None` only if none is installed.

    Two that claim the name, one that the policy keeps out, and metadata that cannot be read while nothing was found
    are a `PluginError`: each looks like "not installed" and is not.
    """
    claims = [record for record in device.plugins.records if record.name == name and record.group == group]
    refusals = [refusal(record, device.config) for record in claims]
    permitted = [record for record, refused in zip(claims, refusals, strict=True) if refused is None]
    if len(permitted) > 1:
        raise conflict(permitted)
    if permitted:
        return permitted[0]
    if claims:
        raise PluginError(
            f"the {claims[0]} is not loaded: {refusals[0]}", hint="`agentm config list` shows plugin_policy.*"
        )
    if device.plugins.unreadable:
        raise PluginError(
            f"cannot tell whether the {kind_of(group)} '{name}' is installed: {device.plugins.unreadable[0]}",
            hint="make that file readable, or reinstall the distribution it belongs to",
        )
    return None


def find_plugin(device: DeviceFacts, group: str, name: str) -> PluginRecord:
    """The one installed plugin called `name` in `group`, or `PluginError`. Nothing is imported."""
    record = find(device, group, name)
    if record is None:
        from agentm_kernel.plugins.published import how_to_install

        installed = ", ".join(sorted({other.name for other in device.plugins.of(group)})) or "none"
        raise PluginError(
            f"no installed plugin provides the {kind_of(group)} '{name}'; installed: {installed}",
            hint=how_to_install(group, name)
            or "install the distribution that does; `agentm plugins list` shows what is there",
        )
    return record


def load_plugin(device: DeviceFacts, group: str, name: str) -> object:
    """What the plugin called `name` in `group` provides, imported now; `PluginError` if it cannot be had."""
    return load(find_plugin(device, group, name))


# ------------------------------------------------------------------------------------------------ policy


def permitted(device: DeviceFacts, group: str) -> list[PluginRecord]:
    """The plugins of a group that the operator lets in."""
    return [record for record in device.plugins.of(group) if refusal(record, device.config) is None]


def refusal(record: PluginRecord, config: Config) -> str | None:
    """Why the policy keeps `record` out; `None` if it does not. Asked before anything is imported.

    Both lists hold names of entry points or of distributions (in any spelling). `allowed` given means that nothing
    else is let in, so an empty list lets nothing in; `disabled` beats it.
    """
    if _names(record, config.disabled_plugins):
        return "plugin_policy.disabled names it"
    if config.allowed_plugins is not None and not _names(record, config.allowed_plugins):
        return "plugin_policy.allowed does not name it"
    return None


def _names(record: PluginRecord, listed: Iterable[str]) -> bool:
    return any(name == record.name or canonical_name(name) == record.distribution for name in listed)


# ------------------------------------------------------------------------------------------------ conflicts


def conflict(claims: list[PluginRecord]) -> PluginError:
    """The refusal to choose between distributions that claim one name."""
    first = claims[0]
    owners = " and ".join(f"{record.distribution} {record.version} ({record.location})" for record in claims)
    return PluginError(
        f"the {kind_of(first.group)} '{first.name}' is claimed by {owners}",
        hint=f"uninstall one of them, or keep one out with `agentm config set plugin_policy.disabled "
        f"{claims[-1].distribution}`",
    )


def conflicts(records: Iterable[PluginRecord]) -> list[list[PluginRecord]]:
    """The claims on every name that is claimed more than once. Hook plugins are told, not asked for by name, so
    theirs are labels and may repeat.
    """
    claims: dict[tuple[str, str], list[PluginRecord]] = {}
    for record in records:
        if not is_hook_plugin(record):
            claims.setdefault((record.group, record.name), []).append(record)
    return [claimed for claimed in claims.values() if len(claimed) > 1]


def declared_options(device: DeviceFacts, table: str) -> tuple[Option, ...] | None:
    """What `plugins.<table>` may hold; `None` where nobody declares it: the plugin may not be installed yet."""
    from agentm_kernel.seam.options import Option

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
