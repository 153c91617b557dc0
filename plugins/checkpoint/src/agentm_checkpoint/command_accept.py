"""`agentm checkpoint accept`: the operator says that guarded notes are good as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import take
from agentm_checkpoint.command_context import CommandContext, is_at_terminal
from agentm_checkpoint.comparing import changed_sections
from agentm_checkpoint.guard import IntegrityGuard
from agentm_checkpoint.guarded import guarded_keys
from agentm_checkpoint.lockdown import guard_patterns, turn_on
from agentm_checkpoint.reading import read_note
from agentm_checkpoint.restoring import chooser
from agentm_checkpoint.texts import counted, visible
from agentm_kernel.command import answering, confirm
from agentm_kernel.plugin import AgentmError, IntegrityError, Locator, NotFoundError, Opening

if TYPE_CHECKING:
    from agentm_checkpoint.tree import Leaf


@click.command("accept")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@answering
def accept_command(paths: tuple[str, ...], answer: dict[str, object]) -> None:
    """Know guarded notes as good as they are now, and unlock them. PATH is a note or a folder.

    This takes the operator: it shows what has changed and asks, on a terminal.
    """
    here = CommandContext(read_only=False)
    guard = here.guard or _new_guard(here)
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
            click.echo(visible(problem))
            for line in _changes(here, guard, key):
                click.echo(f"  {visible(line)}")
    answer.update(accepted=[], checkpoint=None)
    if not shown:
        click.echo("nothing to accept: these notes are as they are known")
        return
    question = "Is this note good as it is?" if len(shown) == 1 else f"Are these {len(shown)} notes good as they are?"
    confirm(question, yes=False)
    for key, stored in shown.items():
        guard.accept(Locator(key), stored)
    taken = take(here.store, here.image, author=here.settings.author, reason="accepted guarded notes")
    answer.update(accepted=list(shown), checkpoint=taken.snapshot.id)
    click.echo(f"accepted {counted(len(shown), 'note')}, as in checkpoint {taken.snapshot.id}")
    if here.guard is None:
        click.echo(turn_on(here.device))


def _new_guard(here: CommandContext) -> IntegrityGuard:
    """The guard that the configuration does not have yet: what it accepts turns it on."""
    opening = Opening(state_dir=here.device.state_dir)
    return IntegrityGuard(here.backend, guard_patterns(here.device).given, here.device, opening)


def _chosen(guard: IntegrityGuard, paths: tuple[str, ...]) -> list[str]:
    is_chosen = chooser(paths)
    chosen = [key for key in guarded_keys(guard) if is_chosen(key)]
    if not chosen:
        raise NotFoundError(f"no guarded note is at {', '.join(paths)}", hint="`agentm checkpoint verify` lists them")
    return chosen


def _changes(here: CommandContext, guard: IntegrityGuard, key: str) -> list[str]:
    """What changed since the note was known, if the image still has that version."""
    leaf = guard.record.read().leaf(key)
    try:
        if leaf is None:
            return []
        return changed_sections(read_note(leaf, here.image.fetch), guard.inner.read(Locator(key)).encode())
    except (IntegrityError, NotFoundError):
        return []
