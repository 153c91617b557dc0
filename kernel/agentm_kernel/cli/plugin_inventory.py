"""Every installed plugin and what would become of it: from metadata and configuration, with nothing imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.cli.names import misplaced
from agentm_kernel.device.config import load
from agentm_kernel.device.installed import BACKENDS, COMMANDS, KINDS, WRAPPERS, conflicts, kind_of, scan
from agentm_kernel.errors import ConfigError, PluginError
from agentm_kernel.plugins.load import check_declared_api
from agentm_kernel.plugins.policy import refusal
from agentm_kernel.selection.open import choose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentm_kernel.device.config import Config
    from agentm_kernel.device.installed import PluginRecord


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


def take_inventory(environ: Mapping[str, str]) -> Inventory:
    """Look at everything that is installed for agentm. A configuration that is broken is not in the way of that."""
    unreadable: list[str] = []
    records = scan(unreadable=unreadable)
    config, config_error = _config(environ)
    chosen = _chosen(config, environ) if config else {}
    claims = conflicts(record for record in records if not _refusal(record, config))
    contested = {record for claimed in claims for record in claimed}
    return Inventory(
        [_entry(record, _refusal(record, config), record in contested, chosen) for record in records],
        claims,
        list(_missing(chosen, records)),
        unreadable,
        config_error,
    )


def _config(environ: Mapping[str, str]) -> tuple[Config | None, str | None]:
    try:
        return load(environ), None
    except ConfigError as error:
        return None, error.message


def _missing(chosen: dict[tuple[str, str], str], records: list[PluginRecord]) -> Iterator[str]:
    installed = {(record.group, record.name) for record in records}
    for (group, name), origin in chosen.items():
        if (group, name) not in installed:
            yield f"the {kind_of(group)} '{name}' is chosen by {origin}, but no installed plugin provides it"


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
    elif record.group == COMMANDS and (objection := misplaced(record.name)):
        state, why = objection
    else:
        try:
            check_declared_api(record)
        except PluginError as error:
            state, why = "incompatible", error.message.removeprefix(f"the {record} ")
    return Entry(record, state, why or (origin and f"chosen by {origin}"), origin is not None and not refused)
