"""`agentm checkpoint`: take checkpoints and look at them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import survey, take
from agentm_checkpoint.command_ipfs import ipfs_option, pull_command, push_command, push_to
from agentm_checkpoint.command_restore import accept_command, prune_command, restore_command
from agentm_checkpoint.comparing import compare, name_sections
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.verifying import verified_leaves, verify_image
from agentm_checkpoint.words import counted
from agentm_checkpoint.workplace import Workplace, bar, fields_of, silent
from agentm_kernel.command import echo_json, echo_table, json_option
from agentm_kernel.plugin import Locator, NotFoundError

if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.comparing import Difference
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Blocks, Leaf
    from agentm_checkpoint.verifying import Verification

_SHOWN_SECTIONS = 8


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
    place = Workplace(read_only=False)
    place.report_damage()
    taken = take(
        place.store,
        place.image,
        author=place.settings.author,
        reason=reason or "by hand",
        progress=silent if as_json else bar,
        full=full,
    )
    sent = push_to(place, taken.snapshot, ipfs, as_json) if ipfs is not None else None
    fields = {**fields_of(taken.snapshot), "new": taken.is_new, "skipped": taken.skipped}
    if as_json:
        echo_json(**fields, **({} if sent is None else {"blocks_sent": sent}))
    else:
        verb = "took" if taken.is_new else "nothing has changed since"
        click.echo(f"{verb} checkpoint {taken.snapshot.id} of {counted(taken.snapshot.root.notes, 'note')}")
        for entry in taken.skipped:
            click.echo(f"not a note, not in the checkpoint: {entry}", err=True)
        if sent is not None:
            click.echo(f"pinned on IPFS; {counted(sent, 'block')} sent")
    return int(bool(taken.skipped) and not allow_skipped)


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the checkpoints of this store on this device, oldest first."""
    place = Workplace()
    place.report_damage()
    if as_json:
        echo_json(
            image=place.image.path,
            damage=place.image.damage,
            checkpoints=[fields_of(snapshot) for snapshot in place.image.snapshots],
        )
        return
    if not place.image.snapshots:
        click.echo("no checkpoints yet; `agentm checkpoint create` takes one")
        return
    echo_table(
        ("id", "taken", "notes", "bytes", "by", "reason"),
        [
            (shot.id, when(shot), f"{shot.root.notes:,}", f"{shot.root.size:,}", shot.author, shot.reason)
            for shot in place.image.snapshots
        ],
    )


@command.command("show")
@click.argument("name", metavar="[ID]", default="latest")
@click.option("--path", metavar="PATH", help="Print that note as it was, byte for byte.")
@json_option
def show(name: str, path: str | None, as_json: bool) -> None:
    """Show a checkpoint, by default the latest: what it is and which notes it holds."""
    place = Workplace()
    snapshot = place.image.find(name)
    leaves = read_tree(snapshot.root, place.image.fetch)
    if path is not None:
        leaf = leaves.get(Locator(path).key)
        if leaf is None:
            raise NotFoundError(f"the checkpoint has no note '{path}'", hint=f"`agentm checkpoint show {name}`")
        sys.stdout.buffer.write(read_note(leaf, place.image.fetch))
        return
    if as_json:
        echo_json(**fields_of(snapshot), entries={key: leaf[0] for key, leaf in sorted(leaves.items())})
        return
    shown = {**fields_of(snapshot), "time": when(snapshot)}
    echo_table(("", ""), [(label, str(value)) for label, value in shown.items() if value is not None])
    for key in sorted(leaves):
        click.echo(f"  {key}")


@command.command("diff")
@click.argument("before", metavar="[ID", default="latest")
@click.argument("after", metavar="[ID]]", required=False)
@json_option
def diff(before: str, after: str | None, as_json: bool) -> None:
    """Show what changed between two checkpoints, or between one (by default the latest) and the store as it is.

    For notes that changed, the headings and code blocks that did are named.
    """
    place = Workplace()
    first = _leaves(place, before)
    unsaved: Blocks = {}
    if after is not None:
        second = _leaves(place, after)
    else:
        contents = survey(place.store, place.image)
        second, unsaved = contents.leaves, contents.blocks

    def fetch(cid: Cid) -> bytes:
        return unsaved[cid] if cid in unsaved else place.image.fetch(cid)

    differences = compare(first, second)
    name_sections(
        differences,
        lambda key: read_note(first[key], place.image.fetch),
        lambda key: read_note(second[key], fetch),
    )
    if as_json:
        echo_json(differences=[_as_json(difference) for difference in differences])
        return
    for difference in differences:
        click.echo(f"{difference.kind:8} {difference.key}")
        for line in difference.sections[:_SHOWN_SECTIONS]:
            click.echo(f"           {line}")
        if len(difference.sections) > _SHOWN_SECTIONS:
            click.echo(f"           and {len(difference.sections) - _SHOWN_SECTIONS} more")
    if not differences:
        click.echo("no differences")


def _leaves(place: Workplace, name: str) -> dict[str, Leaf]:
    return read_tree(place.image.find(name).root, place.image.fetch)


def _as_json(difference: Difference) -> dict[str, object]:
    return {"note": difference.key, "kind": difference.kind, "sections": difference.sections}


@command.command("verify")
@click.argument("name", metavar="[ID]", required=False)
@json_option
def verify(name: str | None, as_json: bool) -> int:
    """Compare every block of the image with its id, and every guarded note with what is known to be good.

    With ID, only that checkpoint. The exit code is 1 if anything is wrong.
    """
    place = Workplace()
    if name is not None:
        snapshot = place.image.find(name)
        verified_leaves(place.image, snapshot)
        if as_json:
            echo_json(**fields_of(snapshot), whole=True)
        else:
            click.echo(f"{snapshot.id} is whole: {counted(snapshot.root.notes, 'note')}")
        return 0
    found = verify_image(place.image)
    problems = place.guarded_problems()
    if as_json:
        echo_json(
            image=place.image.path,
            damage=found.damage,
            checkpoints=len(place.image.snapshots),
            broken=[{"id": finding.snapshot.id, "problem": finding.problem} for finding in found.findings],
            last_whole=found.last_whole.id if found.last_whole else None,
            guarded=problems,
        )
    else:
        _echo_verification(found, len(place.image.snapshots))
        _echo_guarded(place, problems)
    return int(not found.is_good or bool(problems))


def _echo_verification(found: Verification, total: int) -> None:
    if found.damage:
        click.echo(f"damaged: {found.damage}")
    for finding in found.findings:
        click.echo(f"broken: {finding.snapshot.id}, taken {when(finding.snapshot)}: {finding.problem}")
    click.echo(f"{total - len(found.findings)} of {total} checkpoints are whole")
    if not found.is_good and found.last_whole is not None:
        click.echo(f"the last one that is whole: {found.last_whole.id}, taken {when(found.last_whole)}")


def _echo_guarded(place: Workplace, problems: dict[str, str] | None) -> None:
    if problems is None:
        return
    for key, problem in problems.items():
        click.echo(f"locked: {problem}")
        good = place.newest_known_good(key)
        if good is not None:
            click.echo(f"        as it was known: `agentm checkpoint restore {good.id} --path {key}`")
    if not problems:
        click.echo("every guarded note is as it is known")


def when(snapshot: Snapshot) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(snapshot.time / 1000))


for subcommand in (restore_command, prune_command, accept_command, push_command, pull_command):
    command.add_command(subcommand)
