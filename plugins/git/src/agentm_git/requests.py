"""Pull requests for branches that were pushed: none, a hint how to open one, or the operator's own command."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentm_git.runner import run_bounded
from agentm_kernel.plugin import AgentmError, atomic_write, content_hash, one_line

if TYPE_CHECKING:
    from agentm_git.clone import Clone
    from agentm_git.settings import Settings
    from agentm_kernel.plugin import SyncTrigger

_LIMIT = 60.0


def request(clone: Clone, branch: str, trigger: SyncTrigger) -> tuple[str | None, str | None]:
    """The address of the pull request for `branch` and a line for the operator. What fails here undoes no push."""
    settings = clone.settings
    if settings.pr_policy == "none" or branch == settings.branch:
        return None, None
    if settings.pr_policy == "auto" and settings.pr_command:
        return _by_command(clone, branch, trigger)
    return _link(settings, branch), f"to open a pull request: {_command_for_people(settings, branch)}"


def _by_command(clone: Clone, branch: str, trigger: SyncTrigger) -> tuple[str | None, str | None]:
    settings = clone.settings
    record = os.path.join(clone.private.path, f"request-{content_hash(branch)[:16]}")
    if os.path.exists(record):
        with open(record, encoding="utf-8") as file:
            return file.read(), None
    told = {
        "AGENTM_GIT_BRANCH": branch,
        "AGENTM_GIT_BASE": settings.branch,
        "AGENTM_GIT_REMOTE": settings.remote,
        "AGENTM_GIT_INSTALLATION_ID": settings.installation_id,
        "AGENTM_GIT_CONVERSATION": trigger.conversation or "",
        "AGENTM_GIT_TURN": trigger.turn or "",
    }
    by_hand = f"open it by hand: {_command_for_people(settings, branch)}"
    try:
        status, output, _ = run_bounded(
            list(settings.pr_command), {**clone.environ, **told}, clone.folder.root, None, _LIMIT
        )
    except AgentmError as error:
        return _link(settings, branch), f"the pull request was not opened ({error.message}); {by_hand}"
    lines = output.decode(errors="replace").split()
    url = next((line for line in reversed(lines) if line.startswith(("https://", "http://"))), None)
    if status or url is None:
        why = f"plugins.git.pr_command ended with {status}" if status else "plugins.git.pr_command printed no address"
        return _link(settings, branch), f"the pull request was not opened ({why}); {by_hand}"
    url = one_line(url)
    atomic_write(record, url)
    return url, f"pull request for {branch}"


def _command_for_people(settings: Settings, branch: str) -> str:
    return f"`gh pr create --base {shlex.quote(settings.branch)} --head {shlex.quote(branch)} --fill`"


def _link(settings: Settings, branch: str) -> str | None:
    """Where a browser opens one, on hosts that are like GitHub."""
    if not settings.remote.startswith("https://"):
        return None
    return f"{settings.remote.removesuffix('.git')}/compare/{quote(settings.branch)}...{quote(branch)}?expand=1"
