"""A project that is meant by its name, from another folder than its own: it is in the store that it was put in.

The default store says of a project that was moved in which store it is, by that store's id. The record there has to
be of the same repository: names are given by each store on its own, and another project may have this one there.
"""

from __future__ import annotations

from agentm_kernel.plugin import (
    AgentmError,
    Checkouts,
    ConfigError,
    Frozen,
    Locator,
    LocatorConflictError,
    NotFoundError,
    StorageSelectionError,
    has_notes,
    layout,
    read_pointer,
    read_record,
    read_stamp,
)
from agentm_recall.layout import PERSONAL, project_folder, project_of
from agentm_recall.scopes import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, ProjectRecord, StorageBackend


class NamedProject(Frozen):
    """Where the project that somebody named lies."""

    backend: StorageBackend
    folder: Locator
    store: str | None = None
    """The name of the further store that it is in; `None` for the default one."""

    def parts(self, device: Device) -> list[Part]:
        """Its notes and the operator's own."""
        if self.store is None:
            return [Part(self.backend, [self.folder, Locator(PERSONAL)], None)]
        own = Part(device.store(read_only=True), [Locator(PERSONAL)], "default")
        return [Part(self.backend, [self.folder], self.store), own]


def named_project(device: Device, name: str, *, read_only: bool, may_be_new: bool = False) -> NamedProject:
    """The project that has the name in the default store, or in one that a project of this device is bound to.

    A name that is nowhere is refused, for a slip of the pen would make another project; unless it `may_be_new`: then
    it is one of the default store. One whose store cannot be had is refused in any case.
    """
    own = device.store(read_only=read_only)
    folder = project_folder(own, name)
    record = read_record(own, folder.name)
    if record is not None and record.unread_in(record.folder):
        return _moved(device, own, record, read_only=read_only)
    if record is None and has_notes(own, folder.name) is None:
        found = _only_there(device, folder.name, read_only=read_only)
        if found is not None:
            return found
        if not may_be_new:
            raise _no_such_project(own, name)
    return NamedProject(own, folder if record is None else record.folder)


def _no_such_project(store: StorageBackend, name: str) -> NotFoundError:
    from difflib import get_close_matches

    projects = [folder.name for tree in layout.PROJECT_TREES for folder in store.list(Locator(tree))]
    near = get_close_matches(name, projects, 1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    return NotFoundError(
        f"there is no project '{name}' in this store",
        hint=f"{meant}`agentm project list` shows them; `agentm save --new-project` begins a new one",
    )


def project_there(store: StorageBackend, name: str) -> Locator:
    """The folder where a project's notes are read: it may have another name now; one in another store is refused."""
    folder = project_folder(store, name)
    record = read_record(store, name)
    if record is not None and (away := record.unread_in(record.folder)):
        from shlex import quote

        raise LocatorConflictError(
            away,
            hint=f"save it there with `agentm save --project {quote(name)}`; `agentm forget` takes out what is here",
        )
    if record is None and not store.exists(folder):
        raise NotFoundError(f"there is no project '{name}'", hint="`agentm project list` shows them")
    return folder if record is None else record.folder


def place_now(
    device: Device, store: StorageBackend, locator: Locator, *, read_only: bool = False
) -> tuple[StorageBackend, Locator]:
    """The store and the key at which a note is read that belongs at `locator` of `store`.

    Its project may have another name since that was said, or be in another store.
    """
    project = project_of(locator.key)
    record = None if project is None else read_record(store, project)
    if record is None:
        return store, locator
    rest = locator.parts[2:]
    if record.elsewhere is None:
        return store, record.folder.child(*rest)
    found = _moved(device, store, record, read_only=read_only)
    return found.backend, found.folder.child(*rest)


def _moved(device: Device, left: StorageBackend, record: ProjectRecord, *, read_only: bool) -> NamedProject:
    """The project of a record of the store that it has left, which says in which one it is now."""
    unknown: AgentmError = _not_here(record)
    for store in (None, *device.config.stores):
        try:
            backend = device.store(store, read_only=read_only)
        except StorageSelectionError as error:
            unknown = error  # it may be this one
            continue
        if read_stamp(backend) == record.elsewhere:
            there = Checkouts(device.state_dir, left).find_in(backend, record) or _same_project(backend, record)
            if there.unread_in(there.folder):  # another device took it on, and this one was not told
                raise _not_here(there)
            return NamedProject(backend, there.folder, store)
    raise unknown


def _not_here(record: ProjectRecord) -> StorageSelectionError:
    hint = "`agentm store add NAME PROTOCOL OPTION=VALUE …` adds it"
    return StorageSelectionError(record.unread_in(record.folder) or "", hint=hint)


def _same_project(backend: StorageBackend, record: ProjectRecord) -> ProjectRecord:
    for remote in record.remotes:
        slug = read_pointer(backend, remote)
        there = None if slug is None else read_record(backend, slug)
        if there is not None and remote in there.remotes:
            return there
    raise ConfigError(
        f"nothing in {backend.describe()} says which project there '{record.slug}' is",
        hint="name its folder with `--cwd DIR`, or change to it",
    )


def _only_there(device: Device, name: str, *, read_only: bool) -> NamedProject | None:
    """A project that has the name in the store that it is bound to, and not in the default one."""
    bindings = device.config.bindings
    for store in dict.fromkeys(bindings.values()):
        backend = device.store(store, read_only=read_only)
        record = read_record(backend, name)
        if record is not None and any(bindings.get(remote) == store for remote in record.remotes):
            if record.unread_in(record.folder):
                return _moved(device, backend, record, read_only=read_only)
            return NamedProject(backend, record.folder, store)
    return None
