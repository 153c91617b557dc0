"""Every installed plugin and what would become of it: from metadata and configuration, with nothing imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.cli.command_table import misplaced
from agentm_kernel.device.installed import BACKENDS, COMMANDS, KINDS, WRAPPERS, kind_of
from agentm_kernel.errors import AgentmError, ConfigError, PluginError
from agentm_kernel.plugins.table import check_declared_api, conflicts, refusal
from agentm_kernel.selection import choose

if TYPE_CHECKING:
    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.state import Device


class Entry(NamedTuple):
    """One plugin as `plugins list` shows it."""

    record: PluginRecord
    state: str
    """`available`, `disabled` by policy, `conflict`, `incompatible` with this API, or `unknown`: nothing uses it."""
    why: str | None
    """Why it is selected, or why it is not available."""
    is_selected: bool


class Inventory(NamedTuple):
    """What is installed, in a stable order."""

    entries: list[Entry]
    conflicts: list[list[PluginRecord]]
    """Names that several permitted plugins claim."""
    missing: list[str]
    """What was chosen by name and is not there, a line each."""
    unreadable: list[str]
    """Metadata that could not be read."""
    config_error: str | None
    """Why the configuration, and with it every choice and every policy, is unknown."""


def take_inventory(device: Device) -> Inventory:
    """Look at everything that is installed for agentm. A configuration that is broken is not in the way of that."""
    records = device.plugins.records
    chosen: dict[tuple[str, str], str] = {}
    refused: dict[PluginRecord, str | None] = {}
    config_error = None
    try:
        refused = {record: refusal(record, device.config) for record in records}
        chosen = _chosen(device)
    except ConfigError as error:
        config_error = error.message
    claims = conflicts(record for record in records if not refused.get(record))
    contested = {record for claimed in claims for record in claimed}
    installed = {(record.group, record.name) for record in records}
    missing = [
        f"the {kind_of(group)} '{name}' is chosen by {origin}, but no installed plugin provides it"
        for (group, name), origin in chosen.items()
        if (group, name) not in installed
    ]
    entries = [_entry(record, refused.get(record), record in contested, chosen) for record in records]
    return Inventory(entries, claims, missing, list(device.plugins.unreadable), config_error)


def _chosen(device: Device) -> dict[tuple[str, str], str]:
    """What the configuration asks for by name, and where it says so."""
    config = device.config
    wrappers = {(WRAPPERS, name): f"wrappers in {config.path}" for name in config.wrappers}
    try:
        choice = choose(device)
    except AgentmError:
        return wrappers  # two stores are named: selection says so
    return {(BACKENDS, choice.protocol): choice.origin, **wrappers}


def _entry(
    record: PluginRecord, refused: str | None, is_contested: bool, chosen: dict[tuple[str, str], str]
) -> Entry:
    origin = chosen.get((record.group, record.name))
    state, why = "available", None
    if refused:
        state, why = "disabled", refused
    elif record.group not in KINDS:
        state, why = "unknown", f"no part of this kernel uses the group {record.group}"
    elif is_contested:
        state, why = "conflict", "another distribution claims the name, too"
    elif record.group == COMMANDS and (objection := misplaced(record.name)):
        state, why = objection
    else:
        try:
            check_declared_api(record)
        except PluginError as error:
            state, why = "incompatible", error.message.removeprefix(f"the {record} ")
    return Entry(record, state, why or (origin and f"chosen by {origin}"), origin is not None and not refused)
