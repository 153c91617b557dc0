"""`agentm doctor`: what selection would do, in the same words, and what plugins have to say."""

from __future__ import annotations

import os
import sys

from agentm_kernel.cli.hook_verbs import json_text, write_text
from agentm_kernel.cli.main import UsageError
from agentm_kernel.cli.plugin_inventory import take_inventory
from agentm_kernel.device.config import load
from agentm_kernel.device.installed import conflict
from agentm_kernel.errors import AgentmError, CapabilityMismatchError, ConfigError
from agentm_kernel.plugins.values import DoctorRow, HookContext
from agentm_kernel.seam.values import Capabilities
from agentm_kernel.selection.open import Refusal, having, inspect, preview_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentm_kernel.selection.open import Decision

_REACH_SECONDS = 2.0
"""How long a store elsewhere may take to answer."""


def doctor(requires: str | None, json: bool) -> int:
    """Print a row for everything that was checked; 1 if a check failed."""
    required = _capabilities(requires)
    found = inspect(read_only=False)
    rows = [*_config_rows(), *_storage_rows(found, required), *_plugin_rows(), *_hook_rows(found)]
    write_text(_as_json(rows) if json else "".join(_as_lines(rows)))
    return int(any(row.status == "fail" for row in rows))


def _capabilities(names: str | None) -> Capabilities | None:
    if names is None:
        return None
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in Capabilities.__slots__]
    if unknown:
        raise UsageError(
            f"unknown capabilities: {', '.join(unknown)}; there are {', '.join(Capabilities.__slots__)}",
            hint="run `agentm doctor --help`",
        )
    return Capabilities(**dict.fromkeys(wanted, True))


def _config_rows() -> Iterator[DoctorRow]:
    try:
        config = load(os.environ)
    except ConfigError as error:
        yield _failure("config", error)
        return
    state = "" if config.is_present else " (not there: defaults apply)"
    if config.is_legacy:
        state = " (of an older install; the next `agentm config set` moves it)"
    yield DoctorRow("ok", "config", f"{config.path}{state}", None)


def _storage_rows(found: Decision | Refusal, required: Capabilities | None) -> Iterator[DoctorRow]:
    if isinstance(found, Refusal):
        yield _failure("storage", found.error)
        return
    preview = preview_of(found)
    try:
        found.backend.check_reachable(_REACH_SECONDS)
    except AgentmError as error:  # what a command would meet next
        yield _failure("storage", error)
        return
    yield DoctorRow(preview.status, "storage", preview.line, None)
    if required is None:
        return
    try:
        having(found, required)
    except CapabilityMismatchError as error:
        yield _failure("capabilities", error)
    else:
        names = ", ".join(name for name in Capabilities.__slots__ if getattr(required, name))
        yield DoctorRow(
            "ok", "capabilities", f"backend '{preview.protocol}' satisfies {names or 'no requirement'}", None
        )


def _plugin_rows() -> Iterator[DoctorRow]:
    inventory = take_inventory(os.environ)
    for claims in inventory.conflicts:
        yield _failure("plugins", conflict(claims))
    for entry in inventory.entries:
        if entry.state in ("incompatible", "unknown"):
            yield DoctorRow("warn", "plugins", f"the {entry.record} is not used: {entry.why}", None)
    for line in inventory.unreadable:
        yield DoctorRow("warn", "plugins", f"metadata cannot be read: {line}", None)


def _hook_rows(found: Decision | Refusal) -> Iterator[DoctorRow]:
    from agentm_kernel.plugins.hooks import current_context, installed_plugins

    here = current_context()
    store = None if isinstance(found, Refusal) else found.backend
    host = installed_plugins(HookContext(here.surroundings, here.cwd, here.config, store))
    yield from host.doctor_checks()
    for failure in host.failures:
        yield DoctorRow("fail", "plugins", failure.message, failure.hint, failure.code)


def _failure(check: str, error: AgentmError) -> DoctorRow:
    return DoctorRow("fail", check, error.message, error.hint, error.code)


# ------------------------------------------------------------------------------------------------ printing


def _as_json(rows: Iterable[DoctorRow]) -> str:
    return json_text(rows=[{name: getattr(row, name) for name in DoctorRow.__slots__} for row in rows])


def _as_lines(rows: Sequence[DoctorRow]) -> Iterator[str]:
    coloured = _coloured if sys.stdout.isatty() else str
    width = max(12, *(len(row.check) for row in rows))
    for row in rows:
        status = row.status.upper()
        code = f" [{row.code}]" if row.code else ""
        yield f"{coloured(status)}{'':<{4 - len(status)}}  {row.check:<{width}}  {row.message}{code}\n"
        if row.hint:
            yield f"{'':<{width + 8}}hint: {row.hint}\n"


def _coloured(status: str) -> str:
    """For people only: whoever looks at a terminal does not notice what importing click takes."""
    from agentm_kernel.cli.output import status_style

    return status_style(status)
