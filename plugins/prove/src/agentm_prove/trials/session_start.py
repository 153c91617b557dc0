"""A session starts in a project that has a plan: does the hook's answer name it?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from agentm_prove.trial import Broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_prove.laboratory import Home, Laboratory

_LIMIT = 20.0
_PLAN = "- [ ] the plan of a trial\n"
AGENTM = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


def run(laboratory: Laboratory) -> str:
    home = project_with_plan(laboratory)
    text = session_text(home, ())
    check_named(home, text, "the hook")
    return f"the hook's answer of {len(text)} characters names the project's plan"


def project_with_plan(laboratory: Laboratory) -> Home:
    """A home with a project that has a plan, made with agentm itself."""
    home = laboratory.fresh()
    home.opened().ask("write", key="note.md", text="a note\n")
    os.mkdir(os.path.join(home.project, ".git"))
    with open(os.path.join(home.project, ".git", "HEAD"), "w", encoding="ascii") as head:
        head.write("ref: refs/heads/main\n")
    done = agentm(home, ("state", "write", "PLAN.md"), _PLAN)
    if done.returncode:
        raise Broken(f"`agentm state write PLAN.md` exited {done.returncode}: {done.stderr.strip()}")
    return home


def session_text(home: Home, options: Sequence[str]) -> str:
    """What an agent host reads from `agentm hook session-start`."""
    event = {
        "session_id": "agentm-prove",
        "cwd": home.project,
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    done = agentm(home, ("hook", "session-start", *options), json.dumps(event))
    if done.returncode:
        raise Broken(f"`agentm hook session-start` exited {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def check_named(home: Home, text: str, who: str) -> None:
    """Raise unless `text`, whatever its envelope, names the plan of the project."""
    plan = agentm(home, ("state", "path", "PLAN.md"), "").stdout.strip()
    spellings = {plan, json.dumps(plan)[1:-1]}
    if not plan or not any(spelling in text for spelling in spellings):
        raise Broken(f"the project has a plan, and {who} did not say so: it said {text[:200]!r}")


def agentm(home: Home, arguments: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, in the project of `home`."""
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-P", "-c", AGENTM, *arguments],
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_LIMIT,
        env=home.environ,
        cwd=home.project,
        check=False,
    )
