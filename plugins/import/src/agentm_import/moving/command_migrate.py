"""`agentm migrate`: a whole store to another backend, then the configuration."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from agentm_import.contract import known_format
from agentm_import.moving.merging import plan_merge, unite_projects
from agentm_import.moving.stores import (
    copy_notes,
    is_encrypted,
    leave_word,
    plan_migration,
    refuse_encrypted,
    send_copy,
    settle,
)
from agentm_kernel.command import (
    confirm,
    counted,
    current_device,
    echo_json,
    json_option,
    set_value,
    shown,
    unset_value,
)
from agentm_kernel.plugin import (
    SWAP_PROVIDER,
    AgentmError,
    Checkouts,
    StorageSelectionError,
    choose_protocol,
    layout,
    open_other,
    stamp_store,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_import.moving.stores import Plan
    from agentm_kernel.plugin import Locator, StorageBackend


@click.command("migrate")
@click.option(
    "--to", "protocol", required=True, metavar="PROTOCOL", help="Backend to move to, as `plugins list` names it."
)
@click.option("--from", "source_protocol", metavar="PROTOCOL", help="Backend to move from, if not the selected one.")
@click.option("--merge", is_flag=True, help="Move into a store that has notes already; none of them is overwritten.")
@click.option("--keep-apart", is_flag=True, help="With --merge: keep both where both stores have one name.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--allow-skipped", is_flag=True, help="Go on although some entries are not notes and stay behind.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def command(
    protocol: str,
    source_protocol: str | None,
    merge: bool,
    keep_apart: bool,
    dry_run: bool,
    allow_skipped: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy every note to another backend, verify all of them, then make it the selected store.

    The target takes its options from the configuration, so set them first. The source is not changed. An interrupted
    migration is simply run again.

    A target that holds anything else is refused, unless --merge is given. Then notes that both stores have under one
    name with different text are listed and refused, or kept apart with --keep-apart: the one that comes gets another
    name.
    """
    if keep_apart and not merge:
        raise click.UsageError("--keep-apart goes with --merge")
    device = current_device()
    selected = choose_protocol(device=device)
    source_protocol = source_protocol or selected
    if source_protocol == protocol:
        raise StorageSelectionError(
            f"'{protocol}' is the selected store already",
            hint="to take the notes of another store along, name it with --from; to move within one kind of store, "
            "copy the folder and run `agentm store forget`",
        )
    is_selected = source_protocol == selected
    source = device.store(read_only=True) if is_selected else open_other(device, source_protocol)
    bare = open_other(device, protocol)
    is_sealing = protocol == selected and is_encrypted(bare)
    target: StorageBackend = device.store(read_only=False) if is_sealing else bare
    refuse_encrypted(source, source_protocol, target, protocol)
    source.check_allowed(SWAP_PROVIDER)
    if not dry_run:
        send_copy(device.store(read_only=False) if is_selected else source)
    progress = (lambda _label, items: items) if as_json else _bar
    if merge:
        notes = known_format(device)
        plan = plan_merge(source, target, progress, source_protocol, keep_apart=keep_apart, notes=notes)
    else:
        plan = plan_migration(source, target, progress)
    if plan.skipped and not allow_skipped:
        shown = ", ".join(plan.skipped[:5])
        more = f" and {len(plan.skipped) - 5} more" if len(plan.skipped) > 5 else ""
        raise AgentmError(
            f"what is not a note would stay behind: {shown}{more}",
            hint=f"move them yourself, then run `agentm migrate --from {source_protocol} --to {protocol}"
            f"{' --merge' if merge else ''} --allow-skipped`; nothing was written",
        )
    if not dry_run:
        confirm(
            f"Copy {len(plan.missing)} of {counted(len(plan.hashes), 'file')} to {target.describe()}?",
            yes=yes,
            hint="add --dry-run to see what it would do, or --yes to do it without asking",
        )
        begun = int(time.time() * 1000)
        stamp_store(bare.inner)
        copy_notes(source, target, plan, progress)
        settle(source, target, plan, progress)
        unite_projects(source, target, plan)
        Checkouts(device.state_dir, source).carry_over_to(target)
        leave_word(source, target, plan, begun)
        set_value(device.environ, "storage.backend", protocol)
        if device.config.shortcut is not None:  # it names the store that was left; until it is gone, both are refused
            unset_value(device.environ, device.config.shortcut[0])
    unread = _unread_plans(source, target, plan)
    _report(source_protocol, protocol, plan, unread, dry_run=dry_run, as_json=as_json)


def _unread_plans(source: StorageBackend, target: StorageBackend, plan: Plan) -> list[str]:
    """Plans that come to a store which leaves state to the checkouts: nobody would look for them there."""
    if target.capabilities.sync or not source.capabilities.sync:
        return []
    return sorted(file.key for file in plan.hashes if file.parent.name == layout.HARNESS and file.suffix == ".md")


def _report(source: str, target: str, plan: Plan, unread: list[str], *, dry_run: bool, as_json: bool) -> None:
    copied, total, skipped = plan.missing, len(plan.hashes), plan.skipped
    if as_json:
        echo_json(
            source=source,
            target=target,
            notes=total,
            copied=len(copied),
            skipped=skipped,
            apart={locator.key: place.key for locator, place in plan.places.items()},
            united=plan.united,
            unread_plans=unread,
            dry_run=dry_run,
        )
        return
    verb = "would copy" if dry_run else "copied"
    click.echo(
        f"{verb} {len(copied)} of {counted(total, 'file')} from {source} to {target}; "
        f"there already: {total - len(copied)}"
    )
    for locator, place in plan.places.items():
        click.echo(shown(f"kept apart: {locator} as {place.name}"))
    for slug in plan.united:
        click.echo(shown(f"in both stores, one project now: {slug}"))
    for entry in skipped:
        click.echo(shown(f"not a note, left behind: {entry}"))
    for key in unread:
        click.echo(shown(f"not read there: {key}; plans are in the checkout with {target}"))
    if unread:
        click.echo("in each checkout: `agentm state write NAME --body-file FILE` takes one from the store before")
    if not dry_run:
        click.echo(f"selected store: {target} (back again: `agentm migrate --to {source}`)")


def _bar(label: str, items: Iterable[Locator]) -> Iterator[Locator]:
    """A bar on standard error; for whoever reads JSON there is none, and nothing where no person looks."""
    if not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(list(items), label=label, file=sys.stderr) as bar:
        yield from bar
