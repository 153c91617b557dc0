"""Reading a document of another workspace: allowed by the configuration or by the operator, and recorded."""

from __future__ import annotations

import os
import sys

from agentm_storage_policy import audit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_storage_policy.host import Host

EVENT = "storage.ref.cross-workspace"


def may_cross(host: Host, workspace: str, other: str, ref: str) -> bool:
    """Whether a document in `workspace` may refer to one in `other`. Whatever the answer, it is recorded."""
    if other in host.shared:
        how, allowed = "plugins.policy.shared", True
    else:
        how, allowed = "operator", _operator_agrees(host, workspace, other)
    fields = {"workspace": workspace, "other": other, "ref": ref, "actor": host.actor.user, "decided_by": how}
    audit.record(host.opening, EVENT if allowed else f"{EVENT}.denied", fields)
    return allowed


def record_owner_change(host: Host, owner: str, ref: str) -> None:
    """A slug of somebody else's namespace was resolved."""
    fields = {"owner": owner, "ref": ref, "actor": host.actor.user}
    audit.record(host.opening, "storage.ref.cross-owner", fields)


def _operator_agrees(host: Host, workspace: str, other: str) -> bool:
    """Ask, if there is a terminal to ask on and this is not a hook."""
    if host.opening.read_only or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    here, there = os.path.basename(workspace), _printable(other)
    sys.stderr.write(f"The policy of '{_printable(here)}' refers to another workspace: {there}\nAllow it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
