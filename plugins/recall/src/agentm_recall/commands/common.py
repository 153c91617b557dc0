"""What the commands share: which store, which project, and a progress bar."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agentm_kernel.command import current_device, tell_unread
from agentm_kernel.plugin import AgentmError, Locator
from agentm_recall.layout import KINDS, PERSONAL
from agentm_recall.named_projects import named_project
from agentm_recall.scopes import Part, find_in, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from agentm_kernel.plugin import Device, Info, Resolution, StorageBackend
    from agentm_recall.note import Note

    F = TypeVar("F", bound=Callable[..., object])

project_option = click.option("--project", metavar="SLUG", help="Another project than the one of this directory.")
cwd_option = click.option("--cwd", metavar="DIR", help="Directory of the project; the current one if not given.")


def kind_option(meaning: str) -> Callable[[F], F]:
    """`--kind`, with the kinds in the text, which a narrow terminal can break into lines."""
    return click.option(
        "--kind", type=click.Choice(KINDS), metavar="KIND", help=f"{meaning} One of {', '.join(KINDS)}."
    )


def store_and_project(
    project: str | None,
    cwd: str | None,
    *,
    read_only: bool,
    claiming: bool = False,
    may_be_new: bool = False,
    refuse: Callable[[StorageBackend, Locator], object] | None = None,
) -> tuple[StorageBackend, str, Locator]:
    """The store, the project that is meant, and the project's folder; `claiming` for what makes a new note in it, and
    `refuse` to raise where that cannot be, while the project has no name in the store yet.

    A project that is named has to be one that the store knows, unless it `may_be_new`: a slip of the pen would make
    another one.
    """
    if project is not None and not _is_named_here(project, cwd):
        named = named_project(current_device(), project, read_only=read_only, may_be_new=may_be_new)
        return named.backend, named.folder.name, named.folder
    here = _here(cwd, read_only=read_only)
    if refuse is not None and not here.is_claimed and here.backend is not None and here.project_locator is not None:
        refuse(here.backend, here.project_locator)
    folder = here.claim() if claiming else here.project_locator
    if here.notice:
        click.echo(here.notice, err=True)
    if claiming:
        tell_unread(here.root)
    assert here.backend is not None
    assert folder is not None
    return here.backend, folder.name, folder


def parts_for_reading(project: str | None, cwd: str | None) -> list[Part]:
    """Where the notes of the project are, and the operator's own: two stores, if the project is bound to another.

    Where there is no project, the operator's own and nothing else.
    """
    if project is None and is_outside(cwd):
        return [Part(current_device().store(read_only=True), [Locator(PERSONAL)], None)]
    if project is not None and not _is_named_here(project, cwd):
        return named_project(current_device(), project, read_only=True).parts(current_device())
    _, _, folder = store_and_project(project, cwd, read_only=True)
    return parts_of(_here(cwd, read_only=True), folder)


def whole_stores(cwd: str | None) -> list[Part]:
    """Everything: the default store, and the one that the project here is bound to."""
    device = current_device()
    bound = None if is_outside(cwd) else device.bound_store(cwd)
    names = [None] if bound is None else [bound, "default"]
    return [Part(device.store(name, read_only=True), [Locator()], name) for name in names]


def found_note(name: str, project: str | None, cwd: str | None, *, read_only: bool) -> tuple[StorageBackend, Locator]:
    """The note that `name` means: of the project, or else the operator's own; and the store that has it."""
    backend, locator, _ = found_in_store(name, project, cwd, read_only=read_only)
    return backend, locator


def found_in_store(
    name: str, project: str | None, cwd: str | None, *, read_only: bool
) -> tuple[StorageBackend, Locator, Device]:
    """The same, and the device as it is for that store: what it keeps for each is kept apart."""
    if project is None and is_outside(cwd):  # no project comes first, so it may be of any
        parts = [Part(current_device().store(read_only=True), [Locator()], None)]
    else:
        parts = parts_for_reading(project, cwd)
    part, locator = find_in(parts, name)
    device = current_device()
    backend = part.backend if read_only else device.store(part.store, read_only=False)
    return backend, locator, device if part.store is None else device.of_store(part.store)


def is_outside(cwd: str | None) -> bool:
    """Whether this directory belongs to no project, as a home does."""
    try:
        return current_device().memory(cwd).project_locator is None
    except AgentmError:
        return False  # it is a project, and whoever asks for its notes learns what is wrong


def _here(cwd: str | None, *, read_only: bool) -> Resolution:
    """The project of this directory. Mode `local` keeps its state in its own folder; notes are not state."""
    here = current_device().memory(cwd, read_only=read_only).in_the_store()
    here.refuse_no_project()
    return here


def _is_named_here(project: str, cwd: str | None) -> bool:
    """Whether `--project` says what the directory says anyway: then the first note makes the name this project's."""
    try:
        return _here(cwd, read_only=True).slug == project
    except AgentmError:
        return False  # the directory is no project, or nobody knows which one: what was named counts


def catch_up(backend: StorageBackend) -> None:
    """Bring the index of a store elsewhere up to date from one listing. Without that, an empty answer would mean
    nothing: a store that does not answer, or an index that cannot be kept, is an error.
    """
    from agentm_recall.index.database import IndexUnavailable
    from agentm_recall.index.maintenance import RecallIndex

    try:
        RecallIndex(backend).update(bar)
    except IndexUnavailable as error:
        raise AgentmError(
            f"the notes of {backend.describe()} cannot be listed: their index on this device cannot be used: {error}",
            hint="run `agentm reindex`",
        ) from error


def bar(label: str, items: Sequence[Info]) -> Iterable[Info]:
    """A progress bar on standard error, where a person looks."""
    if not sys.stderr.isatty() or len(items) < 200:
        yield from items
        return
    with click.progressbar(items, label=label, file=sys.stderr) as shown:
        yield from shown


def as_json(note: Note) -> dict[str, Any]:
    """A note's fields, for `--json`."""
    return {
        "key": note.key,
        "slug": note.slug,
        "kind": note.kind,
        "status": note.status,
        "title": note.title,
        "tags": list(note.tags),
        "project": note.project,
        "created": note.created,
        "updated": note.updated,
        "source": note.source,
        "confidence": note.confidence,
        "supersedes": list(note.supersedes),
        "verified": note.verified,
        "stale_after": note.stale_after,
        "problem": note.problem,
    }
