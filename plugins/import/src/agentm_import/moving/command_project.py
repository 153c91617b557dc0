"""`agentm project rename`, `agentm project merge` and `agentm project use-store`."""

from __future__ import annotations

import sys

import click

from agentm_import.contract import known_format
from agentm_import.moving.projects import Moved, merge_projects, rename_project
from agentm_import.moving.use_store import StoreChange
from agentm_kernel.command import (
    answering,
    completing,
    confirm,
    counted,
    current_device,
    echo_json,
    json_option,
    shown,
    store_device,
)
from agentm_kernel.plugin import find_project_root


@click.command("rename")
@click.argument("old")
@click.argument("new")
@json_option
def rename(old: str, new: str, as_json: bool) -> None:
    """Give the project OLD the name NEW in the store. A command that was cut off is finished by running it again."""
    moved = rename_project(store_device().store(read_only=False), old, new)
    _tell(moved, f"{old} is {new} now", as_json=as_json, project=new, renamed_from=old)


@click.command("merge")
@click.argument("source", metavar="FROM")
@click.argument("into")
@json_option
def merge(source: str, into: str, as_json: bool) -> None:
    """Put everything of the project FROM under INTO, which is both from now on.

    Files of one name and different text are both kept. A command that was cut off is finished by running it again.
    """
    device = store_device()
    moved = merge_projects(device.store(read_only=False), source, into, known_format(device))
    _tell(moved, f"{source} is part of {into} now", as_json=as_json, project=into, merged=source)


def _tell(moved: Moved, said: str, *, as_json: bool, **fields: str) -> None:
    if as_json:
        echo_json(**fields, moved=moved.files, beside=moved.beside)
        return
    click.echo(shown(f"{said}; {counted(moved.files, 'file')} moved"))
    for key, taken in moved.beside.items():
        click.echo(shown(f"{taken} was there with another text, so what came is {key}"))


@click.command("use-store")
@click.argument("name", shell_complete=completing(lambda device: ["default", *device.config.stores]))
@click.option("--move", is_flag=True, help="Take along what the project has in the store before.")
@click.option("--yes", is_flag=True, help="Do not ask; with --move, remove what was moved from the store before.")
@answering
@click.option("--cwd", metavar="DIR", help="Directory of the project; the current one if not given.")
def use_store(name: str, move: bool, yes: bool, cwd: str | None, answer: dict[str, object]) -> None:
    """Let the notes and plans of the project here live in the store NAME; `default` is the store of this device.

    Only this device is told so, nothing in the repository. The store before says from then on where the project is,
    so no other device goes on writing there. A command that was cut off is finished by running it again.
    """
    device = current_device()
    change = StoreChange(device, find_project_root(cwd), None if name == "default" else name)
    answer.update(store=name, place=change.place, copied=0, removed=0)
    if change.is_done:
        click.echo(f"this project is in the store '{name}' already")
        return
    change.check(move=move)
    answer.update(project=change.slug, before=change.slug_before)
    for line in change.plan():
        click.echo(shown(line))
    if change.count:
        confirm(f"Copy {counted(change.count, 'file')} of '{change.slug_before}' to {change.place}?", yes=yes)
    answer["copied"] = copied = change.make()
    done = f"'{change.slug}' is in the store '{name}' now, at {change.place}"
    click.echo(f"{done}; {counted(copied, 'file')} {'was' if copied == 1 else 'were'} copied" if copied else done)
    if copied and (
        yes or (sys.stdin.isatty() and click.confirm("Remove what was copied from the place before?", err=True))
    ):
        answer["removed"] = removed = change.remove()
        click.echo(f"removed from the place before: {counted(removed, 'file')}")
    elif copied:
        click.echo("the place before has it as well; run the command again with --move --yes to remove it there")
    if change.state and not change.is_state_moved:
        click.echo(
            f"{', '.join(change.state)} stays in .harness/, where nobody reads it now: "
            f"`agentm project use-store {name} --move` takes it along"
        )
