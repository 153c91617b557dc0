"""Finding one note by the name that a person gives."""

from __future__ import annotations

from agentm_kernel.plugin import Locator, NotFoundError, StorageConflictError, StorageError
from agentm_recall.in_conflict import WAITS, notes_in_conflict
from agentm_recall.layout import PERSONAL, is_note, is_personal, project_folder, project_of, slug_of
from agentm_recall.supersession import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentm_kernel.plugin import Info, StorageBackend


_LEAST_PART = 3
"""Characters. A shorter part means no note."""
_MOST_SHOWN = 8


def find_note(backend: StorageBackend, name: str, folders: Sequence[Locator]) -> Locator:
    """The one note that `name` means: a slug, the end of a path, a whole key, or a part that only one note has.

    The folders are asked in their order. Several candidates in one are refused, never guessed at.
    """
    part = name.removesuffix(".md").casefold()
    parts: list[list[Locator]] = []
    for folder in folders:
        listed = [info.locator for info in note_files(backend, folder)]
        found = [locator for locator in listed if names(name, locator.key)]
        if len(found) > 1:
            raise _ambiguous(name, found)
        if found:
            return found[0]
        parts.append([locator for locator in listed if part in locator.key.removesuffix(".md").casefold()])
    for note in notes_in_conflict(backend, folders):
        if names(name, note.key):
            raise StorageConflictError(f"the note '{note}' {WAITS}", hint="run `agentm doctor`")
    fitting: list[Locator] = next(filter(None, parts), []) if len(part) >= _LEAST_PART else []
    if len(fitting) > 1:
        raise _ambiguous(name, fitting)
    if fitting:
        return fitting[0]
    where = "the store" if Locator() in folders else " or ".join(folder.key for folder in folders)
    raise NotFoundError(f"there is no note '{name}' in {where}", hint=_suggestion(backend, name, folders))


def _ambiguous(name: str, found: list[Locator]) -> StorageError:
    shown = ", ".join(locator.key.removesuffix(".md") for locator in found[:_MOST_SHOWN])
    more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    return StorageError(f"'{name}' could be any of: {shown}{more}", hint="give as much of the path as it takes")


def folders_of(backend: StorageBackend, project: str | None) -> list[Locator]:
    """Where a name is looked for: in the project, then among the personal notes; everywhere without a project."""
    return [Locator()] if project is None else [project_folder(backend, project), Locator(PERSONAL)]


def note_files(backend: StorageBackend, folder: Locator) -> Iterator[Info]:
    """Every note below `folder`."""
    return (info for info in backend.walk(folder) if not info.is_dir and is_note(info.locator.key))


def _elsewhere(backend: StorageBackend, name: str, folders: Sequence[Locator]) -> str | None:
    """A note of that name outside of the folders, where looking for it costs no network."""
    from agentm_recall.index.place import is_elsewhere

    if Locator() in folders or is_elsewhere(backend):
        return None
    found = (info.locator.key for info in note_files(backend, Locator()))
    return next((key for key in found if names(name, key)), None)


def _suggestion(backend: StorageBackend, name: str, folders: Sequence[Locator]) -> str:
    elsewhere = _elsewhere(backend, name, folders)
    if elsewhere is not None:
        from shlex import quote

        project = project_of(elsewhere)
        if is_personal(elsewhere):
            return f"'{elsewhere}' is for every project: what is saved with `--personal` can replace it"
        way = (
            f"name its project too: {project} (on the command line, `--project {quote(project)}`)"
            if project
            else f"move its file into {PERSONAL}/ or a project's folder"
        )
        return f"there is '{elsewhere}', which is not of this project: {way}"
    from difflib import get_close_matches

    slugs = [slug_of(info.locator.key) for folder in folders for info in note_files(backend, folder)]
    close = get_close_matches(slug_of(name), slugs, n=3)
    return f"is it {' or '.join(close)}?" if close else "`agentm notes list` shows the notes"
