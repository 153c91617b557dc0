"""`agentm checkpoint restore --device`: `.harness/` of a checkout, from what this device kept beside a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_checkpoint.checkouts import checkout_id
from agentm_checkpoint.command_context import CommandContext, bar, silent
from agentm_checkpoint.command_restore import confirm_steps, report, take_before
from agentm_checkpoint.local_state import harness_folder, read_checkout
from agentm_checkpoint.reading import read_tree
from agentm_checkpoint.restoring import apply_restore, check_contents, plan_restore
from agentm_checkpoint.tree import leaf_of
from agentm_kernel.plugin import NotFoundError, find_project_root, hide_from_git

if TYPE_CHECKING:
    from agentm_checkpoint.device_state import DeviceState
    from agentm_checkpoint.snapshot import Snapshot


def restore_device(name: str, paths: tuple[str, ...], *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Bring back the state files of the checkout that we are in, each only if it still is what was seen.

    Nothing is deleted: what a checkpoint left out must not be taken for what was not there.
    """
    here = CommandContext(read_only=False)
    here.report_damage()
    root = find_project_root()
    snapshot, state = _find(here, name, checkout_id(root))
    above = f"{checkout_id(root)}/"
    tree = read_tree(state.root, here.image.fetch)
    wanted = {key.removeprefix(above): leaf for key, leaf in tree.items() if key.startswith(above)}
    now = {key: leaf_of(text.encode()) for key, text in read_checkout(root)[0].items()}
    folder = harness_folder(root)
    steps = plan_restore(folder, wanted, now, paths=paths, keep_extra=True)
    check_contents(steps, here.image.fetch)
    if dry_run or not steps:
        report(snapshot, steps, None, dry_run=dry_run, as_json=as_json)
        return
    confirm_steps(steps, yes)
    before = take_before(here, snapshot)
    apply_restore(folder, steps, here.image.fetch, silent if as_json else bar)
    hide_from_git(root)
    report(snapshot, steps, before, dry_run=False, as_json=as_json, device=True)
    if not as_json and (left := state.left_out.get(above[:-1])):
        click.echo(f"not kept, so not brought back: {', '.join(left)}", err=True)


def _find(here: CommandContext, name: str, checkout: str) -> tuple[Snapshot, DeviceState]:
    """The checkpoint, and what was kept with it; `latest` is the latest that has anything of this checkout."""
    if name != "latest":
        snapshot = here.image.find_certain(name)
        state = here.image.device_state(snapshot)
        if state is not None and checkout in state.checkouts:
            return snapshot, state
    else:
        here.image.find_certain(name)
        for snapshot in reversed(here.image.snapshots):
            state = here.image.device_state(snapshot)
            if not snapshot.automatic and state is not None and checkout in state.checkouts:
                return snapshot, state
    raise NotFoundError(
        "nothing was kept of this checkout" + (f" with checkpoint {name}" if name != "latest" else ""),
        hint="run it inside the checkout; `agentm checkpoint show ID` lists the checkouts that a checkpoint knows",
    )
