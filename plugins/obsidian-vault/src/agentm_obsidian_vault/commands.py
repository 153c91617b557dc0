"""`agentm vault`: set a vault up, list its conflicts, settle them."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

import click

from agentm_kernel.command import (
    answering,
    conclude_set_up,
    echo_json,
    echo_table,
    json_option,
    selected_store,
    shown,
    store_device,
)
from agentm_kernel.plugin import (
    AgentmError,
    AuthorizationError,
    BackendLayer,
    ConflictCopies,
    Sealed,
    StorageSelectionError,
)
from agentm_obsidian_vault.backend import PROTOCOL, VaultBackend
from agentm_obsidian_vault.lost_and_found import lost_files
from agentm_obsidian_vault.merge import is_append_only
from agentm_obsidian_vault.resolve import BOTH, MINE, THEIRS, UNION, read_versions, settle, suspect
from agentm_obsidian_vault.setup import check_variable, options_for, place_of, set_up
from agentm_obsidian_vault.survey import find_conflicts

if TYPE_CHECKING:
    from agentm_kernel.plugin import Info, StorageBackend
    from agentm_obsidian_vault.survey import Conflict

_SKIP = "skip"
_KIND = (VaultBackend, ConflictCopies, "vault", "agentm vault init PATH")


@click.group("vault")
def command() -> None:
    """Set a vault up, list its conflict copies, settle them."""


@command.command("init")
@click.argument("path", type=click.Path())
@click.option("--adopt", is_flag=True, help="Accept a folder that has notes already.")
@click.option("--create", is_flag=True, help="Make the folder if it is not there; on a terminal you are asked.")
@click.option("--use", "use_it", is_flag=True, help="Select the vault on this device at once.")
@click.option("--take-along", is_flag=True, help="Select it, with the notes of the store before copied to it.")
@answering
def init(path: str, adopt: bool, create: bool, use_it: bool, take_along: bool, answer: dict[str, object]) -> None:
    """Make PATH the agent's store: a folder inside your vault, or beside it.

    A folder that another device has set up already is joined as it is. One that is not there is made only with
    --create, or after a yes on a terminal: a misspelled path would be a new, empty store.
    """
    done = set_up(path, adopt=adopt, create=create or _may_create(path))
    if use_it or take_along:
        check_variable(done.place)
    answer |= conclude_set_up(
        PROTOCOL,
        options_for(done.place),
        store_id=done.store_id,
        place=done.place,
        was_there=done.was_there,
        use_it=use_it,
        take_along=take_along,
    )


def _selected_vault(*, read_only: bool = False) -> tuple[StorageBackend, VaultBackend]:
    try:
        return selected_store(*_KIND, read_only=read_only)
    except StorageSelectionError:
        sealed = store_device().store().facet(Sealed)
        if sealed is None or sealed.as_stored.facet(ConflictCopies) is None:
            raise
    raise StorageSelectionError(
        "the vault is encrypted, so its versions of a note cannot be compared here",
        hint="`agentm encryption status` lists the copies and `agentm encryption show COPY` prints one; save what "
        "the note lacks, then remove the file",
    )


@command.command("conflicts")
@json_option
def conflicts(as_json: bool) -> None:
    """List the versions that sync tools left beside notes, and those that a write displaced unseen.

    A suspect only has a name like a copy (`Sprint 2` beside `Sprint`): it is a note, and nothing is done to it. What
    Google Drive put into its lost_and_found is listed too.
    """
    _, vault = _selected_vault(read_only=True)
    found = find_conflicts(vault)
    lost = lost_files()
    if as_json:
        echo_json(store=vault.describe(), conflicts=[_as_json(conflict) for conflict in found], lost_and_found=lost)
        return
    if found:
        _list(found)
    for path in lost:
        click.echo(shown(f"in Google Drive's lost_and_found: {path}"))
    to_settle = sum(not conflict.is_suspect for conflict in found)
    if to_settle:
        click.echo(f"{to_settle} to settle: run `agentm vault resolve`")
    elif not lost:
        click.echo("no conflicts" if not found else "nothing to settle: suspects are notes of their own")


def _list(found: list[Conflict]) -> None:
    echo_table(
        ("note", "other version", "tool", "size", "changed"),
        [
            (
                conflict.base.key + ("" if conflict.base_info else " (gone)"),
                conflict.copy.locator.key,
                f"{conflict.tool} (suspect)" if conflict.is_suspect else conflict.tool,
                f"{conflict.copy.size:,}",
                _when(conflict.copy),
            )
            for conflict in found
        ],
    )


@command.command("resolve")
@click.argument("name", required=False)
@click.option("--union", "take_union", is_flag=True, help="Merge files that only grow: every line of both versions.")
@click.option(
    "--take", type=click.Choice((MINE, THEIRS, BOTH)), help="The note as it is, the copy instead, or each as a note."
)
@click.option("--yes", is_flag=True, help="With --take theirs: you have read the copy, and vouch for it.")
@answering
def resolve(
    name: str | None, take_union: bool, take: str | None, yes: bool, answer: dict[str, list[dict[str, str]]]
) -> int:
    """Settle conflicts: all of them, or those of NAME, a note or a copy. The version that loses is kept.

    On a terminal both versions are shown side by side and you choose. Plans are never merged by a rule. Without a
    terminal a copy takes a note's place only with --yes, and never one that a guard watches over.
    """
    if take and take_union:
        raise click.UsageError("--union and --take exclude each other")
    if take and not name:
        raise click.UsageError("--take needs the NAME of one note or copy")
    store, vault = _selected_vault()
    found = [conflict for conflict in find_conflicts(vault) if _is_meant(conflict, name)]
    if name is not None and not found:
        raise AgentmError(f"'{name}' has no conflict", hint="`agentm vault conflicts` lists them")
    notes = sorted({conflict.base.key for conflict in found})
    if take and len(notes) > 1:
        raise AgentmError(
            f"'{name}' could be any of: {', '.join(notes)}", hint="give as much of the path as it takes"
        )
    answer.update(settled=[], left=[])
    if not found:
        click.echo("nothing to settle")
    if take_union:
        return _merge(store, vault, found, answer, named=name is not None)
    for conflict in found:
        if take:
            _check_authority(store, conflict, take, yes=yes)
        choice = take or _ask(vault, conflict)
        if choice == _SKIP:
            answer["left"].append(_names(conflict))
        else:
            _settle(store, vault, conflict, choice, answer)
    return 0


def _settle(
    store: StorageBackend,
    vault: VaultBackend,
    conflict: Conflict,
    choice: str,
    answer: dict[str, list[dict[str, str]]],
) -> None:
    said = settle(store, vault, conflict, choice)
    answer["settled"].append({**_names(conflict), "take": choice, "outcome": said})
    click.echo(shown(said))


def _names(conflict: Conflict) -> dict[str, str]:
    return {"note": conflict.base.key, "copy": conflict.copy.locator.key}


def _may_create(path: str) -> bool:
    """Ask the operator whether to make a folder that is not there; without a terminal nobody is asked."""
    place = place_of(path)
    if os.path.lexists(place) or not os.path.isdir(os.path.dirname(place)):
        return False  # nothing to make, or not ours to make: what is wrong is said elsewhere
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(shown(f"The folder {place} does not exist. Make it?", err=True), err=True)


def _check_authority(store: StorageBackend, conflict: Conflict, take: str, *, yes: bool) -> None:
    """Whether this process may say what the note is: the copy may be anybody's text."""
    if conflict.is_suspect:
        raise suspect(conflict)
    keeps_note = take == MINE and conflict.base_info is not None
    if keeps_note or _is_at_terminal():
        return
    if _is_guarded(store, conflict.base.key):
        raise AuthorizationError(
            f"'{conflict.base}' is under guard: only somebody at a terminal lets another version take its place",
            hint="run `agentm vault resolve` in a terminal and compare the two",
        )
    if take == THEIRS and not yes:
        raise AuthorizationError(
            f"'{conflict.copy.locator}' would take the place of '{conflict.base}', and nobody is at a terminal",
            hint="compare the two, then run the command in a terminal, or add --yes",
        )


def _is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _is_guarded(store: StorageBackend, key: str) -> bool:
    """Whether a layer between us and the vault watches over the note."""
    layer: object = store
    while isinstance(layer, BackendLayer):
        guarded = getattr(layer, "is_guarded", None)
        if callable(guarded) and guarded(key):
            return True
        layer = layer.inner
    return False


def _merge(
    store: StorageBackend,
    vault: VaultBackend,
    found: list[Conflict],
    answer: dict[str, list[dict[str, str]]],
    *,
    named: bool,
) -> int:
    """Settle what a rule can settle; without a name, leave the rest and say so."""
    left = []
    for conflict in found:
        guarded = _is_guarded(store, conflict.base.key) and not _is_at_terminal()
        if not named and (conflict.is_plan or guarded or not is_append_only(conflict.base.name)):
            left.append(conflict)
            continue
        _check_authority(store, conflict, UNION, yes=False)
        _settle(store, vault, conflict, UNION, answer)
    for conflict in left:
        answer["left"].append(_names(conflict))
        click.echo(shown(f"left for you: '{conflict.base}', other version '{conflict.copy.locator}'"))
    return int(bool(left))


def _ask(vault: VaultBackend, conflict: Conflict) -> str:
    from agentm_obsidian_vault.side_by_side import side_by_side

    if not _is_at_terminal():
        raise AgentmError(
            f"'{conflict.base}' needs somebody to choose between two versions, and this is not a terminal",
            hint="run `agentm vault resolve` on a terminal, or give `--union`, or NAME and `--take mine|theirs|both`",
        )
    versions = read_versions(vault, conflict)
    click.echo(shown(f"\n{conflict.base}: another version from {conflict.tool}, {_when(conflict.copy)}"))
    for line in side_by_side(versions.mine or "", versions.theirs, width=shutil.get_terminal_size().columns):
        click.echo(line)
    choices = [MINE, THEIRS, BOTH, _SKIP]
    if is_append_only(conflict.base.name) and not conflict.is_plan:
        choices.insert(3, UNION)
    chosen: str = click.prompt("Which one is the note?", type=click.Choice(choices), default=_SKIP)
    return chosen


def _is_meant(conflict: Conflict, name: str | None) -> bool:
    """Whether the command is about this one; about a suspect only if its own name was given."""
    if conflict.is_suspect:
        return name is not None and name in (conflict.copy.locator.key, conflict.copy.locator.name)
    return name is None or _is_named(conflict, name)


def _is_named(conflict: Conflict, name: str) -> bool:
    """Whether the note or the copy is called that: its key, or the end of it, with or without `.md`."""
    wanted = f"/{name.removesuffix('.md')}"
    keys = (conflict.base.key, conflict.copy.locator.key)
    return any(f"/{key.removesuffix('.md')}".endswith(wanted) for key in keys)


def _as_json(conflict: Conflict) -> dict[str, object]:
    base = conflict.base_info
    return {
        "note": conflict.base.key,
        "copy": conflict.copy.locator.key,
        "tool": conflict.tool,
        "suspect": conflict.is_suspect,
        "plan": conflict.is_plan,
        "note_size": base.size if base else None,
        "note_changed": _when(base) if base else None,
        "copy_size": conflict.copy.size,
        "copy_changed": _when(conflict.copy),
    }


def _when(info: Info) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(info.mtime))
