"""The inbox on a person's page: what agents propose, both texts side by side, to be taken or turned down.

Whoever has the page's key is the operator, so nobody is asked on a terminal. The command `inbox.confirm` has to agree
here as well. What is taken is what was shown: proposal and note are compared by hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import ConcurrentModificationError, Locator, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import HookContext, StorageBackend
    from agentm_recall.inbox import Proposal

    Query = Mapping[str, str]

_MOST = 20


def show(context: HookContext, _query: Query) -> list[Mapping[str, Any]]:
    """Each proposal with its text, the oldest first."""
    from agentm_recall.inbox import inbox_stores, look

    stores, problem = inbox_stores(context.device, context.cwd, read_only=True)
    found = [(store, look(store)) for store in stores]
    waiting = [(store, proposal) for store, (proposals, _) in found for proposal in proposals]
    blocks: list[Mapping[str, Any]] = []
    confirm = context.device.config.get("inbox.confirm")
    if waiting and confirm:
        blocks.append(
            {"type": "text", "text": f"Before one is accepted, this command has to agree: {confirm}", "quiet": True}
        )
    blocks += [_block(context, store, proposal) for store, proposal in waiting[:_MOST]]
    if len(waiting) > _MOST:
        blocks.append({"type": "text", "text": f"{len(waiting) - _MOST} more are shown when these are settled."})
    rows: list[Mapping[str, Any]] = [
        {"status": "warn", "label": key, "text": why, "hint": "repair the file or move it away"}
        for _, (_, problems) in found
        for key, why in problems
    ]
    if problem is not None:
        rows.append(
            {"status": "warn", "label": "this folder's project", "text": problem.message, "hint": problem.hint}
        )
    return [*blocks, {"type": "rows", "rows": rows}] if rows else blocks


def _block(context: HookContext, store: StorageBackend, proposal: Proposal) -> Mapping[str, Any]:
    from agentm_recall.inbox import APPEND, REPLACE, SAVE, days_of, is_expired, looked_at

    store, proposal = looked_at(context.device, store, proposal)
    now = _text(store, proposal.target)
    words = {SAVE: "a new note", REPLACE: "a new text for the note", APPEND: "more text at the end of the note"}
    said = f"{proposal.by} proposes {words.get(proposal.action, proposal.action)} ({proposal.kind})."
    fields = {"name": proposal.name, "hash": proposal.hash}
    actions = [
        {"action": "accept", "label": "Accept", "fields": fields, "first": True},
        {"action": "reject", "label": "Reject", "fields": fields, "danger": True},
    ]
    if is_expired(proposal, context.device.config):
        said += f" It has waited more than {days_of(context.device.config)} days and cannot be accepted any more."
        actions = actions[1:]
    common = {
        "title": proposal.target,
        "text": said,
        "time": _seconds(proposal.made),
        "note": proposal.target if now is not None else "",
        "actions": actions,
    }
    if proposal.action == REPLACE and now is not None:
        left, right = {"title": "The note now", "text": now}, {"title": "Proposed", "text": proposal.body}
        return {"type": "sides", **common, "left": left, "right": right}
    return {"type": "card", **common, "markdown": proposal.body}


def accept_shown(context: HookContext, fields: Query) -> str:
    from agentm_recall.asking import ask_command
    from agentm_recall.inbox import accept, placed, refuse_expired
    from agentm_recall.index.maintenance import RecallIndex
    from agentm_recall.proposal_words import described

    inbox, shown = _shown(context, fields)
    refuse_expired(shown, context.device.config)
    store, proposal = placed(context.device, inbox, shown)
    confirm = context.device.config.get("inbox.confirm")
    if confirm:
        ask_command(str(confirm), described(store, proposal))
    target, *superseded = accept(inbox, proposal, store)
    RecallIndex(store).note_written([target, *superseded])
    return "; ".join((f"Accepted: {target}", *(f"superseded: {each}" for each in superseded)))


def reject_shown(context: HookContext, fields: Query) -> str:
    from agentm_recall.inbox import reject

    store, proposal = _shown(context, fields)
    reject(store, proposal)
    return "Rejected. The log keeps that it was proposed."


def _shown(context: HookContext, fields: Query) -> tuple[StorageBackend, Proposal]:
    """The proposal that the page showed, if it is still that; and its store, to write to."""
    from agentm_recall.inbox import inbox_stores, pending

    name = fields.get("name", "")
    stores, _ = inbox_stores(context.device, context.cwd, read_only=False)
    for store in stores:
        for proposal in pending(store):
            if proposal.name == name and proposal.hash == fields.get("hash"):
                return store, proposal
    raise ConcurrentModificationError(
        f"the proposal '{name}' was changed or settled meanwhile; nothing was done", hint="look at the inbox again"
    )


def _text(store: StorageBackend, key: str) -> str | None:
    try:
        return store.read(Locator(key))
    except NotFoundError:
        return None


def _seconds(made: str) -> float | None:
    from datetime import datetime

    try:
        return datetime.fromisoformat(made).timestamp()
    except ValueError:
        return None
