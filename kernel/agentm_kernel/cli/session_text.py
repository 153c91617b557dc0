"""What an agent reads when a session starts: its plans, its notes, what plugins add, and how to remember."""

from __future__ import annotations

import os
import sys
import time

from agentm_kernel import errors
from agentm_kernel.errors import AgentmError, one_line
from agentm_kernel.projects import HARNESS_DIR
from agentm_kernel.state.files import is_written
from agentm_kernel.state.plans import PLAN, PROGRESS, active_marker, list_plans_and_copies, resolve_active_plan
from agentm_kernel.state.routing import Resolution, state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.cli.hook import HookCall
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.state import Device

_SHOWN = 3
_BEFORE = "before you plan, start work or answer questions about the plan."
_FOR_PLUGINS = 500  # characters that notes leave to whoever speaks after them
_CHARACTERS_PER_TOKEN = 4
_FOR_SENDING = 0.2  # seconds of the deadline that plugins leave, so that what they did not say can be said
EMPTY = "[agentm] Memory is empty: nothing has been saved for this project yet."
OPT_OUT = ".agentm-no-register"
"""A file in the project's folder that keeps that line away: for repositories in which nothing shall be remembered."""


def add_session_text(call: HookCall, project: Resolution, closing: str | None) -> None:
    """Part by part, so that what comes late costs nothing that was there before."""
    from agentm_kernel.device.installed import RECALL
    from agentm_kernel.plugins.table import permitted

    call.doing = "finding the project's state"
    here = project.on_this_device()
    call.add(state_block(here))
    if call.device.plugins.of(RECALL) and permitted(call.device, RECALL):
        from agentm_kernel.process_seam import recall_at_start

        call.doing = "recalling notes"
        call.closing = how_to_remember() if closing is None else closing
        is_quiet = os.path.lexists(os.path.join(project.root, OPT_OUT))
        tokens = max(1, (call.room - _FOR_PLUGINS) // _CHARACTERS_PER_TOKEN)
        try:
            call.add(recall_at_start(call.device, project, tokens).rstrip() or ("" if is_quiet else EMPTY))
        except AgentmError as error:  # the session must start; what broke is shown in it
            hint = f" ({error.hint})" if error.hint else ""
            call.add(one_line(f"[agentm] Notes are not available: {error.message}{hint}"))
    call.doing = "asking plugins"
    for section in _sections(call.device, here, call.time_left - _FOR_SENDING):
        call.add(section)


def state_block(resolution: Resolution) -> str:
    """Where the plans are, and which one is meant: four lines for a plain `PLAN.md`, more for named plans."""
    plans, found = list_plans_and_copies(resolution)
    try:
        is_marked = active_marker(resolution) is not None
    except errors.ActivePlanError:
        is_marked = True  # that the marker cannot be read is said where the active plan is shown
    if plans or is_marked:
        lines = _plan_lines(resolution, plans, is_marked)
    else:
        left = "" if found else left_behind(resolution, PLAN, resolution.root)
        lines = [f"[agentm] {left}"] if left else []
    if found:
        shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
        wait = f"[agentm] Conflict copies of a plan or its progress wait to be settled: {shown}."
        lines.append(f"{wait} Ask the operator; `agentm doctor` says how.")
    return "\n".join(one_line(line) for line in lines)


def _plan_lines(resolution: Resolution, plans: list[str], is_marked: bool) -> list[str]:
    directory = state_directory(resolution)
    first = f"[agentm] Project state for this repo lives in {_place(resolution)}:"
    if plans == [PLAN] and not is_marked:
        return [
            first,
            f"  PLAN.md:     {os.path.join(directory, PLAN)}",
            f"  progress.md: {os.path.join(directory, PROGRESS)}{_not_started(resolution, PROGRESS)}",
            f"Read PLAN.md {_BEFORE}",
        ]
    lines = [first, "Named-plan mode - the plans of this repo:", *(_row(directory, plan) for plan in plans)]
    try:
        if is_marked:
            plan, progress = resolve_active_plan(resolution)
            lines.append(f"Active plan (.harness/active-plan): {os.path.join(directory, plan)}")
            lines.append(_row(directory, progress) + _not_started(resolution, progress))
    except errors.ActivePlanError as error:
        lines.append(f"Active plan: DANGLING - {error.message}; {error.hint}.")
    return [*lines, f"Read the plan you own {_BEFORE}"]


def _row(directory: str, name: str) -> str:
    return f"  {name + ':':<22} {os.path.join(directory, name)}"


def _not_started(resolution: Resolution, progress: str) -> str:
    return "" if is_written(resolution, progress) else " (not started)"


def _place(resolution: Resolution) -> str:
    """Where the state lies; for a store that lies elsewhere also how old the copy is that is shown."""
    store = resolution.backend
    if store is None or not resolution.is_synced:
        return f"{HARNESS_DIR}/"
    from agentm_kernel.seam.backend import DeviceCopy

    age = ""
    if copy := store.facet(DeviceCopy):
        seconds = copy.copy_age()
        age = ", never brought up to date" if seconds is None else f", {seconds / 60:.0f} min old"
        age = f" (a copy of it{age})"
    return f"the synced store at {store.describe()}{age}, not in {HARNESS_DIR}/"


def left_behind(resolution: Resolution, name: str, cwd: str = ".") -> str:
    """That a file in the checkout is not read: state belongs elsewhere, or it is a link. It is moved from `cwd`."""
    forgotten = os.path.join(resolution.root, HARNESS_DIR, name)
    is_plain = os.path.isfile(forgotten) and not os.path.islink(forgotten)
    if not resolution.is_synced and os.path.lexists(forgotten) and not is_plain:
        return one_line(f"{forgotten} is not read: it is no plain file. Put the plan itself there.")
    if not resolution.is_synced or not is_plain:
        return ""
    from shlex import quote

    short = f"{HARNESS_DIR}/{name}"
    source = short if os.path.realpath(os.path.join(cwd, short)) == os.path.realpath(forgotten) else forgotten
    return one_line(
        f"{forgotten} is not used: the state of this repo belongs into {_place(resolution)}. "
        f"To move it there, run `agentm state write {quote(name)} --body-file {quote(source)}`."
    )


def how_to_remember() -> str:
    """Two lines for an agent with a shell. It may be one where this command is not on the search path."""
    program = os.path.abspath(sys.argv[0])
    agentm = program if os.path.basename(program) in ("agentm", "agentm.exe") else "agentm"
    return (
        f"[agentm] To remember a decision or a fact: `{agentm} save --kind decision --slug SHORT-NAME`, the text on "
        f"standard input.\n[agentm] To look something up: `{agentm} search WORDS`."
    )


def _sections(device: Device, project: Resolution, seconds: float) -> Iterator[str]:
    """What plugins add, and a line for each that failed. Where nobody listens, nothing is imported."""
    from agentm_kernel.device.installed import listens_to

    if not any(listens_to(record, "agentm_session_start") for record in device.plugins.records):
        return
    from agentm_kernel.plugins.hooks import PATIENCE, HookCaller
    from agentm_kernel.plugins.hookspecs import HookContext

    end, said = time.monotonic() + min(PATIENCE, seconds), list[str]()
    for own, store in _stores(device, project):
        context = HookContext(own, project.root, project, store)
        caller = HookCaller(context, patience=max(0.1, end - time.monotonic()))
        found = (f"## {section.title}\n\n{section.text}" for section in caller.session_sections())
        for part in (*found, *(one_line(f"[agentm] {failure.message}") for failure in caller.failures)):
            if part not in said:
                said.append(part)
                yield part


def _stores(device: Device, project: Resolution) -> Iterator[tuple[Device, StorageBackend]]:
    """The stores that a session may read from, the project's and the default one, each with the device as it is for
    that store; also where state is local. Of one that cannot be had those tell who need it.
    """
    for name in dict.fromkeys((project.store_name, None)):
        try:
            own = project.backend if name == project.store_name else None
            yield device.of_store(name), own or device.store(name)
        except AgentmError:
            continue
