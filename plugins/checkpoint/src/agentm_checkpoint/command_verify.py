"""`agentm checkpoint diff` and `verify`: what changed, and whether everything is what its hashes say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentm_checkpoint.capture import survey
from agentm_checkpoint.command_context import CommandContext, command_line, fields_of
from agentm_checkpoint.comparing import compare, describe_changes
from agentm_checkpoint.known_good import Record
from agentm_checkpoint.lockdown import first_unguarded, say_unguarded
from agentm_checkpoint.reading import read_note, read_tree
from agentm_checkpoint.sealed import opened
from agentm_checkpoint.texts import counted, visible
from agentm_checkpoint.verifying import verified_leaves, verify_history, verify_image
from agentm_kernel.command import echo_json, json_option

if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.comparing import Difference
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.tree import Blocks, Leaf
    from agentm_checkpoint.verifying import Verification

_SHOWN_SECTIONS = 8
_SHOWN_LINES = 40


@click.command("diff")
@click.argument("before", metavar="[ID", default="latest")
@click.argument("after", metavar="[ID]]", required=False)
@click.option("--all-lines", is_flag=True, help=f"Show more than {_SHOWN_LINES} lines of a note.")
@json_option
def diff_command(before: str, after: str | None, all_lines: bool, as_json: bool) -> None:
    """Show what changed between two checkpoints, or between one (by default the latest) and the store as it is.

    For notes that changed, the headings and code blocks that did are named, and the lines are shown.
    """
    here = CommandContext()
    first, image = _leaves(here, before)
    unsaved: Blocks = {}
    if after is not None:
        second, later = _leaves(here, after)
    else:
        contents = survey(here.store, here.image)
        second, unsaved, later = contents.leaves, contents.blocks, here.image

    def fetch(cid: Cid) -> bytes:
        return unsaved[cid] if cid in unsaved else later.fetch(cid)

    differences = compare(first, second)
    describe_changes(
        differences,
        lambda key: opened(here.backend, key, read_note(first[key], image.fetch)),
        lambda key: opened(here.backend, key, read_note(second[key], fetch)),
    )
    if as_json:
        echo_json(differences=[_as_json(difference) for difference in differences])
        return
    for difference in differences:
        click.echo(f"{difference.kind:8} {visible(difference.key)}")
        _echo_some(difference.sections, _SHOWN_SECTIONS, "           ")
        _echo_some(difference.lines, len(difference.lines) if all_lines else _SHOWN_LINES, "    ")
    if not differences:
        click.echo("no differences")


def _echo_some(lines: list[str], limit: int, indent: str) -> None:
    for line in lines[:limit]:
        click.echo(indent + visible(line))
    if len(lines) > limit:
        click.echo(f"{indent}and {len(lines) - limit} more")


def _leaves(here: CommandContext, name: str) -> tuple[dict[str, Leaf], Image]:
    snapshot, image = here.find(name)
    return read_tree(snapshot.root, image.fetch), image


def _as_json(difference: Difference) -> dict[str, object]:
    return {
        "note": difference.key,
        "kind": difference.kind,
        "sections": difference.sections,
        "lines": difference.lines,
    }


# ------------------------------------------------------------------------------------------------ verify


@click.command("verify")
@click.argument("name", metavar="[ID]", required=False)
@json_option
def verify_command(name: str | None, as_json: bool) -> int:
    """Compare every block of the image and of the history with its id, and every guarded note with what is known.

    With ID, only that checkpoint. What is wrong comes with the commands that help; then the exit code is 1.
    """
    here = CommandContext()
    if name is not None:
        snapshot = here.image.find(name)
        verified_leaves(here.image, snapshot)
        if as_json:
            echo_json(**fields_of(snapshot), whole=True)
        else:
            click.echo(f"{snapshot.id} is whole: {counted(snapshot.root.notes, 'file')}")
        return 0
    found = verify_image(here.image)
    changes = here.history.read()
    history = verify_history(changes, here.image)
    problems = here.guarded_problems()
    unguarded = first_unguarded(here.backend, here.device)
    if as_json:
        echo_json(
            image=here.image.path,
            damage=found.damage,
            checkpoints=len(here.image.snapshots),
            broken=[{"id": finding.snapshot.id, "problem": finding.problem} for finding in found.findings],
            last_whole=found.last_whole.id if found.last_whole else None,
            history={"changes": len(changes.entries), "head": changes.head, "problems": history},
            guarded=problems,
            unguarded=unguarded,
        )
    else:
        _echo_verification(found, len(here.image.snapshots))
        for problem in history:
            click.echo(f"history: {visible(problem)}")
        if changes.entries and not history:
            click.echo(f"the history is whole: {counted(len(changes.entries), 'change')}")
        _echo_guarded(here, problems, unguarded)
    return int(not found.is_good or bool(problems) or bool(history))


def _echo_verification(found: Verification, total: int) -> None:
    if found.damage:
        click.echo(f"damaged: {found.damage}")
    for finding in found.findings:
        click.echo(f"broken: {finding.snapshot.id}, taken {finding.snapshot.when}: {finding.problem}")
    click.echo(f"{total - len(found.findings)} of {total} checkpoints are whole")
    if found.is_good:
        return
    click.echo(f"repair, keeping all that is whole and a copy of the rest: {command_line('create --full')}")
    for finding in found.findings:
        click.echo(f"get a broken one back, if you pushed it: {command_line(f'pull {finding.snapshot.id}')}")
    if found.last_whole is not None:
        click.echo(f"the last one that is whole: {found.last_whole.id}, taken {found.last_whole.when}")
        click.echo(f"go back to it: {command_line(f'restore {found.last_whole.id}')}")


def _echo_guarded(here: CommandContext, problems: dict[str, str] | None, unguarded: str | None) -> None:
    if unguarded is not None:
        what, way = say_unguarded(visible(unguarded), Record(here.folder), here.device)
        click.echo(f"not guarded: {what}")
        click.echo(f"        {way}")
    for key, problem in (problems or {}).items():
        click.echo(f"locked: {visible(problem)}")
        good = here.newest_known_good(key)
        click.echo(f"        if it is good as it is: {command_line(f'accept {visible(key)}')}")
        if good is not None:
            click.echo(f"        as it was known: {command_line(f'restore {good.id} --path {visible(key)}')}")
    if problems is not None and not problems:
        click.echo("every guarded note is as it is known")
