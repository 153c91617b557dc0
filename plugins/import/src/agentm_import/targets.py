"""Whose notes they become: the projects of a source, each mapped to a project of this store once.

A path that is a folder here is asked which project it is, as `agentm save` would ask. A bare name counts only if the
store has a project of that name, or if the operator says so: two repositories may share a name.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.plugin import AgentmError, Locator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentm_import.contract import NoteFormat
    from agentm_kernel.plugin import Device, Resolution, StorageBackend


class Target(NamedTuple):
    """Where the memories of one project of the source go."""

    folder: Locator | None = None
    """The project's folder; `None` for personal notes."""
    reason: str | None = None
    """Why they go nowhere."""
    here: Resolution | None = None
    """The checkout on this device, whose place is claimed before the first note."""
    named: StorageBackend | None = None
    """The store of a project that was named."""

    @property
    def store(self) -> StorageBackend | None:
        """The store that the project lives in; `None` for the default one."""
        return self.here.backend if self.here is not None else self.named

    def claimed(self) -> Target:
        """The same place, which is the project's own from now on."""
        if self.here is None:
            return self
        return self._replace(folder=self.here.claim())


class Targets:
    """The mapping of one import."""

    def __init__(
        self,
        device: Device,
        notes: NoteFormat,
        *,
        project: str | None = None,
        mapped: Mapping[str, str] | None = None,
        keep_names: bool = False,
        ask: Callable[[str], str | None] | None = None,
        read_only: bool = False,
    ) -> None:
        self._device = device
        self._notes = notes
        self._project = project
        self._mapped = dict(mapped or {})
        self.unused = dict.fromkeys(self._mapped)
        """Projects that were mapped, and of which nothing has been looked up so far."""
        self._keep_names = keep_names
        self._ask = ask
        self._read_only = read_only
        self._known: dict[str | None, Target] = {}
        self._own: Target | None = None

    def of(self, project: str | None) -> Target:
        """The target of what the source calls `project`."""
        name = self._name(project)
        if name not in self._known:
            self._known[name] = self._look(name) if name else self.personal()
        return self._known[name]

    def personal(self) -> Target:
        """Where personal notes go: nowhere, if everybody who has the store would read them."""
        if self._own is None:
            try:
                self._notes.check_personal(self._device)
                self._own = Target()
            except AgentmError as error:
                self._own = Target(reason=f"{error.message}: {error.hint}" if error.hint else error.message)
        return self._own

    def _name(self, project: str | None) -> str | None:
        """What is looked up: `--project` beats what the source says, but for what it says of no project."""
        return f"\0{self._project}" if self._project is not None and project is not None else project

    def claim(self, project: str | None) -> None:
        """Make the project's place its own, before the first note is written to it."""
        self._known[self._name(project)] = self.of(project).claimed()

    def _look(self, project: str) -> Target:
        if project.startswith("\0"):
            return self._named(project[1:])
        plain = os.path.basename(project.rstrip("/\\")) or project
        for name in (project, plain):
            if name in self._mapped:
                self.unused.pop(name, None)
                return self._named(self._mapped[name]) if self._mapped[name] else self.personal()
        if os.path.isabs(project) and os.path.isdir(project):
            return self._checkout(project)
        slug = self._notes.slug(plain)
        if slug and (self._keep_names or self._exists(slug)):
            return self._named(slug)
        answer = self._ask(project) if self._ask else None
        if answer is not None:
            return self._named(answer) if answer else self.personal()
        return Target(reason=f"its project '{plain}' is not known here: add --map '{plain}=NAME' or --project NAME")

    def _exists(self, slug: str) -> bool:
        store, folder = self._notes.named_project(self._device, slug, read_only=True)
        return store.exists(folder)

    def _named(self, name: str) -> Target:
        here = self._device.memory(None, read_only=self._read_only).in_the_store()
        try:
            here.refuse_no_project()
            if here.slug == name:
                return Target(here.project_locator, None, here)
        except AgentmError:
            pass  # this directory is no project: what was named counts
        store, folder = self._notes.named_project(self._device, name, read_only=self._read_only)
        return Target(folder, None, None, store)

    def _checkout(self, path: str) -> Target:
        here = self._device.memory(path, read_only=self._read_only).in_the_store()
        try:
            here.refuse_no_project()
        except AgentmError:
            return self.personal()  # said in a home folder or the like: for every project
        return Target(here.project_locator, None, here)
