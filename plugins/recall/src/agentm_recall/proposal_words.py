"""What a proposal would do, in words for whoever decides: the operator, and the command that has to agree."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from agentm_kernel.plugin import InvalidContentError, Locator, NotFoundError
from agentm_recall.fence import visible
from agentm_recall.inbox import APPEND, REPLACE
from agentm_recall.replacing import replaced

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.inbox import Proposal


def described(backend: StorageBackend, proposal: Proposal) -> str:
    """Who proposes what, and the change."""
    head = f"{proposal.by} proposes to {proposal.action} {proposal.target} ({proposal.kind}, {proposal.made})"
    return f"{visible(head)}\n\n{visible(change_of(backend, proposal)).rstrip()}"


def change_of(backend: StorageBackend, proposal: Proposal) -> str:
    """The new text, or against the note that is there: what it would be then, with its front matter."""
    if proposal.action != REPLACE:
        lead = "adds:\n" if proposal.action == APPEND else ""
        return lead + proposal.body
    target, wanted = Locator(proposal.target), proposal.body
    try:
        current = backend.read(target)
        _, wanted = replaced(target, current, wanted)
    except NotFoundError:
        return f"(no note is there now)\n{wanted}"
    except InvalidContentError:
        pass  # it is refused when it is accepted
    lines = unified_diff(current.splitlines(), wanted.splitlines(), "now", "proposed", lineterm="")
    return "\n".join(lines)
