"""`agentm search`: find notes by what they say."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import current_device, echo_json, json_option, shown, styled
from agentm_kernel.plugin import AgentmError
from agentm_recall.commands.common import as_json as note_as_json, bar, cwd_option
from agentm_recall.fence import visible
from agentm_recall.index.place import NoPlace, index_path
from agentm_recall.index.search import Scope
from agentm_recall.named_projects import named_project
from agentm_recall.remarks import Remarks
from agentm_recall.searching import CLOSE, OPEN, search_both, search_notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import Device
    from agentm_recall.searching import Answer, Found


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--project", metavar="SLUG", help="Only this project's notes and personal ones.")
@click.option("--kind", help="Only notes of this kind.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many answers.")
@click.option("--all", "with_dead", is_flag=True, help="Deleted and superseded notes too, after the others.")
@click.option("--explain", is_flag=True, help="Show what made each answer's score.")
@cwd_option
@json_option
def command(
    query: tuple[str, ...],
    project: str | None,
    kind: str | None,
    limit: int,
    with_dead: bool,
    explain: bool,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Find the notes that say something about QUERY, best first.

    Without --project every note is searched, and those of the project here are preferred. The index is brought up to
    date first; it lies in the cache directory and can be deleted at any time.
    """
    device = current_device()
    here, bound, problem = _here(device, cwd)
    if project is not None and project != here:
        named = named_project(device, project, read_only=True)
        project, bound = named.folder.name, named.store
    scope = Scope(project, None if project else here, kind, with_dead)
    if bound is not None:
        answer = search_both(device, bound, " ".join(query), scope, limit=limit, explain=explain, progress=bar)
    else:
        answer = search_notes(device.store(), " ".join(query), scope, limit=limit, explain=explain, progress=bar)
    if problem is not None and project is None and problem not in answer.notices:
        answer = replace(answer, notices=(*answer.notices, problem))
    stores: dict[str | None, Remarks | None] = {}

    def remarks(found: Found) -> str:
        name = None if found.store == "default" else found.store
        if name not in stores:
            stores[name] = _remarks(device, name)
        about = stores[name]
        return about.line(found.hit.note) if about is not None else ""

    if as_json:
        echo_json(
            found=[_as_json(found, remarks(found), explain=explain) for found in answer.found],
            confidence=round(answer.confidence, 3),
            answered=answer.is_answer,
            left_out=answer.dead,
            notices=list(answer.notices),
        )
    else:
        _show(answer, remarks, explain=explain)


def _remarks(device: Device, store: str | None) -> Remarks | None:
    try:
        return Remarks(index_path(device.store(store)))
    except NoPlace:
        return None


def _here(device: Device, cwd: str | None) -> tuple[str | None, str | None, str | None]:
    """The project of this directory, the further store that it is bound to, and why it cannot be told or had."""
    bound = None
    try:
        bound = device.bound_store(cwd)
        return device.memory(cwd).slug, bound, None
    except AgentmError as error:
        return None, bound, error.message


def _as_json(found: Found, remark: str, *, explain: bool) -> dict[str, Any]:
    hit = found.hit
    fields: dict[str, Any] = {
        **note_as_json(hit.note),
        "score": round(hit.score, 6),
        "current": hit.is_current,
        "store": found.store,
        "snippet": _plain(found.snippet),
        "remark": remark,
    }
    if explain:
        fields["explain"] = {"text": round(hit.text_score, 6), "signals": hit.signals, "words": found.words}
    return fields


def _show(answer: Answer, remarks: Callable[[Found], str], *, explain: bool) -> None:
    for found in answer.found:
        note = found.hit.note
        gone = "" if found.hit.is_current else " (not current)"
        if note.is_overdue:
            gone += f" (stale since {note.stale_after[:10]})"
        if remark := remarks(found):
            gone += f" ({remark})"
        place = "" if found.store is None else f", store {found.store}"
        click.echo(
            styled(shown(note.key.removesuffix(".md")), bold=True)
            + shown(f"  {note.kind}, {note.changed[:10] or 'no date'}{gone}{place}")
        )
        click.echo(f"    {_marked(found.snippet)}")
        if explain:
            _explain(found)
    if not answer.found:
        click.echo("nothing found")
    elif answer.is_answer:
        click.echo(f"confidence {answer.confidence:.2f}")
    else:
        click.echo(f"no note seems to answer this (confidence {answer.confidence:.2f}); these come nearest")
    if answer.dead:
        click.echo(f"{answer.dead} deleted or superseded notes match too: --all shows them")
    for notice in answer.notices:
        click.echo(shown(notice, err=True), err=True)


def _explain(found: Found) -> None:
    hit = found.hit
    factors = "".join(f" * {name} {factor:.2f}" for name, factor in hit.signals.items())
    click.echo(f"    score {hit.score:.3g} = text {hit.text_score:.3g}{factors}")
    for column, words in found.words.items():
        click.echo(shown(f"    {column}: {', '.join(words)}"))


def _marked(snippet: str) -> str:
    """A terminal has what nobody sees spelled out; a pipe, where agents read, does without it."""
    show = shown if sys.stdout.isatty() else visible
    head, *rest = snippet.split(OPEN)
    parts = [part.partition(CLOSE) for part in rest]
    return show(head) + "".join(styled(show(word), bold=True) + show(after) for word, _, after in parts)


def _plain(snippet: str) -> str:
    return snippet.replace(OPEN, "").replace(CLOSE, "")
