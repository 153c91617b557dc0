"""`agentm doctor`: what selection would do, in the same words, and what plugins have to say."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from agentm_kernel.cli import json_text, patience, write_text
from agentm_kernel.cli.plugin_inventory import take_inventory
from agentm_kernel.errors import AgentmError, CapabilityMismatchError, ConfigError, UsageError, one_line
from agentm_kernel.files import current_directory
from agentm_kernel.plugins import in_time
from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
from agentm_kernel.plugins.hookspecs import DoctorRow, HookContext, PluginFailure
from agentm_kernel.plugins.table import conflict
from agentm_kernel.seam import Capabilities
from agentm_kernel.selection import Decision, inspect_store, require
from agentm_kernel.selection.refusing import Refusal, as_selection_error, preview_of
from agentm_kernel.state import Device

_REACH_SECONDS = 2.0  # how long a store elsewhere may take to answer
_WIDTH = 16  # of the checks' names; a longer one has a line of its own


def doctor(device: Device, requires: str | None, json: bool) -> int:
    """Print a row for everything that was checked; 1 if a check failed.

    People see each row at once: a plugin that hangs or ends the process hides nothing of what was said before it.
    """
    wanted = None if requires is None else [name.strip() for name in requires.split(",") if name.strip()]
    if unknown := [name for name in wanted or () if name not in Capabilities.__slots__]:
        known = ", ".join(Capabilities.__slots__)
        hint = "run `agentm doctor --help`"
        raise UsageError(f"unknown capabilities: {', '.join(unknown)}; there are {known}", hint=hint)
    rows = []
    for row in _rows(device, None if wanted is None else Capabilities(**dict.fromkeys(wanted, True))):
        rows.append(row)
        if not json:
            write_text(_as_lines(row))
    if json:
        write_text(json_text(rows=[{name: getattr(row, name) for name in DoctorRow.__slots__} for row in rows]))
    return int(any(row.status == "fail" for row in rows))


def _rows(device: Device, required: Capabilities | None) -> Iterator[DoctorRow]:
    try:
        config = device.config
        stores = config.stores
    except ConfigError as error:
        yield _failure("config", error)
        stores = ()
    else:
        state = "" if config.is_present else " (not there: defaults apply)"
        if config.is_legacy:
            state = " (of an older install; the next `agentm config set` moves it)"
        yield DoctorRow("ok", "config", f"{config.path}{state}")
    found = _inspected(device)
    yield from _storage_rows(found, required)
    for name in stores:  # those that projects are bound to, each with a time of its own
        yield from _storage_rows(_inspected(device.of_store(name)), None, check=f"store {name}")
    entries, conflicts, _ = take_inventory(device)
    for claims in conflicts:
        yield _failure("plugins", conflict(claims))
    for entry in entries:
        if entry.state in ("incompatible", "unknown"):
            yield DoctorRow("warn", "plugins", f"the {entry.record} is not used: {entry.why}")
    for line in device.plugins.unreadable:
        yield DoctorRow("warn", "plugins", f"metadata cannot be read: {line}")
    yield from _hook_rows(device, found)


def _inspected(device: Device) -> Decision | Refusal:
    """The inspection of the store, as long as it takes no longer than a plugin may."""
    try:
        return in_time(lambda: inspect_store(device, read_only=False), patience(device.environ, PATIENCE))
    except AgentmError as error:
        return Refusal(None, as_selection_error(error))


def _storage_rows(
    found: Decision | Refusal, required: Capabilities | None, *, check: str = "storage"
) -> Iterator[DoctorRow]:
    try:
        backend = require(found)
        in_time(lambda: backend.check_reachable(_REACH_SECONDS), _REACH_SECONDS + 0.5)
    except AgentmError as error:  # what a command would meet next
        yield _failure(check, error)
        return
    preview = preview_of(found)
    yield DoctorRow(preview.status, check, preview.line)
    if required is None:
        return
    try:
        require(found, required)
    except CapabilityMismatchError as error:
        yield _failure("capabilities", error)
    else:
        names = ", ".join(name for name in Capabilities.__slots__ if getattr(required, name)) or "no requirement"
        yield DoctorRow("ok", "capabilities", f"backend '{preview.protocol}' satisfies {names}")


def _hook_rows(device: Device, found: Decision | Refusal) -> Iterator[DoctorRow]:
    """What plugins say of the default store, and what else they say of the one that the project here is bound to."""
    said = []
    for row in _asked(device, found):
        said.append(row)
        yield row
    try:
        bound = device.bound_store()
    except AgentmError:
        return  # said where the project is looked for
    if bound is None or isinstance(there := _inspected(device.of_store(bound)), Refusal):
        return
    for row in _asked(device.of_store(bound), there):
        if row not in said:
            yield DoctorRow(row.status, f"{row.check} of {bound}", row.message, row.hint, row.code)


def _asked(device: Device, found: Decision | Refusal) -> Iterator[DoctorRow]:
    store = None if isinstance(found, Refusal) else found.backend
    context = HookContext(device, current_directory(), None, store)
    caller = HookCaller(context, patience=patience(device.environ, PATIENCE))
    yield from caller.doctor_checks()
    for failure in caller.failures:
        yield _failure("plugins", failure)


def _failure(check: str, error: AgentmError | PluginFailure) -> DoctorRow:
    return DoctorRow("fail", check, error.message, error.hint, error.code)


def _as_lines(row: DoctorRow) -> str:
    status = row.status.upper()
    said = f"{row.message}{f' [{row.code}]' if row.code else ''}"
    coloured, lines, hints = status, [said], [f"hint: {row.hint}"] if row.hint else []
    indent = " " * (_WIDTH + 8)
    if sys.stdout.isatty():  # whoever looks at a terminal does not notice what importing click takes
        from agentm_kernel.cli.output import styled, terminal_width, wrapped

        coloured = styled(status, fg={"OK": "green", "WARN": "yellow"}.get(status, "red"))
        lines, hints = (
            [line for text in texts for line in wrapped(one_line(text), terminal_width() - len(indent))]
            for texts in (lines, hints)
        )
    gap = f"\n{indent}" if len(row.check) > _WIDTH else "  "
    first = f"{coloured}{'':<{4 - len(status)}}  {row.check:<{_WIDTH}}{gap}{lines[0]}\n"
    return first + "".join(f"{indent}{line}\n" for line in (*lines[1:], *hints))
