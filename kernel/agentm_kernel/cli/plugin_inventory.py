"""Every installed plugin and what would become of it: from metadata and configuration, with nothing imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.config.read import load
from agentm_kernel.errors import ConfigError, PluginError
from agentm_kernel.host.load import check_declared_api
from agentm_kernel.host.policy import refusal
from agentm_kernel.host.record import BACKENDS, KINDS, WRAPPERS
from agentm_kernel.host.scan import conflicts, scan
from agentm_kernel.selection.choose import choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.config.read import Config
    from agentm_kernel.host.record import PluginRecord


@dataclass(frozen=True)
class Entry:
    """One plugin as `plugins list` shows it."""

    record: PluginRecord
    state: str
    """`available`, `disabled` by policy, `conflict`, `incompatible` with this API, or of an `unknown` group."""
    why: str | None
    """Why it is selected, or why it is not available."""
    is_selected: bool


@dataclass(frozen=True)
class Inventory:
    """What is installed, in a stable order."""

    entries: list[Entry]
    conflicts: list[list[PluginRecord]]
    """Names that several permitted plugins claim."""
    notes: list[str]
    """What else there is to say: what could not be read, what was chosen and is not there."""


def take_inventory(environ: Mapping[str, str]) -> Inventory:
    """Look at everything that is installed for agentm. A broken configuration is a note, not a failure."""
    notes: list[str] = []
    records = scan(unreadable=notes)
    notes = [f"metadata cannot be read: {line}" for line in notes]
    config = _config(environ, notes)
    chosen = _chosen(config, environ) if config else {}
    permitted = [record for record in records if not _refusal(record, config)]
    claims = conflicts(permitted)
    contested = {record for claimed in claims for record in claimed}
    entries = [_entry(record, _refusal(record, config), record in contested, chosen) for record in records]
    installed = {(record.group, record.name) for record in records}
    notes += [
        f"the {KINDS[group]} '{name}' is chosen by {origin}, but no installed plugin provides it"
        for (group, name), origin in chosen.items()
        if (group, name) not in installed
    ]
    return Inventory(entries, claims, notes)


def _config(environ: Mapping[str, str], notes: list[str]) -> Config | None:
    try:
        return load(environ)
    except ConfigError as error:
        notes.append(error.message)
        return None


def _chosen(config: Config, environ: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """What the configuration asks for by name, and where it says so."""
    choice = choose(config, environ)
    wrappers = {(WRAPPERS, name): f"wrappers in {config.path}" for name in config.wrappers}
    return {(BACKENDS, choice.protocol): choice.origin, **wrappers}


def _refusal(record: PluginRecord, config: Config | None) -> str | None:
    return refusal(record, config.disabled_plugins, config.allowed_plugins) if config else None


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
    else:
        try:
            check_declared_api(record)
        except PluginError as error:
            state, why = "incompatible", error.message
    return Entry(record, state, why or (origin and f"chosen by {origin}"), origin is not None and not refused)
