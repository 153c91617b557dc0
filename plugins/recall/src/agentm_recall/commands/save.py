"""`agentm save`: keep a fact."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import current_device, echo_json, json_option, read_text, shown
from agentm_kernel.plugin import AgentmError, InvalidContentError, Locator, choose_protocol
from agentm_recall.bodies import Body
from agentm_recall.commands.common import cwd_option, kind_option, project_option, store_and_project
from agentm_recall.inbox import proposal_of, proposed
from agentm_recall.index.maintenance import RecallIndex
from agentm_recall.layout import ALWAYS_LOAD, ALWAYS_LOAD_KIND, KINDS, is_below, project_folder
from agentm_recall.lookup import note_files
from agentm_recall.note import title_of
from agentm_recall.saving import Draft, check_draft, save_note, slugify
from agentm_recall.scopes import own_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import Resolution, StorageBackend
    from agentm_recall.saving import Saved

_OFFERED = frozenset(
    {"kind", "slug", "body", "project", "tags", "source", "confidence", "confidence_reason", "supersedes"}
)
_KIND = "fact"
"""What a note is unless somebody says."""
_LONGEST_NAME = 60
"""Characters of a name that is made from a title."""
_ABOUT_THE_OFFER = frozenset({"phase", "target", "protocol"})
"""What an offer says about itself and not about the note."""


@click.command("save")
@click.argument("text", nargs=-1)
@kind_option("What the note is, which decides its folder; fact if not given.")
@click.option("--slug", help="Its name, words with hyphens between them. Default: the first words of the text.")
@click.option(
    "--body-file", metavar="FILE", help="The text, where no TEXT is given; - (the default) is standard input."
)
@project_option
@click.option("--new-project", is_flag=True, help="With --project: the store may not know it yet.")
@click.option("--personal", is_flag=True, help="For every project: saved beside the projects.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be given again.")
@click.option(
    "--supersedes", multiple=True, metavar="SLUG", help="A note that this one replaces; may be given again."
)
@click.option("--confidence", metavar="HOW", help="How sure this is, from 0 to 1 or in words.")
@click.option("--confidence-reason", metavar="TEXT", help="Why it is as sure as that.")
@click.option("--stale-after", metavar="DATE", help="The day (2026-03-31) after which it should be checked again.")
@click.option("--source", metavar="WHO", help="Where it comes from. Default: operator on a terminal, else agent.")
@click.option("--update", "replace", is_flag=True, help="Replace the text of a note that exists.")
@click.option("--allow-secrets", is_flag=True, help="Save text that only looks as if it held a secret.")
@click.option("--from-json", metavar="FILE", help="Save what `agentm offer-save-here` printed; - is standard input.")
@cwd_option
@json_option
def command(
    text: tuple[str, ...],
    kind: str | None,
    slug: str | None,
    body_file: str | None,
    project: str | None,
    new_project: bool,
    personal: bool,
    tags: tuple[str, ...],
    supersedes: tuple[str, ...],
    confidence: str | None,
    confidence_reason: str | None,
    stale_after: str | None,
    source: str | None,
    replace: bool,
    allow_secrets: bool,
    from_json: str | None,
    cwd: str | None,
    as_json: bool,
) -> None:
    """Save one fact as a note of this project.

    The text is TEXT, or comes from standard input. On a terminal without TEXT, what is not given is asked for.

    The same text again confirms the note that is there; another text needs --update. Text that looks like it holds a
    secret is refused before the store sees it, with the line named.
    """
    if text and (body_file is not None or from_json is not None):
        other = "--body-file" if body_file is not None else "--from-json"
        raise click.UsageError(f"the text comes either as TEXT or from {other}, not both")
    if from_json is not None:
        _save_offers(read_text(from_json), cwd, replace=replace, allow_secrets=allow_secrets, as_json=as_json)
        return
    if personal and project:
        raise click.UsageError("a note is either --personal or of a --project")
    is_asked = not text and sys.stdin.isatty() and sys.stderr.isatty()
    if kind is None:
        kind = click.prompt("Kind", type=click.Choice(KINDS), default=_KIND, err=True) if is_asked else _KIND
    assert kind is not None
    body = _from_words(text) if text else _read(body_file or "-")
    if slug is None:
        slug = _typed("Name", _name_for(body)) if is_asked else _name_for(body)
    draft = Draft(
        kind,
        slug,
        body,
        tags,
        source or ("operator" if sys.stdin.isatty() else "agent"),
        _confidence(confidence),
        confidence_reason,
        supersedes,
        stale_after or "",
    )
    check_draft(draft, allow_secrets=allow_secrets)
    if personal or kind == ALWAYS_LOAD_KIND:
        backend, folder = own_store(current_device()), None
    else:

        def refuse(backend: StorageBackend, folder: Locator) -> None:
            proposal_of(backend, draft, folder, replace=replace)

        backend, _, folder = store_and_project(
            project,
            cwd,
            read_only=False,
            claiming=True,
            may_be_new=new_project,
            refuse=refuse if draft.supersedes or Body(body).has_block else None,
        )
    _save([(backend, [(draft, folder)])], replace=replace, as_json=as_json)


def _from_words(words: Sequence[str]) -> str:
    """The arguments as one line, ended like a line of standard input."""
    text = " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidContentError("the text is not UTF-8", hint="give it as UTF-8") from error
    return text if text.endswith("\n") else f"{text}\n"


def _read(path: str) -> str:
    """The text of a file or of standard input; a person whose terminal that is learns what is waited for."""
    if path == "-" and sys.stdin.isatty():
        click.echo("The text; end with Ctrl-D on an empty line. Its first line is the title.", err=True)
    return read_text(path)


def _name_for(body: str) -> str:
    """The first words of the title: whole words, unless one alone is too long. None for no text, which is refused."""
    text = Body(body).text
    name = slugify(title_of(text))
    if not name and text.strip():
        raise InvalidContentError("the first line has no words to name the note by", hint="name it with --slug")
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME + 1].rpartition("-")[0] or name[:_LONGEST_NAME]
    return name


def _typed(question: str, default: str) -> str:
    """From the terminal itself: the text has used up standard input."""
    try:
        with open("CONIN$" if os.name == "nt" else "/dev/tty", encoding="utf-8") as terminal:
            click.echo(f"{question} [{default}]: ", err=True, nl=False)
            return terminal.readline().strip() or default
    except OSError:
        return default


def _save(
    drafts: Sequence[tuple[StorageBackend, Sequence[tuple[Draft, Locator | None]]]],
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """Save the drafts, which were checked, store by store. Where there is more than one, the answer says which has
    the note.
    """
    device = current_device()
    saved: list[tuple[StorageBackend, Saved]] = []
    try:
        for backend, group in drafts:
            for draft, folder in group:
                done = proposed(device, backend, draft, folder, replace=replace) or save_note(
                    backend, draft, project=folder, replace=replace, allow_secrets=True
                )
                saved.append((backend, done))
                if not as_json:
                    _report(backend, done, tells_store=bool(device.config.stores))
        if as_json:
            echo_json(saved=[_as_json(*done) for done in saved])
    except AgentmError as error:
        error.details = {"saved": [_as_json(*done) for done in saved]}  # the answer in JSON is one object
        raise
    finally:
        sys.stdout.flush()  # the notes are safe: whoever waits for the answer need not wait for the index
        for backend, _ in drafts:
            notes = [done for store, done in saved if store is backend]
            if notes:
                RecallIndex(backend).note_written([key for done in notes for key in (done.locator, *done.superseded)])


def _report(backend: StorageBackend, done: Saved, *, tells_store: bool) -> None:
    click.echo(f"{done.outcome} {done.locator}" + (f" in {shown(backend.describe())}" if tells_store else ""))
    for locator in done.superseded:
        click.echo(f"superseded {locator}")
    if is_below(done.locator.key, (Locator(ALWAYS_LOAD),)):
        size = sum(info.size for info in note_files(backend, Locator(ALWAYS_LOAD))) // 4
        click.echo(f"notes that are always loaded take about {size:,} tokens of every recall")


def _as_json(backend: StorageBackend, done: Saved) -> dict[str, Any]:
    superseded = [str(key) for key in done.superseded]
    return {"key": done.locator.key, "outcome": done.outcome, "superseded": superseded, "store": backend.describe()}


# ------------------------------------------------------------------------------------------------ offers


def _save_offers(text: str, cwd: str | None, *, replace: bool, allow_secrets: bool, as_json: bool) -> None:
    """Everything is checked before anything is saved."""
    drafts = [(_draft(offer), offer) for offer in _offers(text)]
    for draft, _ in drafts:
        check_draft(draft, allow_secrets=allow_secrets)
    device = current_device()
    here = device.memory(cwd, read_only=False).in_the_store()
    backend = here.backend
    assert backend is not None
    selected = choose_protocol(device=device.of_store(here.store_name))
    placed: list[tuple[Draft, Locator | None]] = []
    for draft, offer in drafts:
        if offer.get("protocol", selected) != selected:
            raise AgentmError(
                f"the offer of '{draft.slug}' is for the store '{offer['protocol']}', but '{selected}' is selected",
                hint="make the offer again",
            )
        placed.append((draft, _offered_folder(backend, offer)))
    if any(folder is not None for _, folder in placed):
        _claim_own(here, placed)
    own: list[tuple[Draft, Locator | None]] = [
        (draft, None) for draft, folder in placed if folder is None or draft.kind == ALWAYS_LOAD_KIND
    ]
    groups = [(own_store(device), own)] if own else []
    groups.append((backend, [(draft, folder) for draft, folder in placed if (draft, None) not in own]))
    _save(groups, replace=replace, as_json=as_json)


def _offers(text: str) -> list[dict[str, Any]]:
    try:
        offers = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidContentError(
            f"the offers are not JSON: {error}", hint="give what `agentm offer-save-here` printed"
        ) from error
    offers = offers if isinstance(offers, list) else [offers]
    if not all(isinstance(offer, dict) for offer in offers):
        raise InvalidContentError(
            "the offers are not JSON objects", hint="give what `agentm offer-save-here` printed"
        )
    for offer in offers:
        unknown = sorted(set(offer) - _OFFERED - _ABOUT_THE_OFFER)
        if unknown:
            names = shown(", ".join(unknown), err=True)
            click.echo(f"not saved, because a note has no such fields: {names}", err=True)
    return offers


def _draft(offer: dict[str, Any]) -> Draft:
    try:
        return Draft(
            kind=_text(offer, "kind"),
            slug=_text(offer, "slug"),
            body=_text(offer, "body"),
            tags=tuple(map(str, offer.get("tags") or ())),
            source=str(offer.get("source") or "agent"),
            confidence=_confidence(offer.get("confidence")),
            confidence_reason=offer.get("confidence_reason"),
            supersedes=tuple(map(str, offer.get("supersedes") or ())),
        )
    except (TypeError, ValueError) as error:
        raise InvalidContentError(f"an offer cannot be understood: {error}") from error


def _confidence(given: object) -> float | str | None:
    """A number where it is one; words stay words."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise TypeError(f"a confidence is a number or words, not {given!r}")
    try:
        return float(given)
    except ValueError:
        return str(given).strip() or None


def _text(offer: dict[str, Any], name: str) -> str:
    value = offer.get(name)
    if not isinstance(value, str):
        raise InvalidContentError(f"an offer has no text for '{name}'", hint="offers need kind, slug and body")
    return value


def _claim_own(here: Resolution, placed: Sequence[tuple[Draft, Locator | None]]) -> None:
    """Where offers are for the project here, its place becomes this project's first, as with any other save."""
    offered = here.project_locator
    if offered is not None and any(folder == offered for _, folder in placed) and here.claim() != offered:
        raise AgentmError(
            f"another project has taken the name '{offered.name}' since the offer was made",
            hint="make the offer again",
        )


def _offered_folder(backend: StorageBackend, offer: dict[str, Any]) -> Locator | None:
    project = offer.get("project")
    if not isinstance(project, str):
        return None
    folder = project_folder(backend, project)
    if offer.get("target", folder.key) != folder.key:
        raise AgentmError(
            f"the offer of '{offer['slug']}' is for {offer['target']}, but the project's notes lie in {folder}",
            hint="make the offer again",
        )
    return folder
