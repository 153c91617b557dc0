"""Plugins by name, under the policy of this device, and importing one, so that whatever it does wrong is a
`PluginError` that names it. A plugin is found from metadata alone; nothing is imported before it is loaded.
"""

from __future__ import annotations

import sys

from agentm_kernel import errors
from agentm_kernel.device.installed import OPTIONS, PluginRecord, canonical_name, is_hook_plugin, kind_of
from agentm_kernel.errors import AgentmError
from agentm_kernel.plugins import Call, StdoutToStderr, reason_of, without_it
from agentm_kernel.seam.backend import API_VERSION, StorageBackend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_kernel.device import DeviceFacts
    from agentm_kernel.device.config import Config
    from agentm_kernel.seam.options import Option

OLDEST_API_VERSION = 1
"""How far back this kernel goes: plugins built for the versions from here to `API_VERSION` are accepted."""


def load(record: PluginRecord) -> object:
    """Import what the entry point names, and nothing else.

    Whatever it raises at import (`sys.exit` and other `BaseException`s too), a missing attribute, a malformed value,
    and an API version that the distribution declares and this kernel does not speak are a `PluginError`. Ctrl-C is
    not the plugin's doing.
    """
    check_declared_api(record)
    module, _, attribute = map(str.strip, record.value.partition("[")[0].partition(":"))  # module:attribute [extras]
    attributes = attribute.split(".") if attribute else []
    if not all(map(str.isidentifier, (*module.split("."), *attributes))):
        raise unusable(record, f"cannot be loaded: its value {record.value!r} is not of the form module:attribute")
    try:
        with Call(str(record), "its import"):
            if module in sys.modules:
                __import__(module)  # another thread may not be done with it
            else:
                with StdoutToStderr():
                    __import__(module)
            found: object = sys.modules[module]
            for name in attributes:
                found = getattr(found, name)
    except AgentmError as error:
        cause = error.__cause__ or error
        raise unusable(record, f"cannot be loaded: {reason_of(cause)}") from cause
    return found


def load_backend(record: PluginRecord) -> type[StorageBackend]:
    """The backend class that `record` names, checked against the contract as far as a class can be."""
    found = load(record)
    if not isinstance(found, type):
        raise unusable(record, f"is not a class: {record.value} is of type {type(found).__name__}")
    if not issubclass(found, StorageBackend) or found is StorageBackend:
        raise unusable(record, f"is not a backend: {record.value} does not derive from StorageBackend")
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise unusable(record, f"is abstract: {record.value} lacks {', '.join(missing)}")
    if type(found.api_version) is not int or not _is_spoken(str(found.api_version)):
        raise _wrong_api(record, repr(found.api_version))
    return found


def check_declared_api(record: PluginRecord) -> None:
    """Refuse, before importing it, what could only fail in the import with a reason that would mislead.

    A distribution declares the versions as names in the entry-point group `agentm.api`; it need not.
    """
    if record.api and not any(_is_spoken(version) for version in record.api):
        raise _wrong_api(record, " or ".join(record.api))


def _is_spoken(version: str) -> bool:
    return version.isascii() and version.isdigit() and OLDEST_API_VERSION <= int(version) <= API_VERSION


def _wrong_api(record: PluginRecord, built_for: str) -> errors.PluginError:
    window = str(API_VERSION) if OLDEST_API_VERSION == API_VERSION else f"{OLDEST_API_VERSION} to {API_VERSION}"
    why = f"was built for version {built_for} of the kernel's API; this kernel speaks {window}"
    return unusable(record, why, hint=f"run `pip install --upgrade agentm-kernel {record.distribution}`")


def unusable(record: PluginRecord, why: str, *, hint: str | None = None) -> errors.PluginError:
    """The refusal to use a plugin, naming its entry point, distribution and version."""
    return errors.PluginError(f"the {record} {why}", hint=hint or without_it(record.distribution))


def find(device: DeviceFacts, group: str, name: str) -> PluginRecord | None:
    """The one plugin called `name` in `group`; `None` only if none is installed.

    Two that claim the name, one that the policy keeps out, and metadata that cannot be read while nothing was found
    are a `PluginError`: each looks like "not installed" and is not.
    """
    claims = [record for record in device.plugins.of(group) if record.name == name]
    let_in = [record for record in claims if refusal(record, device.config) is None]
    if len(let_in) > 1:
        raise conflict(let_in)
    if let_in:
        return let_in[0]
    if claims:
        why = refusal(claims[0], device.config)
        hint = "`agentm config list` shows plugin_policy.*"
        raise errors.PluginError(f"the {claims[0]} is not loaded: {why}", hint=hint)
    if device.plugins.unreadable:
        said = f"cannot tell whether the {kind_of(group)} '{name}' is installed: {device.plugins.unreadable[0]}"
        raise errors.PluginError(said, hint="make that file readable, or reinstall the distribution it belongs to")
    return None


def find_plugin(device: DeviceFacts, group: str, name: str) -> PluginRecord:
    """The one installed plugin called `name` in `group`, or `PluginError`. Nothing is imported."""
    record = find(device, group, name)
    if record is None:
        from agentm_kernel.plugins.published import how_to_install

        installed = ", ".join(sorted({other.name for other in device.plugins.of(group)})) or "none"
        said = f"no installed plugin provides the {kind_of(group)} '{name}'; installed: {installed}"
        otherwise = "install the distribution that does; `agentm plugins list` shows what is there"
        raise errors.PluginError(said, hint=how_to_install(group, name) or otherwise)
    return record


def load_plugin(device: DeviceFacts, group: str, name: str) -> object:
    """What the plugin called `name` in `group` provides, imported now; `PluginError` if it cannot be had."""
    return load(find_plugin(device, group, name))


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


def conflict(claims: list[PluginRecord]) -> errors.PluginError:
    """The refusal to choose between distributions that claim one name."""
    first = claims[0]
    owners = " and ".join(f"{record.distribution} {record.version} ({record.location})" for record in claims)
    keep_out = f"agentm config set plugin_policy.disabled {claims[-1].distribution}"
    hint = f"uninstall one of them, or keep one out with `{keep_out}`"
    return errors.PluginError(f"the {kind_of(first.group)} '{first.name}' is claimed by {owners}", hint=hint)


def conflicts(records: Iterable[PluginRecord]) -> list[list[PluginRecord]]:
    """The claims on every name that is claimed twice. Names of hook plugins, which nobody asks for, may repeat."""
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
        except errors.PluginError:
            continue
        keys |= {f"plugins.{table}.{option.name}": option for option in declared}
    return keys
