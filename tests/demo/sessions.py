"""One laptop: an agent is connected, forgets nothing between two sessions, and what it changed can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.demo.stage import Device, a_project, make, say, session_start, title

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "Payments use SQLite: one writer, no server to run."


def show(scratch: Path) -> None:
    laptop = Device("laptop", make(scratch / "laptop"))
    project = a_project(laptop)
    an_agent_is_connected(laptop, project)
    a_session_remembers(laptop, project)
    a_change_is_undone(laptop, project)


def an_agent_is_connected(device: Device, project: Path) -> None:
    title("1. One command connects the agents of this machine (Claude Code was used here before)")
    make(device.home / ".claude")
    device.run("agentm setup --yes", cwd=project)


def a_session_remembers(device: Device, project: Path) -> None:
    title("2. In one session something is decided, and the next session knows it")
    device.run(f"echo '{NOTE}' | agentm save --kind decision --slug payments-sqlite", cwd=project)
    device.run("echo '# Plan: ship the widget' | agentm state write PLAN.md", cwd=project)
    say("…and this is what the next session begins with:")
    device.run("agentm hook session-start --host plain", cwd=project, stdin=session_start(project))


def a_change_is_undone(device: Device, project: Path) -> None:
    title("3. An agent changes its mind for the worse; you undo it")
    device.run(
        "echo 'Payments use a spreadsheet.' | agentm save --kind decision --slug payments-sqlite --update",
        cwd=project,
    )
    device.run("agentm notes undo payments-sqlite", cwd=project)
    device.run("agentm search 'what do payments use'", cwd=project)


def show_the_page(scratch: Path) -> None:
    title("8. A person looks: `agentm view` opens the page, and writes it as files where that is wanted")
    laptop = Device("laptop", scratch / "laptop")
    laptop.run(f"agentm view --export {scratch / 'page'}", cwd=laptop.home / "widgets")
    pages = [path for path in (scratch / "page").rglob("*") if path.is_file()]
    say(f"{len(pages)} files that any browser opens, with a search, without a server")
