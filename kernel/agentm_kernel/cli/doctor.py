"""`agentm doctor`: what selection would do, in the same words, and what plugins have to say."""

from __future__ import annotations

import os
import sys

from agentm_kernel.cli import UsageError, json_text, patience, write_text
from agentm_kernel.cli.plugin_inventory import take_inventory
from agentm_kernel.errors import AgentmError, CapabilityMismatchError, ConfigError, one_line
from agentm_kernel.plugins.hooks import PATIENCE
from agentm_kernel.plugins.table import conflict
from agentm_kernel.plugins.values import DoctorRow, HookContext
from agentm_kernel.seam import Capabilities
from agentm_kernel.selection import Decision, Refusal, as_selection_error, inspect_store, preview_of, require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_kernel.state import Device

_REACH_SECONDS = 2.0
"""How long a store elsewhere may take to answer."""


def doctor(device: Device, requires: str | None, json: bool) -> int:
    """Print a row for everything that was checked; 1 if a check failed.

    What the kernel has to say is printed before a plugin is asked: one that hangs or ends the process hides nothing.
    """
    required = _capabilities(requires)
    rows = _Rows(as_json=json)
    rows.add(_config_rows(device))
    found = _inspected(device)
    rows.add(_storage_rows(found, required))
    rows.add(_further_rows(device))
    rows.add(_plugin_rows(device))
    rows.flush()
    rows.add(_hook_rows(device, found))
    rows.finish()
    return int(rows.has_failed)


def _inspected(device: Device) -> Decision | Refusal:
    """The inspection of the store, as long as it takes no longer than a plugin may."""
    from agentm_kernel.plugins import in_time

    try:
        return in_time(lambda: inspect_store(device, read_only=False), patience(device.environ, PATIENCE))
    except AgentmError as error:
        return Refusal(None, as_selection_error(error))


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


def _config_rows(device: Device) -> Iterator[DoctorRow]:
    try:
        config = device.config
    except ConfigError as error:
        yield _failure("config", error)
        return
    state = "" if config.is_present else " (not there: defaults apply)"
    if config.is_legacy:
        state = " (of an older install; the next `agentm config set` moves it)"
    yield DoctorRow("ok", "config", f"{config.path}{state}", None)


def _further_rows(device: Device) -> Iterator[DoctorRow]:
    """The stores that projects are bound to, each with a time of its own."""
    try:
        names = device.config.stores
    except ConfigError:
        return  # said already
    for name in names:
        yield from _storage_rows(_inspected(device.of_store(name)), None, check=f"store {name}")


def _storage_rows(
    found: Decision | Refusal, required: Capabilities | None, *, check: str = "storage"
) -> Iterator[DoctorRow]:
    if isinstance(found, Refusal):
        yield _failure(check, found.error)
        return
    preview = preview_of(found)
    try:
        found.backend.check_reachable(_REACH_SECONDS)
    except AgentmError as error:  # what a command would meet next
        yield _failure(check, error)
        return
    yield DoctorRow(preview.status, check, preview.line, None)
    if required is None:
        return
    try:
        require(found, required)
    except CapabilityMismatchError as error:
        yield _failure("capabilities", error)
    else:
        names = ", ".join(name for name in Capabilities.__slots__ if getattr(required, name))
        yield DoctorRow(
            "ok", "capabilities", f"backend '{preview.protocol}' satisfies {names or 'no requirement'}", None
        )


def _plugin_rows(device: Device) -> Iterator[DoctorRow]:
    inventory = take_inventory(device)
    for claims in inventory.conflicts:
        yield _failure("plugins", conflict(claims))
    for entry in inventory.entries:
        if entry.state in ("incompatible", "unknown"):
            yield DoctorRow("warn", "plugins", f"the {entry.record} is not used: {entry.why}", None)
    for line in inventory.unreadable:
        yield DoctorRow("warn", "plugins", f"metadata cannot be read: {line}", None)


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
    from agentm_kernel.plugins.hooks import HookCaller

    store = None if isinstance(found, Refusal) else found.backend
    caller = HookCaller(HookContext(device, os.getcwd(), None, store), patience=patience(device.environ, PATIENCE))
    yield from caller.doctor_checks()
    for failure in caller.failures:
        yield DoctorRow("fail", "plugins", failure.message, failure.hint, failure.code)


def _failure(check: str, error: AgentmError) -> DoctorRow:
    return DoctorRow("fail", check, error.message, error.hint, error.code)


# ------------------------------------------------------------------------------------------------ printing

_WIDTH = 12  # of the checks' names; a longer one pushes its own line


class _Rows:
    """Rows as they come: printed at once for people, in one object at the end for programs."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._rows: list[DoctorRow] = []
        self._printed = 0

    @property
    def has_failed(self) -> bool:
        return any(row.status == "fail" for row in self._rows)

    def add(self, rows: Iterable[DoctorRow]) -> None:
        for row in rows:
            self._rows.append(row)
            if self._printed:  # plugins are being asked: each row may be the last
                self.flush()

    def flush(self) -> None:
        if not self._as_json:
            write_text("".join(line for row in self._rows[self._printed :] for line in _as_lines(row)))
            self._printed = len(self._rows)

    def finish(self) -> None:
        self.flush()
        if self._as_json:
            shown = [{name: getattr(row, name) for name in DoctorRow.__slots__} for row in self._rows]
            write_text(json_text(rows=shown))


def _as_lines(row: DoctorRow) -> Iterator[str]:
    status = row.status.upper()
    said = f"{row.message}{f' [{row.code}]' if row.code else ''}"
    coloured, lines, hints = status, [said], [f"hint: {row.hint}"] if row.hint else []
    indent = " " * (_WIDTH + 8)
    if sys.stdout.isatty():  # whoever looks at a terminal does not notice what importing click takes
        from agentm_kernel.cli.output import status_style, terminal_width, wrapped

        coloured, room = status_style(status), terminal_width() - len(indent)
        lines = wrapped(one_line(said), room)
        hints = wrapped(one_line(hints[0]), room) if hints else []
    yield f"{coloured}{'':<{4 - len(status)}}  {row.check:<{_WIDTH}}  {lines[0]}\n"
    for line in (*lines[1:], *hints):
        yield f"{indent}{line}\n"
