"""Which hosts there are on this device, and connecting and disconnecting one."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from agentm_hosts.adapter import HostAdapter, mcp_mark
from agentm_hosts.files.connections import carry_out, lacking, plan_connection, plan_disconnection, unrecorded
from agentm_hosts.files.reading import SettingsError, read_settings
from agentm_hosts.files.receipts import receipts
from agentm_hosts.files.recognition import GROUPED, command_of, handlers_of
from agentm_hosts.place import Change, Place
from agentm_kernel.plugin import (
    AgentmError,
    Call,
    PluginError,
    atomic_write,
    current_directory,
    find_project_root,
    load_plugin,
)

if TYPE_CHECKING:
    from agentm_hosts.files.connections import Plan
    from agentm_hosts.files.receipts import Receipt
    from agentm_kernel.plugin import Device

_ALL_HOSTS = "`agentm hosts list` shows all of them"
_PLAIN_PROMISES = {"promised": 0, "best effort": 1, "unproven": 2}


def adapters(device: Device) -> list[HostAdapter]:
    """Every adapter that is installed, the best proven first. One that cannot be loaded is said, and left out."""
    found = []
    for name in sorted({record.name for record in device.plugins.of("agentm.hosts")}):
        try:
            found.append(adapter_named(device, name))
        except PluginError as error:
            sys.stderr.write(f"agentm: {error.message}\n")
    return sorted(found, key=lambda adapter: (_PLAIN_PROMISES.get(adapter.proof, 3), adapter.name))


def adapter_named(device: Device, name: str) -> HostAdapter:
    """The adapter of one host, or `PluginError`, which says what a name nearly is."""
    known = {record.name for record in device.plugins.of("agentm.hosts")}
    if name not in known:
        from difflib import get_close_matches

        if near := get_close_matches(name, sorted(known), n=1):
            raise PluginError(f"there is no agent host '{name}': did you mean {near[0]}?", hint=_ALL_HOSTS)
    found = load_plugin(device, "agentm.hosts", name)
    if not isinstance(found, HostAdapter):
        raise PluginError(
            f"the adapter '{name}' is not a HostAdapter", hint="upgrade the distribution that brings it"
        )
    return found


def launcher(device: Device) -> str:
    """The command as it was called, by its absolute path; links are not followed: upgrades move their ends."""
    called = os.path.abspath(sys.argv[0])
    if os.path.basename(called) in ("agentm", "agentm.exe") and os.access(called, os.X_OK):
        return called
    found = shutil.which("agentm", path=device.environ.get("PATH"))
    if found is None:
        raise AgentmError(
            "the command agentm is not on the search path, so no host could start it",
            hint="install it with `uv tool install agentm-memory` or pipx, and open a new shell",
        )
    return os.path.abspath(found)


def place_for(
    device: Device, scope: str = "user", *, hooks: bool = True, mcp: bool = True, cwd: str | None = None
) -> Place:
    """Where to connect. In a repository, nothing of one user's machine is written."""
    has_mcp = any(record.name == "mcp" for record in device.plugins.of("agentm.commands"))
    is_project = scope == "project"
    return Place(
        home=device.home,
        environ=device.environ,
        launcher="agentm" if is_project else launcher(device),
        state_dir=device.state_dir,
        project=find_project_root(cwd) if is_project else None,
        with_hooks=hooks,
        with_mcp=mcp and has_mcp,
    )


def is_here(adapter: HostAdapter, place: Place) -> bool:
    """Whether a host is on this device. Of one whose adapter cannot say it, that is said."""
    try:
        with Call(f"adapter '{adapter.name}'", "looking for its host"):
            return adapter.is_present(place)
    except PluginError as error:
        sys.stderr.write(f"agentm: {error.message}\n")
        return False


def changes_of(adapter: HostAdapter, place: Place) -> list[Change]:
    """What connecting a host would change, or `PluginError` if its adapter cannot say it."""
    with Call(f"adapter '{adapter.name}'", "saying what it changes"):
        found = list(adapter.changes(place))
        if not all(isinstance(change, Change) for change in found):
            raise TypeError("`changes` answers with a list of Change")
    return found


def plan_for(adapter: HostAdapter, place: Place, *, replace: bool = False) -> list[Plan]:
    """What connecting a host would do, file by file. Files that it no longer needs are put back."""
    plans = [plan_connection(change, place, adapter.name, replace=replace) for change in changes_of(adapter, place)]
    needed = {plan.path for plan in plans}
    return [*plans, *(plan for plan in undoing_plans(place, adapter.name) if plan.path not in needed)]


def undoing_plans(place: Place, host: str) -> list[Plan]:
    """What disconnecting would do, for the scope of the place."""
    return [
        plan_disconnection(receipt)
        for _, receipt in receipts(place.state_dir, host)
        if receipt.scope == place.scope and (place.project is None or is_below(receipt.path, place.project))
    ]


def unrecorded_receipts(adapter: HostAdapter, place: Place) -> list[Receipt]:
    """For each file of the place that starts us and that this device has no record of, what stands in for it."""
    found = []
    try:
        changes = changes_of(adapter, replace(place, with_hooks=True, with_mcp=True))
    except AgentmError:
        return []  # said where it is connected
    for change in changes:
        try:
            found.append(unrecorded(change, place, adapter.name))
        except SettingsError:
            continue  # not a file that we would have written
    return [receipt for receipt in found if receipt is not None]


def disconnecting_plans(adapter: HostAdapter, place: Place) -> list[Plan]:
    """What disconnecting would do, also to files that start us and that this device has no record of."""
    found = unrecorded_receipts(adapter, place)
    return [*undoing_plans(place, adapter.name), *map(plan_disconnection, found)]


def what_is_lost(device: Device, adapter: HostAdapter) -> list[str]:
    """Why a host that was connected does not start us, or starts us and nobody knows: with what to run."""
    again = f"run `agentm connect {adapter.name}"
    found: list[str] = []
    is_known, here = False, find_project_root(current_directory())
    for _, receipt in receipts(device.state_dir, adapter.name):
        if receipt.scope == "user" or is_below(receipt.path, here):
            is_known = True
            scope = "` again" if receipt.scope == "user" else " --scope project` again"
            if lost := lacking(receipt):
                found.append(f"{lost}: {again}{scope}")
            elif os.path.isabs(receipt.program) and not os.access(receipt.program, os.X_OK):
                found.append(f"it starts {receipt.program}, which is not there: {again}{scope}")
    if is_known:
        return list(dict.fromkeys(found))
    for root in (None, here):
        place = Place(device.home, device.environ, "agentm", device.state_dir, project=root)
        option = "" if root is None else " --scope project"
        found += [
            f"{receipt.path} starts agentm, which this device has no record of: {again}{option}`, or "
            f"`agentm disconnect {adapter.name}{option}`"
            for receipt in unrecorded_receipts(adapter, place)
            if root is None or os.path.realpath(root) != os.path.realpath(place.home)
        ]
    return found


def carry_out_all(place: Place, host: str, plans: list[Plan]) -> None:
    """Do it. The mark says to hooks whether our tools are there."""
    done: list[str] = []
    for plan in plans:
        try:
            carry_out(plan, place)
        except SettingsError as error:
            if done:
                error.hint = f"{error.hint}; before it, {', '.join(done)} was changed: run this again"
            raise
        done += [plan.path] if plan.is_change else []
    if place.project is not None:
        return
    mark = mcp_mark(place.state_dir, host)
    if place.with_mcp and any(plan.connects for plan in plans):
        atomic_write(mark, "")
    elif os.path.exists(mark):
        os.unlink(mark)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is in a folder, or is it, wherever links lead."""
    real = os.path.realpath(folder)
    return os.path.realpath(path) == real or os.path.realpath(path).startswith(os.path.join(real, ""))


def hooks_of_the_project(adapter: HostAdapter, place: Place) -> list[str]:
    """What the project that we are in has its agents run, whoever wrote it: the operator should know."""
    root = find_project_root(None)
    found: list[str] = []
    if os.path.realpath(root) == os.path.realpath(place.home):
        return found  # what lies there is the user's own, and no project's
    there = replace(place, project=root, launcher="agentm", with_hooks=True, with_mcp=False)
    for change in changes_of(adapter, there):
        settings = read_settings(change.path)
        listed = settings.get(GROUPED) if change.format != "text" else None
        events = [event for event in listed.values() if isinstance(event, list)] if isinstance(listed, dict) else []
        handlers = [handler for event in events for group in event for handler in handlers_of(group)]
        if any(not command_of(handler) for handler in handlers):
            found.append(f"this project brings hooks of its own, which it runs too: {change.path}")
        if place.project is None and any(command_of(handler) for handler in handlers):
            found.append(
                f"this project connects agentm itself ({change.path}), so its hooks run twice: "
                f"`agentm disconnect {adapter.name}` in one scope"
            )
    return found


def connected_place(device: Device, host: str) -> Place:
    """Where a host is connected, with what it was connected: for all projects, else in the one that we are in."""
    scopes = connected_scopes(device.state_dir, host)
    place = place_for(device, "project" if "project" in scopes and "user" not in scopes else "user")
    found = [receipt for _, receipt in receipts(device.state_dir, host) if receipt.scope == place.scope]
    started = {command_of(entry["value"]).partition(" ")[0] for receipt in found for entry in receipt.entries}
    has_hooks = "hook" in started or any(receipt.format == "text" for receipt in found)
    return replace(place, with_hooks=has_hooks, with_mcp="mcp" in started)


def connected_scopes(state_dir: str, host: str, cwd: str | None = None) -> dict[str, float]:
    """Where a host is connected, for every project or for the one that we are in, and when that was done."""
    found: dict[str, float] = {}
    for file, receipt in receipts(state_dir, host):
        if receipt.scope == "user" or is_below(receipt.path, find_project_root(cwd)):
            found[receipt.scope] = max(found.get(receipt.scope, 0.0), os.stat(file).st_mtime)
    return found
