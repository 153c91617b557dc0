"""`agentm checkpoint`: take checkpoints and list them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import take
from agentm_checkpoint.command_accept import accept_command
from agentm_checkpoint.command_context import CommandContext, bar, fields_of, silent
from agentm_checkpoint.command_history import history_command, undo_command
from agentm_checkpoint.command_ipfs import ipfs_option, pull_command, push_command, push_to
from agentm_checkpoint.command_restore import prune_command, restore_command
from agentm_checkpoint.command_verify import diff_command, verify_command
from agentm_checkpoint.known_good import Record
from agentm_checkpoint.lockdown import first_unguarded, know_first, say_unguarded, turn_on
from agentm_checkpoint.lost_stores import all_images
from agentm_checkpoint.past import older_images
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.sealed import opened
from agentm_checkpoint.texts import counted, visible
from agentm_kernel.command import current_device, echo_json, echo_table, json_option, show_text
from agentm_kernel.plugin import Locator, NotFoundError, known_stores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_checkpoint.capture import Taken
    from agentm_checkpoint.local_state import LocalState
    from agentm_checkpoint.snapshot import Snapshot


_SHORT, _LONGEST = 16, 100
"""Characters of an id; the first seven are the same in all of them."""


@click.group("checkpoint")
def command() -> None:
    """Take checkpoints of the store, compare, verify and restore them."""


@command.command("create")
@click.option("--reason", default="", help="Why, in a few words.")
@click.option("--full", is_flag=True, help="Read every note, and replace what is damaged in the image.")
@click.option("--allow-skipped", is_flag=True, help="Succeed although some entries are not notes.")
@ipfs_option("Also push it to the IPFS daemon at URL (default: the configured one).")
@json_option
def create(reason: str, full: bool, allow_skipped: bool, ipfs: str | None, as_json: bool) -> int:
    """Take a checkpoint of the whole store.

    If nothing has changed since the last one, that one stands. Entries that are not notes are named; then the exit
    code is 1 unless they are allowed.
    """
    here = CommandContext(read_only=False)
    here.report_damage()
    here.history.prune()
    local = here.local_state()
    taken = take(
        here.store,
        here.image,
        author=here.settings.author,
        reason=reason or "by hand",
        progress=silent if as_json else bar,
        full=full,
        local=local,
    )
    guard_lines = _look_to_guard(here, taken)
    sent = push_to(here, taken.snapshot, ipfs, as_json) if ipfs is not None else None
    if as_json:
        fields = {**fields_of(taken.snapshot), "new": taken.is_new, "skipped": taken.skipped}
        left_out = {} if local is None else {local.checkouts[name]: names for name, names in local.left_out.items()}
        echo_json(**fields, **({} if sent is None else {"blocks_sent": sent}), left_out=left_out)
    else:
        verb = "took" if taken.is_new else "nothing has changed since"
        click.echo(f"{verb} checkpoint {taken.snapshot.id} of {counted(taken.snapshot.root.notes, 'file')}")
        _echo_left_out(taken, local)
        if sent is not None:
            click.echo(f"pinned on IPFS; {counted(sent, 'block')} sent")
    for line in guard_lines:
        click.echo(line, err=True)
    return int(bool(taken.skipped) and not allow_skipped)


def _look_to_guard(here: CommandContext, taken: Taken) -> list[str]:
    """Turn the guard on if this is the first checkpoint that knows notes for it; else say what nothing guards."""
    if here.guard is not None:
        return []
    record = Record(here.folder)
    count = know_first(taken.leaves, here.image, record, here.device, here.backend)
    if count:
        return [f"{counted(count, 'guarded note')} known to be good as in this checkpoint; {turn_on(here.device)}"]
    key = first_unguarded(here.backend, here.device)
    return [] if key is None else ["; ".join(say_unguarded(visible(key), record, here.device))]


def _echo_left_out(taken: Taken, local: LocalState | None) -> None:
    for entry in taken.skipped:
        click.echo(f"not a note, not in the checkpoint: {visible(entry)}", err=True)
    if local is None:
        return
    for checkout, names in local.left_out.items():
        listed = ", ".join(map(visible, names))
        why = "it may hold a secret, is no text, or is too much"
        click.echo(f"not kept of {visible(local.checkouts[checkout])}/.harness: {listed} ({why})", err=True)


@command.command("list")
@click.option("--all-stores", is_flag=True, help="The stores that have checkpoints on this device, also those gone.")
@json_option
def list_command(all_stores: bool, as_json: bool) -> None:
    """List the checkpoints of this store on this device, oldest first; `auto` marks those that restores took."""
    if all_stores:
        _list_stores(as_json)
        return
    here = CommandContext()
    here.report_damage()
    older = [shot for image in older_images(here.backend, here.device) for shot in image.snapshots]
    if as_json:
        echo_json(
            image=here.image.path,
            damage=here.image.damage,
            checkpoints=[fields_of(snapshot) for snapshot in here.image.snapshots],
            older=[fields_of(snapshot) for snapshot in older],
        )
        return
    if not here.image.snapshots:
        click.echo("no checkpoints yet; `agentm checkpoint create` takes one")
    else:
        _echo_snapshots(here.image.snapshots)
    if older:
        click.echo("of the store before, from which the notes came; `restore` takes these too, by their ids:")
        _echo_snapshots(older)


def _echo_snapshots(snapshots: Sequence[Snapshot]) -> None:
    """On a terminal, the beginnings of ids, as far as they tell one from the other: every command takes those."""
    length = _SHORT if sys.stdout.isatty() else 100
    while length < _LONGEST and len({shot.id[:length] for shot in snapshots}) < len({shot.id for shot in snapshots}):
        length += 1
    echo_table(
        ("id", "taken", "files", "bytes", "by", "", "reason"),
        [
            (
                shot.id[:length],
                shot.when,
                f"{shot.root.notes:,}",
                f"{shot.root.size:,}",
                visible(shot.author),
                "auto" if shot.automatic else "",
                visible(shot.reason),
            )
            for shot in snapshots
        ],
    )


def _list_stores(as_json: bool) -> None:
    """Needs no store: it is for finding those that are gone."""
    device = current_device()
    places: dict[str, list[str]] = {}
    for _, place, store_id in known_stores(device.state_dir):
        places.setdefault(store_id, []).append(place)
    found = [(image, image.latest(), places.get(image.store, [])) for image in all_images(device)]
    if as_json:
        echo_json(
            stores=[
                {
                    "store": image.store,
                    "image": image.path,
                    "damage": image.damage,
                    "checkpoints": len(image.snapshots),
                    "latest": fields_of(latest) if latest else None,
                    "places": at,
                }
                for image, latest, at in found
            ]
        )
        return
    if not found:
        click.echo("no checkpoints of any store on this device")
        return
    echo_table(
        ("store", "checkpoints", "latest", "taken", "files", "place"),
        [
            (
                visible(image.store),
                str(len(image.snapshots)),
                latest.id if latest else "-",
                latest.when if latest else "-",
                f"{latest.root.notes:,}" if latest else "-",
                ", ".join(map(visible, at)) or "no known place",
            )
            for image, latest, at in found
        ],
    )


@command.command("show")
@click.argument("name", metavar="[ID]", default="latest")
@click.option("--path", metavar="PATH", help="Print that note as it was, byte for byte.")
@json_option
def show(name: str, path: str | None, as_json: bool) -> None:
    """Show a checkpoint, by default the latest: what it is and which notes it holds."""
    here = CommandContext()
    snapshot, image = here.find(name)
    leaves = read_tree(snapshot.root, image.fetch)
    if path is not None:
        leaf = leaves.get(Locator(path).key)
        if leaf is None:
            raise NotFoundError(f"the checkpoint has no note '{path}'", hint=f"`agentm checkpoint show {name}`")
        text = opened(here.backend, Locator(path).key, read_note(leaf, image.fetch))
        show_text(text.decode("utf-8", "surrogateescape"))
        return
    if as_json:
        echo_json(**fields_of(snapshot), entries={key: leaf[0] for key, leaf in sorted(leaves.items())})
        return
    shown = {**fields_of(snapshot), "time": snapshot.when}
    echo_table(("", ""), [(label, visible(str(value))) for label, value in shown.items() if value is not None])
    for key in sorted(leaves):
        click.echo(f"  {visible(key)}")
    state = image.device_state(snapshot)
    for root in sorted(state.checkouts.values()) if state is not None else ():
        click.echo(f"with .harness/ of {visible(root)} on this device")


for subcommand in (
    diff_command,
    verify_command,
    history_command,
    undo_command,
    restore_command,
    prune_command,
    accept_command,
    push_command,
    pull_command,
):
    command.add_command(subcommand)
