"""The branch that a push goes to, by policy and trigger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import content_hash

if TYPE_CHECKING:
    from agentm_git.settings import Settings
    from agentm_kernel.plugin import SyncTrigger

PREFIX = "agentm"
_ROOM = 60


def branch_for(settings: Settings, trigger: SyncTrigger, commit: str) -> str:
    """The origin's branch for what was done on this trigger. Without a name for it, the commit gives one."""
    if settings.branch_policy == "main":
        return settings.branch
    parts = [trigger.conversation]
    if settings.branch_policy == "per-turn":
        parts.append(trigger.turn)
    named = [_safe(part) for part in parts if part]
    kind = "turn" if settings.branch_policy == "per-turn" else "conversation"
    if len(named) < len(parts) and (kind == "conversation" or not trigger.turn):
        return f"{PREFIX}/{kind}-{commit[:12]}"
    return f"{PREFIX}/{kind}-{'-'.join(named)}"


def _safe(text: str) -> str:
    """A name of a host as part of the name of a branch: what git or a shell could misread is replaced, and then a
    hash keeps two such names apart.
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in text)[:_ROOM].strip("-")
    return plain if plain == text else f"{plain or 'x'}-{content_hash(text)[:8]}"
