"""Everything in the vault's folder that is a version of a note and not the note: found, and paired with it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, ConflictCopy, FileStore, Locator, NotFoundError
from agentm_obsidian_vault import kept
from agentm_obsidian_vault.conflicts import conflict_copy, suspect_copy
from agentm_obsidian_vault.merge import is_version
from agentm_obsidian_vault.names import is_tool_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import Info
    from agentm_obsidian_vault.backend import VaultBackend

_OURSELVES = "agentm"

BY_NAME, BY_TEXT, BY_NOTHING = "name", "text", ""
"""What shows that a file is a version of another: a name that only a tool writes, its text, or nothing so far."""


@dataclass(frozen=True)
class Conflict:
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


def find_conflicts(vault: VaultBackend) -> list[Conflict]:
    """Every conflict copy that a sync tool left, every suspect, and every version that a write displaced unseen."""
    return sorted(_conflicts(vault), key=lambda conflict: (conflict.base, conflict.copy.locator))


def conflict_copies(vault: VaultBackend, below: Locator) -> list[ConflictCopy]:
    """The same as the facet has them, without suspects: of the note at `below`, or of every note below it."""
    return [
        ConflictCopy(found.base, found.copy.locator, found.tool, found.copy.size, found.copy.mtime)
        for found in find_conflicts(vault)
        if found.base.parts[: len(below.parts)] == below.parts and not found.is_suspect
    ]


def read_copy(vault: VaultBackend, copy: Locator) -> str:
    if all(found.copy.locator != copy for found in find_conflicts(vault)):
        raise NotFoundError(f"'{copy}' is no conflict copy", hint="`agentm vault conflicts` lists them")
    return raw_files(vault).read(copy)


def _conflicts(vault: VaultBackend) -> Iterator[Conflict]:
    for folder, files in _files_by_folder(vault).items():
        for name, info in files.items():
            note = kept.note_of(info.locator)
            if note is not None:
                if kept.is_unseen(info.locator):
                    yield Conflict(info, note, _info(vault, note), _OURSELVES)
                continue
            found = conflict_copy(name, files.__contains__, vault.devices)
            by = BY_NAME
            if found is None:
                found = suspect_copy(name, files.__contains__, vault.devices)
                by = BY_NOTHING
            if found is None:
                continue
            base = folder.child(found.base)
            if by == BY_NOTHING and _is_version(vault, base, info.locator):
                by = BY_TEXT
            yield Conflict(info, base, files.get(found.base), found.tool, by)


def _is_version(vault: VaultBackend, base: Locator, other: Locator) -> bool:
    """Whether the texts show it. A text that cannot be read shows nothing."""
    files = raw_files(vault)
    try:
        return is_version(files.read(base), files.read(other))
    except AgentmError:
        return False


def _files_by_folder(vault: VaultBackend) -> dict[Locator, dict[str, Info]]:
    folders: dict[Locator, dict[str, Info]] = defaultdict(dict)
    for info in raw_files(vault).walk(Locator()):
        if not info.is_dir and not any(is_tool_file(part) for part in info.locator.parts):
            folders[info.locator.parent][info.locator.name] = info
    return folders


def _info(vault: VaultBackend, locator: Locator) -> Info | None:
    try:
        return vault.info(locator)
    except NotFoundError:
        return None
