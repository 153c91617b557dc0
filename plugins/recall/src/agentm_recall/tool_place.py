"""Whose memory a tool call is about: the project of the agent's folder, or another one that it named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os.path import isdir
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, InvalidContentError, Locator, NotFoundError
from agentm_recall.layout import PERSONAL
from agentm_recall.named_projects import named_project
from agentm_recall.scopes import Part, find_in, parts_of

if TYPE_CHECKING:
    from agentm_kernel.plugin import Resolution, StorageBackend, ToolCall


@dataclass(frozen=True)
class Place:
    """A store and the project in it that is meant."""

    backend: StorageBackend
    project: str
    """Its name; empty where the agent's folder is no project."""
    folder: Locator | None
    """Its notes; `None` while the store knows none of it, whatever lies under its name."""
    here: Resolution | None = None
    """The open folder that is meant; `None` where a project was named that is not open, or none is meant."""
    parts_of_named: tuple[Part, ...] = ()
    """Where the notes of a project are that was named and is not open."""

    @property
    def parts(self) -> list[Part]:
        """Where its notes are looked for: its own, then the personal ones, which may be in another store."""
        if self.here is not None:
            return parts_of(self.here, self.folder)
        if self.parts_of_named:
            return list(self.parts_of_named)
        return [Part(self.backend, [*([self.folder] if self.folder is not None else []), Locator(PERSONAL)], None)]

    @property
    def bound(self) -> str | None:
        """The further store that the project is in; `None` for the default one."""
        if self.here is not None:
            return self.here.store_name
        return self.parts_of_named[0].store if self.parts_of_named else None

    def find(self, call: ToolCall, note: str, *, read_only: bool = True) -> tuple[Place, Locator]:
        """The note that is meant, and the place with the store that has it."""
        part, locator = find_in(self.parts, note)
        if part.store is None:
            return self, locator
        return replace(self, backend=call.device.store(part.store, read_only=read_only)), locator

    @property
    def said(self) -> dict[str, object]:
        """What every answer says, so that nobody takes one project's notes for another's."""
        return {"project": self.project or "none: this folder is no project", "store": self.backend.describe()}


def place_for_reading(call: ToolCall, project: str | None) -> Place:
    """Where a reader looks. A folder that is no project has the personal notes."""
    here = _chosen(call, project, read_only=True)
    if here is None:
        assert project is not None
        return _named(call, project, read_only=True)
    assert here.backend is not None
    if here.project_locator is None:
        return Place(here.backend, "", None, here)
    return Place(here.backend, here.slug, here.project_locator if here.is_claimed else None, here)


def place_for_writing(call: ToolCall, project: str | None, *, claiming: bool) -> Place:
    """Where a note is written; `claiming` for a new one: the name becomes this project's with its first note."""
    here = _chosen(call, project, read_only=False)
    if here is None:
        assert project is not None
        return _named(call, project, read_only=False)
    assert here.backend is not None
    if here.project_locator is None:
        raise InvalidContentError(
            f"{here.root} is not a project, so a note of it would be nobody's",
            hint='say scope "personal" for a note that holds everywhere, or name a project',
        )
    if not claiming:
        return Place(here.backend, here.slug, here.project_locator if here.is_claimed else None, here)
    folder = here.claim()
    return Place(here.backend, folder.name, folder, here)


def _chosen(call: ToolCall, project: str | None, *, read_only: bool) -> Resolution | None:
    """The open folder that is meant; `None` if the name is of a project that is not open."""
    roots = list(filter(isdir, call.roots))
    if project is None and not roots:
        raise InvalidContentError(
            f"the folder that is open was removed, or is not on this machine: {call.roots[0]}",
            hint="say which project with project",
        )
    opened = [call.device.memory(root, read_only=read_only).in_the_store() for root in roots]
    if project is None:
        if len(opened) > 1:
            names = ", ".join(sorted({here.slug for here in opened}))
            raise InvalidContentError(f"several folders are open: {names}", hint="say which one with project")
        return opened[0]
    return next((here for here in opened if here.project_locator is not None and _slug(here) == project), None)


def _slug(here: Resolution) -> str | None:
    try:
        return here.slug
    except AgentmError:
        return None


def _named(call: ToolCall, project: str, *, read_only: bool) -> Place:
    named = named_project(call.device, project, read_only=read_only, may_be_new=True)
    if not named.backend.exists(named.folder):
        raise NotFoundError(
            f"there is no project '{project}' in {named.backend.describe()}",
            hint="leave project out for the project of this folder; `agentm project list` shows the others",
        )
    return Place(named.backend, named.folder.name, named.folder, parts_of_named=tuple(named.parts(call.device)))
