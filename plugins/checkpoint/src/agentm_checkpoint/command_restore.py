"""`agentm checkpoint restore` and `prune`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import survey, take
from agentm_checkpoint.command_context import CommandContext, bar, command_line, fields_of, is_at_terminal, silent
from agentm_checkpoint.command_ipfs import ipfs_option, pull_from
from agentm_checkpoint.guard import NAME
from agentm_checkpoint.lockdown import guard_patterns
from agentm_checkpoint.lost_stores import finish_restore
from agentm_checkpoint.reading import read_tree
from agentm_checkpoint.restoring import DELETE, apply_restore, check_contents, chooser, plan_restore
from agentm_checkpoint.texts import counted, visible
from agentm_kernel.command import confirm, echo_json, json_option
from agentm_kernel.plugin import IntegrityError, Locator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.known_good import Record
    from agentm_checkpoint.restoring import Step
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Leaf
    from agentm_kernel.plugin import Device

_SHOWN = 20


@click.command("restore")
@click.argument("name", metavar="[ID]", required=False)
@click.option(
    "--from",
    "source",
    type=click.Choice(("local", "ipfs")),
    default="local",
    show_default=True,
    help="Where the checkpoint is read from: the image on this device, or IPFS.",
)
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only this note or folder; may be repeated.")
@click.option("--keep-extra", is_flag=True, help="Leave notes alone that the checkpoint does not have.")
@click.option("--into-new", is_flag=True, help="Fill the empty or missing store that is selected.")
@click.option("--store", metavar="STORE", help="With --into-new: whose checkpoint, by its store's id.")
@click.option("--device", is_flag=True, help="Bring back .harness/ of this checkout instead of the store.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@ipfs_option("The daemon's API, with --from ipfs.")
@json_option
def restore_command(
    name: str | None,
    source: str,
    paths: tuple[str, ...],
    keep_extra: bool,
    into_new: bool,
    store: str | None,
    device: bool,
    dry_run: bool,
    yes: bool,
    ipfs: str | None,
    as_json: bool,
) -> None:
    """Bring the store, or a part of it, back to checkpoint ID: `latest`, `latest~1`, an id or its beginning.

    Everything is verified before anything is written, and a checkpoint of the store as it is comes first. A note that
    somebody changes meanwhile is left alone.
    """
    _check_usage(name, paths, keep_extra, into_new, store, device, source)
    if into_new:
        from agentm_checkpoint.command_recover import restore_into_new

        restore_into_new(name or "latest", source, store, ipfs, dry_run=dry_run, yes=yes, as_json=as_json)
    elif device:
        from agentm_checkpoint.command_device import restore_device

        restore_device(name or "latest", paths, dry_run=dry_run, yes=yes, as_json=as_json)
    else:
        here = CommandContext(read_only=False)
        here.report_damage()
        assert name is not None
        found = (pull_from(here, name, ipfs, as_json), here.image) if source == "ipfs" else here.find(name)
        _restore(here, *found, paths, keep_extra, dry_run=dry_run, yes=yes, as_json=as_json)


def _check_usage(
    name: str | None,
    paths: tuple[str, ...],
    keep_extra: bool,
    into_new: bool,
    store: str | None,
    device: bool,
    source: str,
) -> None:
    if name is None and (source == "ipfs" or not (into_new or device)):
        raise click.UsageError("say which checkpoint: an id, or `latest`")
    if into_new and (paths or keep_extra or device):
        raise click.UsageError("--into-new fills a whole store; --path, --keep-extra and --device do not go with it")
    if device and (source == "ipfs" or keep_extra):
        raise click.UsageError("--device knows only what this device kept, and deletes nothing")
    if store is not None and (not into_new or source == "ipfs"):
        raise click.UsageError("--store goes with --into-new and a local image")


def _restore(
    here: CommandContext,
    snapshot: Snapshot,
    image: Image,
    paths: tuple[str, ...],
    keep_extra: bool,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    wanted = read_tree(snapshot.root, image.fetch)
    now = survey(here.store, here.image).leaves
    steps = plan_restore(here.backend, wanted, now, paths=paths, keep_extra=keep_extra)
    if dry_run:
        report(snapshot, steps, None, dry_run=True, as_json=as_json)
        return
    check_contents(steps, image.fetch)
    if here.guard is not None:
        check_guarded(here.guard.record, here.device, steps)
    before = None
    if steps:
        confirm_steps(steps, yes)
        before = take_before(here, snapshot)
    with here.guard.operator() if here.guard is not None else nullcontext():
        apply_restore(here.backend, steps, image.fetch, silent if as_json else bar)
    if here.guard is not None:
        _unlock_restored(here.guard, wanted, paths)
    if not paths:
        finish_restore(here.folder)
    report(snapshot, steps, before, dry_run=False, as_json=as_json)


def take_before(here: CommandContext, snapshot: Snapshot) -> Snapshot:
    """A checkpoint of what is about to be replaced. Only once that is decided: a plan leaves no trace."""
    reason = f"before restoring {snapshot.id}"
    author = here.settings.author
    local = here.local_state()
    return take(here.store, here.image, author=author, reason=reason, automatic=True, local=local).snapshot


def check_guarded(record: Record, device: Device, steps: list[Step]) -> None:
    """Only an operator at a terminal may bless another version of a guarded note than the known one."""
    known = record.read()
    if is_at_terminal() or NAME not in device.config.wrappers:
        return
    is_guarded = guard_patterns(device).match
    strange = [step.key for step in steps if is_guarded(step.key) and known.leaf(step.key) != step.wanted]
    if strange:
        raise IntegrityError(
            f"'{strange[0]}' is under guard, and the checkpoint has it in a version that is not known to be good",
            hint="run the restore on a terminal, or leave guarded notes out with --path; nothing was written",
        )


def _unlock_restored(guard: IntegrityGuard, wanted: Mapping[str, Leaf], paths: tuple[str, ...]) -> None:
    """Unlock what was locked and needed no writing, because it is again what the checkpoint has and what is known."""
    known = guard.record.read()
    is_chosen = chooser(paths)
    for key in known.locks():
        if is_chosen(key) and wanted.get(key) == known.leaf(key) == guard.stored(Locator(key)):
            guard.accept(Locator(key), wanted.get(key))


def confirm_steps(steps: list[Step], yes: bool) -> None:
    if not yes:
        for step in steps[:_SHOWN]:
            click.echo(f"  {step.verb:8} {visible(step.key)}", err=True)
        if len(steps) > _SHOWN:
            click.echo(f"  and {len(steps) - _SHOWN:,} more", err=True)
    gone = sum(step.verb == DELETE for step in steps)
    confirm(f"Write {counted(len(steps) - gone, 'file')} and delete {gone:,}?", yes=yes)


def report(
    snapshot: Snapshot,
    steps: list[Step],
    before: Snapshot | None,
    *,
    dry_run: bool,
    as_json: bool,
    device: bool = False,
) -> None:
    """Say what was done, or would be, and how to take it back."""
    if as_json:
        echo_json(
            **fields_of(snapshot),
            steps=[{"note": step.key, "do": step.verb} for step in steps],
            before=before.id if before else None,
            dry_run=dry_run,
        )
        return
    if dry_run:
        for step in steps:
            click.echo(f"would {step.verb} {visible(step.key)}")
    gone = sum(step.verb == DELETE for step in steps)
    verb = "would write" if dry_run else "wrote"
    click.echo(f"{verb} {counted(len(steps) - gone, 'file')} and delete{'' if dry_run else 'd'} {gone:,}")
    if before is not None and steps:
        click.echo(f"back again: {command_line(f'restore {before.id}' + (' --device' if device else ''))}")


# ------------------------------------------------------------------------------------------------ prune


@click.command("prune")
@click.option("--keep", type=click.IntRange(min=1), required=True, metavar="N", help="How many to keep, the newest.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def prune_command(keep: int, yes: bool, as_json: bool) -> None:
    """Forget all but the newest checkpoints in the image. What IPFS daemons have pinned stays there."""
    here = CommandContext()
    surplus = here.image.surplus(keep)
    if surplus:
        confirm(f"Forget {len(surplus)} of {counted(len(here.image.snapshots), 'checkpoint')}?", yes=yes)
    before = here.image.size
    gone = here.image.prune(keep) if surplus else []
    if as_json:
        echo_json(pruned=[snapshot.id for snapshot in gone], kept=len(here.image.snapshots), bytes=here.image.size)
        return
    kept = len(here.image.snapshots)
    free = before - here.image.size
    click.echo(f"forgot {counted(len(gone), 'checkpoint')}, kept {kept}; {free:,} bytes are free again")
