"""`agentm notes path|history|undo|review`: where a note is, what it was, and which ones want a look."""

from __future__ import annotations

import os
import shlex
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import current_device, echo_json, echo_table, json_option, shown
from agentm_kernel.plugin import AgentmError, Locator, NotFoundError, StorageError, find_plugin, load
from agentm_recall.commands.common import (
    as_json as note_as_json,
    bar,
    cwd_option,
    found_in_store,
    found_note,
    project_option,
    store_and_project,
)
from agentm_recall.commands.names import name_argument
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.layout import PERSONAL, project_folder, project_of
from agentm_recall.note import parse_note
from agentm_recall.supersession import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import Device, StorageBackend
    from agentm_recall.index.asked import Opened
    from agentm_recall.review import Finding

_KEEPER = "checkpoint"
"""The command whose plugin keeps what writes replace."""


@click.command("path")
@name_argument
@project_option
@cwd_option
@json_option
def path(name: str, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Print where the note NAME lies: the path of its file."""
    backend, locator = found_note(name, project, cwd, read_only=True)
    file = os.path.join(backend.describe(), *locator.parts)
    if not (backend.capabilities.device_files and os.path.isabs(file) and os.path.isfile(file)):
        raise StorageError(
            f"the notes of {backend.describe()} are not files on this device",
            hint=f"`agentm notes show {quote(locator.key.removesuffix('.md'))}` prints it",
        )
    if as_json:
        echo_json(note=locator.key, path=file)
    else:
        click.echo(file)


@click.command("history")
@name_argument
@click.option("--show", metavar="VERSION", help="Print that version, byte for byte.")
@project_option
@cwd_option
@json_option
def history(name: str, show: str | None, project: str | None, cwd: str | None, as_json: bool) -> None:
    """List the earlier versions of the note NAME that this device has kept."""
    _, locator, device = _found(name, project, cwd, "history")
    _kept(device, "history", [locator.key, *(["--show", show] if show else []), *(["--json"] if as_json else [])])


@click.command("undo")
@name_argument
@click.argument("version", required=False)
@project_option
@cwd_option
@json_option
def undo(name: str, version: str | None, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Bring the note NAME back to what it was before its last change, or to VERSION. Undoing again takes it back.

    A part of a name is not enough: the note that is meant may be gone, and its name a part of another one.
    """
    from agentm_recall.explaining import replaced_by

    backend, locator, device = _found(name, project, cwd, "undo")
    _kept(device, "undo", [locator.key, *([version] if version else []), *(["--json"] if as_json else [])])
    RecallIndex(backend).note_written([locator])
    home = Locator("/".join(locator.parts[:2])) if project_of(locator.key) is not None else Locator(PERSONAL)
    other = replaced_by(backend, home, parse_note(locator.key, backend.read(locator))[0])
    if other is not None:
        name = other.removesuffix(".md")
        click.echo(f"no session is given it: {name} has replaced it, until `agentm forget {quote(name)}`", err=True)


def _found(name: str, project: str | None, cwd: str | None, command: str) -> tuple[StorageBackend, Locator, Device]:
    """The note. If there is none, the hint says how to have what this device kept of one that went."""
    try:
        backend, locator, device = found_in_store(name, project, cwd, read_only=command == "history")
        if command == "undo" and not names(name, locator.key):
            raise NotFoundError(f"there is no note '{name}'", hint=f"is it {locator.key.removesuffix('.md')}?")
        return backend, locator, device
    except NotFoundError as error:
        keeper = f"`agentm {_KEEPER} {command} {shlex.quote(name)}`"
        error.hint = f"{error.hint}; if another program deleted it, {keeper} has what was kept here"
        raise


def _kept(device: Device, command: str, words: Sequence[str]) -> None:
    """Have the plugin that keeps earlier versions answer, as if its own command had been given on `device`."""
    record = find_plugin(device, "agentm.commands", _KEEPER)
    group: Any = None if record is None else load(record)
    found = group.get_command(click.get_current_context(), command) if isinstance(group, click.Group) else None
    if found is None:
        raise AgentmError(
            "nobody keeps earlier versions of notes on this device",
            hint="`pip install agentm-checkpoint` keeps what is replaced from then on",
        )
    found.main([*words], standalone_mode=False, parent=click.get_current_context(), obj=device)


@click.command("review")
@project_option
@cwd_option
@json_option
def review(project: str | None, cwd: str | None, as_json: bool) -> None:
    """List the notes that want a look: stale, naming what is gone, doubted, given to no agent, nearly the same.

    Settle each with `agentm notes confirm`, `notes edit`, `forget`, or `save --supersedes`.
    """
    from agentm_recall.deliveries import read_deliveries
    from agentm_recall.review import review as reviewed

    backend, slug, _ = store_and_project(project, cwd, read_only=True)
    delivered = read_deliveries(current_device().state_dir, project_folder(backend, slug).key)

    def look(opened: Opened) -> tuple[list[Finding], Sequence[str]]:
        return reviewed(opened.database, _index(backend), slug, delivered), opened.notices

    findings, notices = RecallIndex(backend).ask(look, may_write=True, progress=bar)
    if as_json:
        echo_json(
            found=[
                {
                    **note_as_json(finding.note),
                    "what": finding.what,
                    "why": finding.why,
                    "other": finding.other.key if finding.other else None,
                }
                for finding in findings
            ]
        )
        return
    if not findings:
        click.echo("nothing wants a look")
    else:
        rows = [(finding.what, finding.note.key.removesuffix(".md"), finding.why) for finding in findings]
        echo_table(("what", "note", "why"), rows)
    for notice in notices:
        click.echo(shown(notice, err=True), err=True)


def _index(backend: Any) -> str:
    try:
        return index_path(backend)
    except NoPlace:
        return ""
