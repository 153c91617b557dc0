"""`agentm notes edit|move|confirm|doubt`: changing a note that is there."""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import UTC, datetime
from shlex import quote

import click

from agentm_kernel.command import answering, current_device, echo_json, json_option
from agentm_kernel.plugin import AgentmError, Locator, content_hash, refuse_secrets
from agentm_recall.commands.common import cwd_option, found_note, kind_option, project_option
from agentm_recall.commands.names import name_argument
from agentm_recall.editing import with_fields
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.judging import CONFIRM, DOUBT, judge
from agentm_recall.layout import ALWAYS_LOAD_KIND, FOLDERS, KINDS, place_of, project_folder, project_of
from agentm_recall.moving import move_note
from agentm_recall.named_projects import project_there
from agentm_recall.note import parse_note
from agentm_recall.saving import check_slug

_EDITOR = "$VISUAL or $EDITOR names your editor; `agentm notes path NAME` prints the file, for any other"


@click.command("edit")
@name_argument
@project_option
@cwd_option
@answering
def edit(name: str, project: str | None, cwd: str | None, answer: dict[str, object]) -> None:
    """Open the note NAME in your editor ($VISUAL or $EDITOR), and save it if nobody else changed it meanwhile."""
    backend, locator = found_note(name, project, cwd, read_only=False)
    before = backend.read(locator)
    after = _edited(locator, before)
    answer.update(key=locator.key, changed=False)
    if after == before:
        click.echo("nothing was changed")
        return
    if not after.strip():
        raise AgentmError(
            "the text is empty; nothing was changed", hint=f"`agentm forget {quote(name)}` takes the note away"
        )
    try:
        refuse_secrets("the note", after)
        written = _dated(locator, before, after)
        backend.write(locator, written, if_match=content_hash(before))
    except AgentmError as error:
        kept = _kept(locator, after.encode())
        error.hint = f"your text is kept in {kept}" + (f"; {error.hint}" if error.hint else "")
        raise
    RecallIndex(backend).note_written([locator])
    answer["changed"] = True
    click.echo(f"updated {locator}")


def _edited(locator: Locator, text: str) -> str:
    """What an editor leaves of it. In bytes: from text, click takes a BOM and the CR of line ends. An editor that
    nobody chose is opened only where there is somebody to type.
    """
    environ = current_device().environ
    if not (environ.get("VISUAL") or environ.get("EDITOR") or sys.stdin.isatty()):
        raise AgentmError("there is no terminal to edit on", hint=_EDITOR)
    try:
        left = click.edit(text.encode(), extension=".md", require_save=False)
    except FileNotFoundError:
        raise AgentmError(
            "the editor removed the file; nothing was changed", hint="$VISUAL or $EDITOR has to save it where it was"
        ) from None
    except click.ClickException as error:
        raise AgentmError(f"nothing was changed: {error.message}", hint=_EDITOR) from error
    try:
        return (left or b"").decode()
    except UnicodeDecodeError:
        kept = _kept(locator, left or b"")
        raise AgentmError("the text is not UTF-8; nothing was changed", hint=f"your text is kept in {kept}") from None


def _dated(locator: Locator, before: str, after: str) -> str:
    """With the time of the change, unless the editor said one."""
    old, new = (parse_note(locator.key, text)[0] for text in (before, after))
    if new.updated != old.updated:
        return after
    return with_fields(locator.key, after, {"updated": datetime.now(UTC).isoformat(timespec="seconds")})


def _kept(locator: Locator, data: bytes) -> str:
    descriptor, path = tempfile.mkstemp(prefix=f"{locator.name.removesuffix('.md')}-", suffix=".md")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path


@click.command("move")
@name_argument
@click.option("--slug", help="Its new name.")
@kind_option("Its new kind, which decides its folder.")
@click.option("--to-project", metavar="SLUG", help="The project that it is of from now on.")
@click.option("--personal", is_flag=True, help="For every project from now on.")
@project_option
@cwd_option
@json_option
def move(
    name: str,
    slug: str | None,
    kind: str | None,
    to_project: str | None,
    personal: bool,
    project: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Give the note NAME another name, kind or project. Other notes that name it by its slug are left as they are."""
    if personal and to_project:
        raise click.UsageError("a note is either --personal or of a project")
    if not (slug or kind or to_project or personal):
        raise click.UsageError("say what is to be another: --slug, --kind, --to-project or --personal")
    backend, source = found_note(name, project, cwd, read_only=False)
    note, _ = parse_note(source.key, backend.read(source))
    kind = kind or (note.kind if note.kind in KINDS else _kind_of_place(source))
    if slug is not None:
        check_slug(slug)
    folder = None
    if not personal and kind != ALWAYS_LOAD_KIND:
        owner = to_project or project_of(source.key)
        folder = (
            project_there(backend, to_project) if to_project else project_folder(backend, owner) if owner else None
        )
    elif backend.describe() != current_device().store().describe():
        raise AgentmError(
            f"notes for every project are in the default store, and '{source}' is in {backend.describe()}",
            hint=f"save it there with `agentm save --personal`, then `agentm forget {quote(name)}`",
        )
    target = place_of(kind, slug or note.slug, folder)
    move_note(backend, source, target, kind=kind, project=folder)
    index = RecallIndex(backend)
    index.note_written([target])
    index.note_changes([source.key])
    if as_json:
        echo_json(key=target.key, moved_from=source.key)
    else:
        click.echo(f"moved {source} to {target}")


def _kind_of_place(source: Locator) -> str:
    folders = {folder: kind for kind, folder in FOLDERS.items()}
    kind = folders.get(source.parent.name)
    if kind is None:
        raise AgentmError(f"'{source}' has no kind, so it is not known where it goes", hint="give --kind")
    return kind


def _judged(name: str, verdict: str, reason: str, project: str | None, cwd: str | None, *, as_json: bool) -> None:
    backend, locator = found_note(name, project, cwd, read_only=False)
    judge(backend, locator, verdict, reason)
    RecallIndex(backend, current_device().environ).note_written([locator])
    if as_json:
        echo_json(key=locator.key, verdict=verdict)
    else:
        click.echo(f"{verdict}ed {locator}")


@click.command("confirm")
@name_argument
@click.option("--reason", default="", metavar="TEXT", help="How you know.")
@project_option
@cwd_option
@json_option
def confirm(name: str, reason: str, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Say that the note NAME is true today: it is marked as verified, and counts for more."""
    _judged(name, CONFIRM, reason, project, cwd, as_json=as_json)


@click.command("doubt")
@name_argument
@click.option("--reason", default="", metavar="TEXT", help="What seems wrong with it.")
@project_option
@cwd_option
@json_option
def doubt(name: str, reason: str, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Say that the note NAME seems wrong: it comes after others, and `notes review` lists it."""
    _judged(name, DOUBT, reason, project, cwd, as_json=as_json)
