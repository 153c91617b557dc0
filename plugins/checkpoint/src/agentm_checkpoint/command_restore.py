"""`agentm checkpoint restore`, `prune` and `accept`: the commands that change something."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import survey, take
from agentm_checkpoint.command_ipfs import ipfs_option, pull_from
from agentm_checkpoint.comparing import changed_sections
from agentm_checkpoint.guarded import guarded_keys
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.restoring import DELETE, apply_restore, check_contents, chooser, plan_restore
from agentm_checkpoint.words import counted
from agentm_checkpoint.workplace import Workplace, bar, fields_of, is_at_terminal, silent
from agentm_kernel.command import confirm, echo_json, json_option
from agentm_kernel.plugin import AgentmError, ConfigError, IntegrityError, Locator, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_checkpoint.restoring import Step
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Leaf

_SHOWN = 20


@click.command("restore")
@click.argument("name", metavar="ID")
@click.option("--from", "source", type=click.Choice(("local", "ipfs")), default="local", show_default=True)
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Only this note or folder; may be repeated.")
@click.option("--keep-extra", is_flag=True, help="Leave notes alone that the checkpoint does not have.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@ipfs_option("The daemon's API, with --from ipfs.")
@json_option
def restore_command(
    name: str,
    source: str,
    paths: tuple[str, ...],
    keep_extra: bool,
    dry_run: bool,
    yes: bool,
    ipfs: str | None,
    as_json: bool,
) -> None:
    """Bring the store, or a part of it, back to checkpoint ID: `latest`, `latest~1`, an id or its beginning.

    Everything is verified before anything is written, and a checkpoint of the store as it is comes first. A note that
    somebody changes meanwhile is left alone.
    """
    place = Workplace(read_only=False)
    place.report_damage()
    snapshot = pull_from(place, name, ipfs, as_json) if source == "ipfs" else place.image.find(name)
    wanted = read_tree(snapshot.root, place.image.fetch)
    if dry_run:
        now = survey(place.store, place.image).leaves
        steps = plan_restore(place.backend, wanted, now, paths=paths, keep_extra=keep_extra)
        _report(snapshot, steps, None, dry_run=True, as_json=as_json)
        return
    before = take(place.store, place.image, author=place.settings.author, reason=f"before restoring {snapshot.id}")
    steps = plan_restore(place.backend, wanted, before.leaves, paths=paths, keep_extra=keep_extra)
    check_contents(steps, place.image.fetch)
    _check_guarded(place.guard, steps)
    if steps:
        _confirm(steps, yes)
    with place.guard.operator() if place.guard is not None else nullcontext():
        apply_restore(place.backend, steps, place.image.fetch, silent if as_json else bar)
    if place.guard is not None:
        _unlock_restored(place.guard, wanted, paths)
    _report(snapshot, steps, before.snapshot, dry_run=False, as_json=as_json)


def _check_guarded(guard: IntegrityGuard | None, steps: list[Step]) -> None:
    """Only an operator at a terminal may bless another version of a guarded note than the known one."""
    if guard is None or is_at_terminal():
        return
    known = guard.record.read()
    strange = [step.key for step in steps if guard.is_guarded(step.key) and known.leaf(step.key) != step.wanted]
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


def _confirm(steps: list[Step], yes: bool) -> None:
    if not yes:
        for step in steps[:_SHOWN]:
            click.echo(f"  {step.verb:8} {step.key}", err=True)
        if len(steps) > _SHOWN:
            click.echo(f"  and {len(steps) - _SHOWN:,} more", err=True)
    gone = sum(step.verb == DELETE for step in steps)
    confirm(f"Write {counted(len(steps) - gone, 'note')} and delete {gone:,}?", yes=yes)


def _report(snapshot: Snapshot, steps: list[Step], before: Snapshot | None, *, dry_run: bool, as_json: bool) -> None:
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
            click.echo(f"would {step.verb} {step.key}")
    gone = sum(step.verb == DELETE for step in steps)
    verb = "would write" if dry_run else "wrote"
    click.echo(f"{verb} {counted(len(steps) - gone, 'note')} and delete{'' if dry_run else 'd'} {gone:,}")
    if before is not None and steps:
        click.echo(f"back again: `agentm checkpoint restore {before.id}`")


# ------------------------------------------------------------------------------------------------ prune


@click.command("prune")
@click.option("--keep", type=click.IntRange(min=1), required=True, metavar="N", help="How many to keep, the newest.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def prune_command(keep: int, yes: bool, as_json: bool) -> None:
    """Forget all but the newest checkpoints in the image. What IPFS daemons have pinned stays there."""
    place = Workplace()
    surplus = len(place.image.snapshots) - keep
    if surplus > 0:
        confirm(f"Forget {surplus} of {counted(len(place.image.snapshots), 'checkpoint')}?", yes=yes)
    before = place.image.size
    gone = place.image.prune(keep) if surplus > 0 else []
    if as_json:
        echo_json(pruned=[snapshot.id for snapshot in gone], kept=len(place.image.snapshots), bytes=place.image.size)
        return
    kept = len(place.image.snapshots)
    free = before - place.image.size
    click.echo(f"forgot {counted(len(gone), 'checkpoint')}, kept {kept}; {free:,} bytes are free again")


# ------------------------------------------------------------------------------------------------ accept


@click.command("accept")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
def accept_command(paths: tuple[str, ...]) -> None:
    """Know guarded notes as good as they are now, and unlock them. PATH is a note or a folder.

    This takes the operator: it shows what has changed and asks, on a terminal.
    """
    place = Workplace(read_only=False)
    guard = place.guard
    if guard is None:
        raise ConfigError(
            "no note is under guard", hint="""run `agentm config set wrappers '["integrity"]'` to guard skills/**"""
        )
    if not is_at_terminal():
        raise AgentmError(
            "accepting a guarded note needs the operator at a terminal", hint="run it yourself; nothing was changed"
        )
    shown: dict[str, Leaf | None] = {}
    for key in _chosen(guard, paths):
        stored = guard.stored(Locator(key))
        problem = guard.problem(Locator(key))
        if problem is not None:
            shown[key] = stored
            click.echo(problem)
            for line in _changes(place, guard, key):
                click.echo(f"  {line}")
    if not shown:
        click.echo("nothing to accept: these notes are as they are known")
        return
    question = "Is this note good as it is?" if len(shown) == 1 else f"Are these {len(shown)} notes good as they are?"
    confirm(question, yes=False)
    for key, stored in shown.items():
        guard.accept(Locator(key), stored)
    taken = take(place.store, place.image, author=place.settings.author, reason="accepted guarded notes")
    click.echo(f"accepted {counted(len(shown), 'note')}, as in checkpoint {taken.snapshot.id}")


def _chosen(guard: IntegrityGuard, paths: tuple[str, ...]) -> list[str]:
    is_chosen = chooser(paths)
    chosen = [key for key in guarded_keys(guard) if is_chosen(key)]
    if not chosen:
        raise NotFoundError(f"no guarded note is at {', '.join(paths)}", hint="`agentm checkpoint verify` lists them")
    return chosen


def _changes(place: Workplace, guard: IntegrityGuard, key: str) -> list[str]:
    """What changed since the note was known, if the image still has that version."""
    leaf = guard.record.read().leaf(key)
    try:
        if leaf is None:
            return []
        return changed_sections(read_note(leaf, place.image.fetch), guard.inner.read(Locator(key)).encode())
    except (IntegrityError, NotFoundError):
        return []
