"""Two devices, one vault: a plan that follows its project, a conflict copy, and a vault that is not there."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.demo.stage import Device, a_project, make, say, session_start, title

if TYPE_CHECKING:
    from pathlib import Path


def show(scratch: Path) -> None:
    vault = scratch / "Vault"
    vault.mkdir()
    first, second = (Device(name, make(scratch / name)) for name in ("desk", "tower"))
    project, other_clone = a_project(first), a_project(second)
    a_plan_goes_to_the_vault(first, project, vault)
    the_other_device_finds_it(second, other_clone, vault)
    a_conflict_copy_is_neither_a_plan_nor_lost(first, project, vault)
    a_vault_that_is_not_there_is_refused(first, project, vault)


def a_plan_goes_to_the_vault(device: Device, project: Path, vault: Path) -> None:
    title("6. A project's plan, kept in a vault")
    device.run(f"agentm vault init {vault} --create --use", cwd=project)
    device.run("echo '# Plan: ship the widget' | agentm state write PLAN.md", cwd=project)
    device.run("echo '- sketched it' | agentm state append progress.md", cwd=project)
    say("…and what the agent reads when a session starts:")
    device.run("agentm hook session-start --host plain", cwd=project, stdin=session_start(project))


def the_other_device_finds_it(device: Device, project: Path, vault: Path) -> None:
    title("   Another device, with its own clone and the same vault")
    device.run(f"agentm vault init {vault} --use", cwd=project)
    device.run("agentm state read PLAN.md", cwd=project)
    device.run("echo '- built it' | agentm state append progress.md", cwd=project)


def a_conflict_copy_is_neither_a_plan_nor_lost(device: Device, project: Path, vault: Path) -> None:
    title("   The sync tool could not decide, and left a conflict copy")
    state = vault / "projects" / "widgets" / "_harness"
    copy = state / "progress.sync-conflict-20261116-101500-ABCDEFG.md"
    copy.write_text("- sketched it\n- asked for a review\n")
    say(f"{copy.name} lies beside the note")
    device.run("agentm state list", cwd=project)
    device.run("agentm vault conflicts", cwd=project)
    device.run("agentm vault resolve --union", cwd=project)
    device.run("agentm state read progress.md", cwd=project)


def a_vault_that_is_not_there_is_refused(device: Device, project: Path, vault: Path) -> None:
    title("7. The vault is not mounted; an empty folder is in its place")
    moved = vault.with_name("unplugged")
    vault.rename(moved)
    vault.mkdir()
    device.run("agentm state read PLAN.md", cwd=project)
    device.run("agentm hook session-start --host plain", cwd=project, stdin=session_start(project))
    shutil.rmtree(vault)
    moved.rename(vault)
    say("mounted again:")
    device.run("agentm state read PLAN.md", cwd=project)
