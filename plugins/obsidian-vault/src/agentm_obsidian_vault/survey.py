"""Everything in the vault's folder that is a version of a note and not the note: found, and paired with it.

Session start asks for the versions of a project's plans, so nothing outside of the folder that is asked about is
looked at, and the patterns of conflict copies are loaded only for a name that may be one.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import (
    CONFLICTS,
    AgentmError,
    FileStore,
    Frozen,
    Info,
    InvalidLocatorError,
    Locator,
    NotFoundError,
    StorageIOError,
    walk_folders,
)
from agentm_obsidian_vault import kept
from agentm_obsidian_vault.names import is_tool_file, may_be_copy, may_be_suspect

TYPE_CHECKING = False  # importing `typing` would cost hooks more than this module does
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_kernel.plugin import ConflictCopy, StorageConflictError
    from agentm_obsidian_vault.backend import VaultBackend

_OURSELVES = "agentm"

BY_NAME, BY_TEXT, BY_NOTHING = "name", "text", ""
"""What shows that a file is a version of another: a name that only a tool writes, its text, or nothing so far."""


class Conflict(Frozen):
    """A version beside or behind a note, waiting for somebody to settle it."""

    copy: Info
    base: Locator
    base_info: Info | None
    """`None` if the note itself is gone."""
    tool: str
    by: str = BY_NAME

    @property
    def is_plan(self) -> bool:
        """Whether agents act on this note: then a person decides, never a rule."""
        return self.base.name.startswith("PLAN")

    @property
    def is_suspect(self) -> bool:
        """Whether only a name that people use too says that this is a version: then it is a note of its own."""
        return self.by == BY_NOTHING


def raw_files(vault: VaultBackend) -> FileStore:
    """The vault's folder with nothing hidden, under the same mutex: the only way to a conflict copy."""
    return FileStore(vault.root)


def find_conflicts(vault: VaultBackend, below: Locator | None = None) -> list[Conflict]:
    """Every conflict copy that a sync tool left, every suspect, and every version that a write displaced unseen:
    of the note at `below`, or of every note below it.
    """
    asked = below or Locator()
    found = (
        *_kept(vault, asked),
        *(conflict for folder, files in _folders(vault, asked) for conflict in _beside(vault, folder, files)),
    )
    meant = (conflict for conflict in found if conflict.base.parts[: len(asked.parts)] == asked.parts)
    return sorted(meant, key=lambda conflict: (conflict.base, conflict.copy.locator))


def conflict_copies(vault: VaultBackend, below: Locator) -> list[ConflictCopy]:
    """The same as the facet has them, without suspects."""
    copies = [found for found in find_conflicts(vault, below) if not found.is_suspect]
    if not copies:
        return []
    from agentm_kernel.plugin import ConflictCopy

    return [ConflictCopy(one.base, one.copy.locator, one.tool, one.copy.size, one.copy.mtime) for one in copies]


def in_conflict(vault: VaultBackend, note: Locator) -> StorageConflictError | None:
    """That a note which is not there has versions beside its name; `None` if it has none."""
    try:
        names = [entry.name for entry in raw_files(vault).list(note.parent)] if note.key else []
    except AgentmError:
        return None  # the folder is not there either
    copies = 0
    for name in _candidates(names, vault.devices):
        from agentm_obsidian_vault.conflicts import conflict_copy

        found = conflict_copy(name, names.__contains__, vault.devices)
        copies += found is not None and found.base == note.name
    if not copies:
        return None
    from agentm_kernel.plugin import StorageConflictError

    versions = "one version of it waits" if copies == 1 else f"{copies} versions of it wait"
    return StorageConflictError(
        f"'{note}' is in conflict: {versions} to be settled, and none has its name",
        hint="`agentm vault conflicts` lists them, `agentm vault resolve` settles them",
    )


def read_copy(vault: VaultBackend, copy: Locator) -> str:
    note = kept.note_of(copy)
    near = find_conflicts(vault, copy.parent if note is None else note)
    if all(found.copy.locator != copy for found in near):
        raise NotFoundError(f"'{copy}' is no conflict copy", hint="`agentm vault conflicts` lists them")
    return raw_files(vault).read(copy)


def _kept(vault: VaultBackend, below: Locator) -> Iterator[Conflict]:
    """Versions that a write displaced and nobody has looked at."""
    for info in raw_files(vault).walk(CONFLICTS if not below.key else kept.folder_of(below)):
        note = None if info.is_dir else kept.note_of(info.locator)
        if note is not None and kept.is_unseen(info.locator):
            yield Conflict(info, note, _info(vault, note), _OURSELVES)


def _beside(vault: VaultBackend, folder: Locator, files: dict[str, Info]) -> Iterator[Conflict]:
    """What lies in one folder beside the note that it is a version of."""
    for name in _candidates(files, vault.devices):
        from agentm_obsidian_vault.conflicts import conflict_copy, suspect_copy

        found = conflict_copy(name, files.__contains__, vault.devices)
        by = BY_NAME
        if found is None:
            found = suspect_copy(name, files.__contains__, vault.devices)
            by = BY_NOTHING
        if found is None:
            continue
        base = folder.child(found.base)
        if by == BY_NOTHING and _is_version(vault, base, files[name].locator):
            by = BY_TEXT
        yield Conflict(files[name], base, files.get(found.base), found.tool, by)


def _candidates(names: Iterable[str], devices: tuple[str, ...]) -> list[str]:
    every = list(names)
    folded = [name.casefold() for name in every]
    others = {*folded, *(name.rpartition(".")[0] for name in folded)}
    return [name for name in every if may_be_copy(name, devices) or may_be_suspect(name, others)]


def _is_version(vault: VaultBackend, base: Locator, other: Locator) -> bool:
    """Whether the texts show it. A text that cannot be read shows nothing."""
    from agentm_obsidian_vault.merge import is_version

    files = raw_files(vault)
    try:
        return is_version(files.read(base), files.read(other))
    except AgentmError:
        return False


def _folders(vault: VaultBackend, below: Locator) -> Iterator[tuple[Locator, dict[str, Info]]]:
    """The files of each folder at or below `below` that may hold a version; for a note, of the one it lies in."""
    files = raw_files(vault)
    is_folder = not below.key or _is_folder(files, below)
    for folder in _promising_folders(vault, below) if is_folder else (below.parent,):
        here = next(walk_folders(files, folder), None)  # one look at all of its files, not one for each
        infos = () if here is None else map(here.note, here.versions)
        yield folder, {info.locator.name: info for info in infos if _is_beside_notes(info)}


def _is_beside_notes(info: Info) -> bool:
    """Whether this is a file that neither a tool nor the folder of kept versions has for itself."""
    return not (kept.note_of(info.locator) or any(map(is_tool_file, info.locator.parts)))


def _promising_folders(vault: VaultBackend, below: Locator) -> Iterator[Locator]:
    """Those with a name that may be of a version. Names are all that is looked at, so 100,000 notes take no second.

    Names that are not ASCII can be spelled in several ways: there the store itself is asked what there is.
    """
    for place, folders, names in os.walk(os.path.join(vault.root, *below.parts), onerror=_refuse):
        folders[:] = [name for name in folders if not is_tool_file(name)]
        if _candidates(names, vault.devices) or not all(map(str.isascii, names)):
            try:
                yield Locator(os.path.relpath(place, vault.root).replace(os.sep, "/"))
            except InvalidLocatorError:
                continue  # no key names what lies there


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # one that went away meanwhile holds nothing
        raise StorageIOError(
            f"the folder {error.filename} cannot be read: {error.strerror}",
            hint="check who owns the vault and its permissions",
            errno=error.errno,
        ) from error


def _is_folder(files: FileStore, locator: Locator) -> bool:
    try:
        return files.info(locator).is_dir
    except NotFoundError:
        return False


def _info(vault: VaultBackend, locator: Locator) -> Info | None:
    try:
        return raw_files(vault).info(locator)
    except NotFoundError:
        return None
