"""`agentm inbox`: what agents want to save, for the operator to take or to turn down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import (
    answering,
    counted,
    current_device,
    echo_json,
    echo_table,
    json_option,
    show_text,
    shown,
)
from agentm_kernel.plugin import AgentmError, NotFoundError
from agentm_recall.asking import ask_command, ask_operator
from agentm_recall.inbox import (
    accept,
    find,
    inbox_stores,
    is_expired,
    look,
    looked_at,
    placed,
    refuse_expired,
    reject,
)
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.proposal_words import change_of, described

if TYPE_CHECKING:
    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.inbox import Proposal


@click.group("inbox")
def command() -> None:
    """Look at what agents propose to remember, and take it or turn it down.

    Only with `agentm config set capture.approve all` (or kinds: decision,convention) do agents propose; otherwise
    they save. A proposal is not recalled and not found by any search until it is accepted.
    """


@command.command("list")
@json_option
def list_proposals(as_json: bool) -> None:
    """List the proposals, the oldest first; those that waited too long are marked and can no longer be accepted."""
    stores = _stores(read_only=True)
    _name_others(stores)
    found = [look(store) for store in stores]
    proposals = [proposal for waiting, _ in found for proposal in waiting]
    problems = [problem for _, others in found for problem in others]
    if as_json:
        echo_json(proposals=[_as_json(proposal) for proposal in proposals], problems=dict(problems))
        return
    config = current_device().config
    if not proposals and not problems:
        click.echo("nothing is proposed")
        return
    echo_table(
        ("made", "by", "does", "proposal"),
        [
            (
                proposal.made[:16].replace("T", " ") + (" (expired)" if is_expired(proposal, config) else ""),
                proposal.by,
                f"{proposal.action} {proposal.target}",
                proposal.name,
            )
            for proposal in proposals
        ],
    )
    for key, why in problems:
        click.echo(shown(f"{key}: {why}", err=True), err=True)


@command.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show what the proposal NAME (or a part of its name) would do: the new text, or what would change."""
    store, proposal = looked_at(current_device(), *_find(name, read_only=True))
    if as_json:
        echo_json(**_as_json(proposal), body=proposal.body, change=change_of(store, proposal))
    else:
        show_text(described(store, proposal) + "\n")


@command.command("accept")
@click.argument("names", nargs=-1, required=True)
@answering
def accept_proposals(names: tuple[str, ...], answer: dict[str, list[dict[str, object]]]) -> None:
    """Make notes of the proposals NAMES, after asking you on the terminal.

    Where `inbox.confirm` names a command, it has to agree as well: it gets what it is about on standard input, and
    any exit code but 0 is a no. A note that changed since the proposal was made is left alone.
    """
    device = current_device()
    done = answer.setdefault("accepted", [])
    for name in names:
        backend, proposal = _find(name, read_only=False)
        refuse_expired(proposal, device.config)
        store, proposal = placed(device, backend, proposal)
        words = described(store, proposal)
        ask_operator(words, "Accept this?")
        confirm = device.config.get("inbox.confirm")
        if confirm:
            ask_command(str(confirm), words)
        target, *superseded = accept(backend, proposal, store)
        RecallIndex(store).note_written([target, *superseded])
        done.append({"name": proposal.name, "note": target.key, "superseded": [each.key for each in superseded]})
        click.echo(f"accepted {target}")
        for each in superseded:
            click.echo(f"superseded {each}")


@command.command("reject")
@click.argument("names", nargs=-1, required=True)
@answering
def reject_proposals(names: tuple[str, ...], answer: dict[str, list[str]]) -> None:
    """Turn the proposals NAMES down, after asking you on the terminal."""
    done = answer.setdefault("rejected", [])
    for name in names:
        backend, proposal = _find(name, read_only=False)
        ask_operator(described(*looked_at(current_device(), backend, proposal)), "Reject this?")
        reject(backend, proposal)
        done.append(proposal.name)
        click.echo(f"rejected {proposal.name}")


def _stores(*, read_only: bool) -> list[StorageBackend]:
    stores, problem = inbox_stores(current_device(), read_only=read_only)
    if problem is not None:
        said = f"the store of this directory's project cannot be had: {problem.message}"
        click.echo(shown(said, err=True), err=True)
    return stores


def _name_others(listed: list[StorageBackend]) -> None:
    """Say what waits in further stores, as it does when a project has left one; what cannot be had is passed over."""
    device = current_device()
    places = [store.describe() for store in listed]
    for name in device.config.stores if device.store_name is None else ():
        try:
            store = device.store(name)
            count = 0 if store.describe() in places else len(look(store)[0])
        except AgentmError:
            continue
        if count:
            waiting = f"{counted(count, 'proposal')} {'waits' if count == 1 else 'wait'} in the store '{name}'"
            click.echo(f"{waiting}; shown by `agentm --store {name} inbox list`", err=True)


def _find(name: str, *, read_only: bool) -> tuple[StorageBackend, Proposal]:
    """The one proposal that is meant, and the store that it waits in."""
    *others, last = _stores(read_only=read_only)
    for store in others:
        try:
            return store, find(store, name)
        except NotFoundError:
            continue
    return last, find(last, name)


def _as_json(proposal: Proposal) -> dict[str, Any]:
    return {
        "name": proposal.name,
        "action": proposal.action,
        "target": proposal.target,
        "kind": proposal.kind,
        "by": proposal.by,
        "made": proposal.made,
        "expired": is_expired(proposal, current_device().config),
        "hash": proposal.hash,
    }
