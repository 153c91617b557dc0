"""Every installed plugin and what would become of it: from metadata and configuration, with nothing imported."""

from __future__ import annotations

from typing import NamedTuple

from agentm_kernel.cli.command_table import misplaced
from agentm_kernel.device.installed import BACKENDS, COMMANDS, HOOKS, KINDS, PLUGINS, WRAPPERS, PluginRecord, kind_of
from agentm_kernel.errors import AgentmError, ConfigError, PluginError
from agentm_kernel.plugins.table import check_declared_api, conflicts, refusal
from agentm_kernel.selection import choose
from agentm_kernel.state import Device


class Entry(NamedTuple):
    """One plugin as `plugins list` shows it."""

    record: PluginRecord
    state: str
    """`available`, `disabled` by policy, `conflict`, `incompatible` with this API, or `unknown`: nothing uses it."""
    why: str | None  # why it is selected, or why it is not available
    is_selected: bool

    @property
    def kind(self) -> str:
        """The word for it. A plugin that hears one hook is told from the same one for another by the hook's name."""
        hook = self.record.group.removeprefix(f"{PLUGINS}.")
        return f"hook {hook}" if hook in HOOKS else kind_of(self.record.group)

    @property
    def standing(self) -> str:
        """The state in a word for people: what is selected is available as well."""
        return "selected" if self.is_selected and self.state == "available" else self.state


def take_inventory(device: Device) -> tuple[list[Entry], list[list[PluginRecord]], list[str]]:
    """Everything that is installed for agentm; the names that several permitted plugins claim; and notes: what was
    chosen and is not there, metadata that cannot be read. That the configuration is broken is one, not in the way.
    """
    records = device.plugins.records
    chosen: dict[tuple[str, str], str] = {}
    refused: dict[PluginRecord, str | None] = {}
    notes = []
    try:
        config = device.config
        refused = {record: refusal(record, config) for record in records}
        chosen = {(WRAPPERS, name): f"wrappers in {config.path}" for name in config.wrappers}
        choice = choose(device)
        chosen = {(BACKENDS, choice.protocol): choice.origin, **chosen}
    except ConfigError as error:
        notes.append(f"what is selected is unknown: {error.message}")
    except AgentmError:
        pass  # two stores are named: selection says so
    installed = {(record.group, record.name) for record in records}
    for (group, name), origin in chosen.items():
        if (group, name) not in installed:
            notes.append(f"the {kind_of(group)} '{name}' is chosen by {origin}, but no installed plugin provides it")
    notes += [f"metadata cannot be read: {line}" for line in device.plugins.unreadable]
    claims = conflicts(record for record in records if not refused.get(record))
    contested = {record for claimed in claims for record in claimed}
    entries = []
    for record in records:
        by = chosen.get((record.group, record.name))
        state, why = _state(record, refused.get(record), record in contested)
        entries.append(Entry(record, state, why or (by and f"chosen by {by}"), bool(by) and state != "disabled"))
    return entries, claims, notes


def _state(record: PluginRecord, refused: str | None, is_contested: bool) -> tuple[str, str | None]:
    """What would become of an entry, and why, unless it is available."""
    if refused:
        return "disabled", refused
    if record.group not in KINDS:
        return "unknown", f"no part of this kernel uses the group {record.group}"
    if is_contested:
        return "conflict", "another distribution claims the name, too"
    if record.group == COMMANDS and (objection := misplaced(record.name)):
        return objection
    try:
        check_declared_api(record)
    except PluginError as error:
        return "incompatible", error.message.removeprefix(f"the {record} ")
    return "available", None
