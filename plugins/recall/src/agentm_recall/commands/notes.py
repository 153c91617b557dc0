"""`agentm notes`: the notes of a project, as a list or one by one."""

from __future__ import annotations

import sys
import time

import click

from agentm_kernel.command import counted, echo_json, echo_table, json_option, show_text, shown
from agentm_kernel.plugin import NotFoundError
from agentm_recall.commands.common import (
    as_json as note_as_json,
    catch_up,
    cwd_option,
    found_note,
    is_outside,
    parts_for_reading,
    project_option,
    whole_stores,
)
from agentm_recall.commands.names import name_argument
from agentm_recall.commands.notes_changing import confirm, doubt, edit, move
from agentm_recall.commands.notes_looking import history, path, review, undo
from agentm_recall.gathering import gather
from agentm_recall.in_conflict import WAITS, notes_in_conflict
from agentm_recall.index.place import is_elsewhere
from agentm_recall.layout import KINDS
from agentm_recall.note import ACTIVE, DELETED, SUPERSEDED, is_date, parse_note
from agentm_recall.out_of_reach import UNNAMED, unnamed_notes
from agentm_recall.supersession import superseded_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_recall.note import Note

_A_MINUTE = 60.0


@click.group("notes")
def command() -> None:
    """List, show, edit, move, judge and undo notes.

    NAME is a slug, the end of a path, a whole key, or a part that only one note has.
    """


for _command in (edit, move, confirm, doubt, path, history, undo, review):
    command.add_command(_command)


def _day(text: str) -> str:
    """The day that a person means, as notes write days: in UTC."""
    days = {"today": "0", "yesterday": "1"}.get(text, text.removesuffix("d") if text.endswith("d") else "")
    if days.isdigit() and len(days) < 6:
        return time.strftime("%Y-%m-%d", time.gmtime(time.time() - int(days) * 86400))
    if is_date(text):
        return text
    raise click.UsageError(f"--since takes a date such as 2025-03-31, today, yesterday or 7d, not {text!r}")


@command.command("list")
@project_option
@click.option("--everywhere", is_flag=True, help="The notes of every project.")
@click.option("--kind", help="Only notes of this kind.")
@click.option("--tag", help="Only notes with this tag.")
@click.option("--since", metavar="DAY", help="Only notes changed since then: 2025-03-31, today, yesterday, 7d.")
@click.option("--all", "with_dead", is_flag=True, help="Deleted and superseded ones too.")
@cwd_option
@json_option
def list_notes(
    project: str | None,
    everywhere: bool,
    kind: str | None,
    tag: str | None,
    since: str | None,
    with_dead: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """List the project's notes and the personal ones, newest first."""
    since = _day(since) if since else None
    rows: list[tuple[Note, str, str | None]] = []
    problems: list[tuple[str, str]] = []
    hidden = unreached = 0
    for part in whole_stores(cwd) if everywhere else parts_for_reading(project, cwd):
        if is_elsewhere(part.backend):
            catch_up(part.backend)
        catalog = gather(part.backend, part.folders, deadline=time.monotonic() + _A_MINUTE)
        replaced = superseded_keys(catalog.notes)
        for note in catalog.notes:
            status = SUPERSEDED if note.key in replaced and note.status != DELETED else note.status
            is_wanted = kind in (None, note.kind) and (tag is None or tag.lstrip("#") in note.tags)
            is_wanted = is_wanted and (since is None or note.changed >= since)
            if is_wanted and (with_dead or status not in (DELETED, SUPERSEDED)):
                rows.append((note, status, part.store))
            elif is_wanted:
                hidden += 1
        problems += [
            *catalog.problems,
            *((note.key, WAITS) for note in notes_in_conflict(part.backend, part.folders)),
            *((path, UNNAMED) for path in unnamed_notes(part.backend, part.folders)),
        ]
        unreached += catalog.unreached
    if kind not in (None, *KINDS) and not rows and not hidden:  # by hand, a note may be of any kind
        raise NotFoundError(f"no note is of the kind {kind!r}", hint=f"run it with one of {', '.join(KINDS)}")
    rows.sort(key=lambda row: (row[0].changed, row[0].key), reverse=True)
    problems += [(note.key, note.problem) for note, _, _ in rows if note.problem]
    if as_json:
        echo_json(
            notes=[{**note_as_json(note), "status": status, "store": store} for note, status, store in rows],
            hidden=hidden,
            problems=dict(problems),
            unreached=unreached,
        )
        return
    of_one = all(store is None for _, _, store in rows)
    echo_table(
        ("changed", "kind", "note", "title") if of_one else ("changed", "store", "kind", "note", "title"),
        [
            (
                note.changed[:10] or "-",
                *([] if of_one else [store or ""]),
                note.kind if status == ACTIVE else f"{note.kind} ({status})",
                note.key.removesuffix(".md"),
                note.title[:60],
            )
            for note, status, store in rows
        ],
        nothing="no notes yet",
    )
    if hidden and sys.stdout.isatty():
        click.echo(
            f"{counted(len(rows), 'note')}, and {hidden} forgotten or replaced, which --all shows too", err=True
        )
    if project is None and not everywhere and is_outside(cwd):
        click.echo("this folder is no project: these are the personal notes; --everywhere lists all", err=True)
    for key, why in problems:
        click.echo(shown(f"{key}: {why}", err=True), err=True)
    if unreached:
        click.echo(f"{unreached} more were not read in time: run `agentm reindex`", err=True)


@command.command("show")
@name_argument
@project_option
@cwd_option
@json_option
def show(name: str, project: str | None, cwd: str | None, as_json: bool) -> None:
    """Print the note NAME, byte for byte.

    Only a terminal gets control characters spelled out.
    """
    backend, locator = found_note(name, project, cwd, read_only=True)
    text = backend.read(locator)
    if as_json:
        note, body = parse_note(locator.key, text)
        echo_json(**note_as_json(note), body=body)
        return
    show_text(text)
