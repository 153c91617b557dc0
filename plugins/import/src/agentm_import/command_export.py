"""`agentm export`: leave with everything, or hand notes to another tool."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from agentm_import.contract import note_format
from agentm_import.exports.claude_code import INDEX, claude_files
from agentm_import.exports.codex import codex_files
from agentm_import.exports.folder import compare, write
from agentm_import.exports.manifest import read_manifest
from agentm_import.exports.okf import invalid, okf_files
from agentm_import.exports.stored import current, everything
from agentm_import.source_files import read_optional
from agentm_kernel.command import counted, current_device, echo_json, json_option, shown, store_device
from agentm_kernel.plugin import SWAP_PROVIDER, Locator, content_hash, layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentm_import.contract import NoteFormat
    from agentm_import.exports.folder import Comparison
    from agentm_kernel.plugin import Device, StorageBackend

FORMS = ("okf", "markdown", "claude-code", "codex")
_OF_ONE_PROJECT = ("claude-code", "codex")


@click.command("export")
@click.argument("form", type=click.Choice(FORMS), metavar="FORMAT")
@click.argument("folder", metavar="DIR")
@click.option(
    "--project", metavar="NAME", help="For claude-code and codex: another project than the one of this directory."
)
@click.option("--store", metavar="NAME", help="For okf and markdown: another store than that of the project here.")
@click.option("--check", is_flag=True, help="Write nothing; say whether DIR is what an export would write now.")
@json_option
def command(form: str, folder: str, project: str | None, store: str | None, check: bool, as_json: bool) -> None:
    """Write the notes into DIR in the format of another tool.

    okf and markdown hold everything, and `agentm import` brings it back byte for byte. claude-code and codex get the
    notes of one project and the personal ones that still hold: DIR is the tool's own memory folder, or a new one.
    What an export did not write itself is never overwritten.
    """
    is_whole = form not in _OF_ONE_PROJECT
    device = store_device(store) if is_whole else current_device()
    folder = os.path.abspath(device.expand(folder))
    files, remarks, built_on = _files(device, form, folder, project)
    if check:
        found = compare(folder, files)
        if form == "okf":
            _validate(folder, files, found)
    else:
        found = write(folder, form, files, shared=form in _OF_ONE_PROJECT, built_on=built_on, bar=_bar)
    source = device.store().describe() if is_whole else None
    _report(form, folder, found, remarks, source, checked=check, as_json=as_json)
    if check and not found.is_same:
        sys.exit(1)


def _files(
    device: Device, form: str, folder: str, project: str | None
) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Path and text of each file, remarks for people, and the hashes of files that a text adds to."""
    notes = note_format(device)
    if form not in _OF_ONE_PROJECT:
        backend = device.store()
        backend.check_allowed(SWAP_PROVIDER)  # a policy may forbid that notes leave their store
        stored = list(everything(backend))
        return (okf_files(notes, stored) if form == "okf" else dict(stored)), [], {}
    own = device.store()
    places = [(own, Locator(layout.PERSONAL)), *_project_place(device, notes, project)]
    for backend, _ in places:
        backend.check_allowed(SWAP_PROVIDER)  # a policy may forbid that notes leave their store
    found, gone = current(notes, places)
    remarks = [f"left out, being deleted or superseded: {counted(gone, 'note')}"] if gone else []
    if form == "codex":
        return codex_files(found), remarks, {}
    files, left_out, index = claude_files(found, folder, set(read_manifest(folder, form)))
    return files, remarks + left_out, {INDEX: content_hash(index)}


def _project_place(device: Device, notes: NoteFormat, project: str | None) -> list[tuple[StorageBackend, Locator]]:
    """The store and the folder of the project's notes; nothing if it has none yet."""
    if project is not None:
        return [notes.named_project(device, project, read_only=True)]
    here = device.memory(None).in_the_store()
    here.refuse_no_project()
    if not here.is_claimed or here.backend is None or here.project_locator is None:
        return []
    return [(here.backend, here.project_locator)]


def _validate(folder: str, files: dict[str, str], found: Comparison) -> None:
    """The rules of the format, asked of what lies in the folder and not of what we meant to write."""
    for path in files:
        if not path.endswith(".md"):
            continue
        text = read_optional(os.path.join(folder, *path.split("/")))
        reason = invalid(path, text) if text is not None else None
        if reason:
            found.invalid.append(f"{path}: {reason}")


def _bar(paths: Sequence[str]) -> Iterable[str]:
    if not sys.stderr.isatty() or len(paths) < 200:
        yield from paths
        return
    with click.progressbar(paths, label="exporting", file=sys.stderr) as shown_paths:
        yield from shown_paths


def _report(
    form: str,
    folder: str,
    found: Comparison,
    remarks: list[str],
    source: str | None,
    *,
    checked: bool,
    as_json: bool,
) -> None:
    if as_json:
        echo_json(
            format=form,
            folder=folder,
            store=source,
            checked=checked,
            same=len(found.same),
            missing=found.missing,
            different=found.different,
            extra=found.extra,
            invalid=found.invalid,
            remarks=remarks,
        )
        return
    for remark in remarks:
        click.echo(remark, err=True)
    if not checked:
        written = len(found.missing) + len(found.different)
        click.echo(f"{shown(folder)}: {written} written, {len(found.same)} unchanged, {len(found.extra)} removed")
        return
    for word, paths in (
        ("missing", found.missing),
        ("different", found.different),
        ("no longer exported", found.extra),
        ("not valid", found.invalid),
    ):
        for path in paths:
            click.echo(f"{word}: {shown(path)}")
    total = len(found.same)
    click.echo(
        f"{shown(folder)} {'is the export' if found.is_same else 'is not the export'}: "
        f"{counted(total, 'file')} {'is' if total == 1 else 'are'} the same"
    )
