"""`agentm git`: make a clone, sync it, and look at the history of notes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from agentm_git.backend import GitStore
from agentm_git.naming import find_note
from agentm_git.rewritten import ANSWERS
from agentm_git.settings import CONFLICTS, PROTOCOL
from agentm_kernel.command import (
    answering,
    conclude_set_up,
    current_device,
    echo_json,
    echo_table,
    json_option,
    selected_store,
    shown,
)
from agentm_kernel.plugin import (
    COMMIT,
    PUSH,
    NotFoundError,
    StorageReadOnlyError,
    StorageSelectionError,
    SyncOutcome,
    SyncTrigger,
    WorkingCopy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from agentm_git.history import Version
    from agentm_kernel.plugin import StorageBackend

    F = TypeVar("F", bound=Callable[..., object])

_KIND = (GitStore, WorkingCopy, "clone", "agentm git init PATH [URL]")
_VERBS = ("committed", "pulled", "pushed")
_SETTLING = [policy for policy in CONFLICTS if policy not in ("abort", "manual")]
_OF_ONE_CLONE = ("remote", "branch", "conflict", "token_env")
_OF_ANY_CLONE = ("name", "email", "username", "credential_command", "deadline")
"""Who commits, and how tokens are had."""


def _conflict_option(policies: Sequence[str], meaning: str) -> Callable[[F], F]:
    """`--conflict`, with what may follow it in the text, which a narrow terminal can break into lines."""
    return click.option(
        "--conflict", type=click.Choice(policies), metavar="POLICY", help=f"{meaning} One of {', '.join(policies)}."
    )


@click.group(PROTOCOL)
def command() -> None:
    """Make a clone, sync it with its origin, and look at the history of notes."""


@command.command("init")
@click.argument("path", type=click.Path())
@click.argument("url", required=False, default="")
@click.option("--branch", default="", help="The branch that notes are kept on; main if it is left out.")
@_conflict_option(CONFLICTS, "What to do when both sides changed a note.")
@click.option("--token-env", default="", help="The environment variable that holds the token for an https origin.")
@click.option("--adopt", is_flag=True, help="Accept a folder or an origin that has files already.")
@click.option("--use", "use_it", is_flag=True, help="Select the clone on this device at once.")
@click.option("--take-along", is_flag=True, help="Select it, with the notes of the store before copied to it.")
@answering
def init(
    path: str,
    url: str,
    adopt: bool,
    use_it: bool,
    take_along: bool,
    answer: dict[str, object],
    **given: str | None,
) -> None:
    """Make PATH a clone of URL, or a repository of its own, and the agent's store.

    An origin that another device has set up already is joined as it is. No token is stored anywhere.
    """
    from agentm_git.setup import place_of, set_up

    options = {name: value for name, value in given.items() if value}
    kept = _kept_options(place_of(path))
    done = set_up(path, url or kept.get("remote", ""), adopt=adopt, options={**kept, **options})
    chosen = {"root": done.place, **({"remote": done.remote} if done.remote else {}), **options}
    stale = {name: "" for name in _OF_ONE_CLONE if name in _configuration() and name not in (*kept, *chosen)}
    before = {name: _configuration()[name] for name in ("branch", "conflict", "token_env") if name in stale}
    answer |= conclude_set_up(
        PROTOCOL,
        {**stale, **chosen},
        store_id=done.store_id,
        place=done.place,
        was_there=done.was_there,
        use_it=use_it,
        take_along=take_along,
    )
    for name, value in before.items() if answer["in_use"] else ():
        if value:
            click.echo(f"plugins.git.{name} was {value} for the clone before, and is not set for this one")
    answer["inside_of"] = done.outer or None
    if done.outer:
        click.echo(f"it lies in the repository {done.outer}: a line in its .gitignore keeps the two apart")


@command.command("sync")
@_conflict_option(_SETTLING, "Settle what the policy leaves to you, this once.")
@click.option(
    "--rewritten",
    type=click.Choice(ANSWERS),
    help="The origin took out commits that are here: follow lets them go, keep sends them back.",
)
@click.option("--message", "-m", default="", help="Of the commit, if there is something to commit.")
@json_option
def sync(conflict: str | None, rewritten: str | None, message: str, as_json: bool) -> None:
    """Commit what was written, bring in what the origin has, and push.

    Exits 1 if a note cannot be read, or if what the origin has is not here: it says why.
    """
    from agentm_git.condition import LEFT_OUT, UNREAD, distance
    from agentm_git.sealed_records import unite_sealed

    store, git = selected_store(*_KIND)
    may_write = _may_write(store)
    if may_write:
        given = SyncTrigger("manual"), message or "agentm: sync", conflict, rewritten
        done = dict(zip(_VERBS, git.sync(*given), strict=False))
        if unite_sealed(store):  # then the others get it at once
            again = zip(_VERBS, git.sync(*given), strict=False)
            done |= {verb: outcome for verb, outcome in again if outcome.changed}
    else:
        done = {"pulled": git.clone.pull(conflict, rewritten)}
    apart = distance(git.clone)
    is_behind = bool(apart and apart.behind)
    if "pulled" in done and not (done["pulled"].changed or is_behind):
        # Put off because of an edit that was not committed; then the push brought it in, or there was nothing.
        done["pulled"] = SyncOutcome(False, ref=done["pulled"].ref)
    ignored = git.clone.looked.ignored() if may_write else []
    unread = git.clone.looked.unread() if may_write else []
    if as_json:
        said = {verb: _outcome(outcome) for verb, outcome in done.items()}
        echo_json(**said, ignored=ignored, unread=unread, store=git.describe())
    else:
        for verb, outcome in done.items():
            _say(verb, outcome)
        if may_write and not any(outcome.changed or outcome.note for outcome in done.values()):
            click.echo("nothing to do")
        _echo_list(LEFT_OUT, ignored, "")
        _echo_list(UNREAD, unread, "")
    if unread or is_behind:
        sys.exit(1)


@command.command("status")
@json_option
def status(as_json: bool) -> None:
    """Show what is not committed, how far the origin is, and which versions wait to be looked at."""
    from agentm_git.condition import ABSENT, LEFT_OUT, age_of_pull, conflict_copies, distance, words_for

    _, git = selected_store(*_KIND, read_only=True)
    clone = git.clone
    changes = clone.changes()
    ignored, absent = clone.looked.ignored(), clone.looked.absent()
    apart, age, copies = distance(clone), age_of_pull(clone), conflict_copies(git)
    if as_json:
        echo_json(
            store=git.describe(),
            branch=git.settings.branch,
            remote=git.settings.remote or None,
            changes=[{"note": change.path, "what": change.what} for change in changes],
            ignored=ignored,
            absent=absent,
            ahead=apart.ahead if apart else None,
            behind=apart.behind if apart else None,
            pulled_seconds_ago=None if age is None else round(age),
            conflicts=copies,
        )
        return
    click.echo(f"{git.describe()}, branch {git.settings.branch}")
    _echo_list("not committed", [f"{change.path} ({change.what})" for change in changes], "everything is committed")
    if git.settings.remote:
        reached = "it was never reached" if age is None else f"last reached {words_for(age)} ago"
        click.echo(f"origin {git.settings.remote}: {reached}; {apart or 'it has nothing yet'}")
    else:
        click.echo("no origin: history stays on this device")
    _echo_list(LEFT_OUT, ignored, "")
    _echo_list(ABSENT, absent, "")
    _echo_list("kept versions to look at", copies, "")


@command.command("log")
@click.argument("note")
@json_option
def log(note: str, as_json: bool) -> None:
    """Show the versions of NOTE (a slug, the end of its path, or a part that only it has), the latest first."""
    from agentm_git.history import versions

    _, git = selected_store(*_KIND, read_only=True)
    locator = find_note(git, note)
    found = versions(git.clone, locator)
    if not found:
        raise NotFoundError(f"no commit has '{locator}'", hint="`agentm git status` shows what is not committed yet")
    if as_json:
        echo_json(note=locator.key, versions=[_as_json(version) for version in found])
        return
    rows = [(v.commit[:12], _when(v.time), v.author, v.what, f"{v.size:,}", v.subject) for v in found]
    echo_table(("commit", "when", "who", "what", "size", "message"), rows)


@command.command("undo")
@click.argument("note")
@click.option(
    "--to", "commit", default="", help="The commit whose version is wanted; else the one before the latest."
)
@json_option
def undo(note: str, commit: str, as_json: bool) -> None:
    """Let NOTE (a slug, the end of its path, or a part that only it has) be what it was before its latest change.

    It comes back byte for byte. What it is now stays in the history: undoing twice brings it back.
    """
    from agentm_git.history import find, restore, version_before, versions

    store, git = selected_store(*_KIND)
    locator = find_note(git, note)
    clone = git.clone
    if not _may_write(store):
        raise StorageSelectionError("the policy declares the store read-only", hint="ask whoever keeps the policy")
    clone.commit(f"agentm: {locator}, before undo", ())
    known = versions(clone, locator)
    if not known:
        raise NotFoundError(f"no commit has '{locator}'", hint="check the name of the note")
    wanted = find(known, commit, locator) if commit else version_before(store, clone, locator, known)
    restore(store, clone, locator, wanted)
    if as_json:
        clone.commit(f"agentm: undo {locator}", ())
        echo_json(
            note=locator.key, commit=None if wanted is None else wanted.commit, exists=bool(wanted and wanted.blob)
        )
        return
    place = "before it was written" if wanted is None else f"as {wanted.commit[:12]} left it"
    clone.commit(f"agentm: undo {locator}, {place}", ())
    how = f"gone, as {place}" if wanted is None else place if wanted.blob else f"{place}: deleted"
    click.echo(f"'{locator}' is {how}")


# ------------------------------------------------------------------------------------------------ helpers


def _may_write(store: StorageBackend) -> bool:
    """Whether the rules around the store, if any, let us commit and push. They raise where nobody granted it."""
    try:
        store.check_allowed(COMMIT)
        store.check_allowed(PUSH)
    except StorageReadOnlyError:
        return False
    return True


def _outcome(outcome: SyncOutcome) -> dict[str, object]:
    return {"changed": outcome.changed, "ref": outcome.ref, "url": outcome.url, "note": outcome.note}


def _say(verb: str, outcome: SyncOutcome) -> None:
    if outcome.changed:
        click.echo(
            ": ".join(part for part in (f"{verb} {(outcome.ref or '')[:12]}", outcome.note, outcome.url) if part)
        )
    elif outcome.note:
        click.echo(outcome.note)


def _echo_list(title: str, lines: list[str], otherwise: str) -> None:
    if lines:
        click.echo(f"{title}:")
        for line in lines:
            click.echo(shown(f"  {line}"))
    elif otherwise:
        click.echo(otherwise)


def _configuration() -> dict[str, Any]:
    return current_device().config.options(PROTOCOL)


def _kept_options(place: str) -> dict[str, Any]:
    """What of the configuration holds for the clone at `place`: all unless it is about another, else what is not."""
    configured = _configuration()
    root = configured.get("root")
    if not root or (isinstance(root, str) and current_device().expand(root) == place):
        return configured
    return {name: value for name, value in configured.items() if name in _OF_ANY_CLONE}


def _as_json(version: Version) -> dict[str, object]:
    return {
        "commit": version.commit,
        "when": _when(version.time),
        "author": version.author,
        "message": version.subject,
        "what": version.what,
        "size": version.size,
    }


def _when(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(seconds))
