"""Which project of a store a checkout is: the checkout's own word, the pointer of its remote, then its name.

Each is believed only where the project's record confirms it, so nobody is shown what another repository wrote. At
most four small reads, and no listing, for a project that has a record.
"""

from __future__ import annotations

from agentm_kernel.errors import ConfigError, StorageSelectionError
from agentm_kernel.projects.checkouts import read_checkout_id, read_former_id
from agentm_kernel.projects.records import has_notes, read_pointer, read_record, unite_copies
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.layout import LEGACY_PROJECTS, PROJECTS
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.checkouts import Checkouts
    from agentm_kernel.projects.records import ProjectRecord
    from agentm_kernel.projects.slug import ProjectIdentity
    from agentm_kernel.seam.backend import StorageBackend


class Place(Frozen):
    """Where a project lies in a store."""

    folder: Locator
    record: ProjectRecord | None
    """Who owns it; `None` as long as nothing was written: then nothing is there to be read either."""

    @property
    def slug(self) -> str:
        return self.folder.name

    @property
    def layout(self) -> str:
        return "legacy" if self.folder.parts[0] == LEGACY_PROJECTS else "new"


def find_place(store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts) -> Place:
    """The place of a project that was claimed, or the one that its first write would claim. Only reads."""
    record = find_record(store, project, checkouts)
    if record is not None:
        return Place(record.folder, record)
    for name in project.names():
        record = read_record(store, name)
        if record is None:
            record = refuse_unclaimed(store, name)
        if record is None:
            return Place(Locator(f"{PROJECTS}/{name}"), None)
        if owned := _if_owned(store, record, project.remote):
            return Place(owned.folder, owned)
    raise no_name_left(project)


def find_record(store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts) -> ProjectRecord | None:
    """The record that this checkout, or the pointer of its remote, leads to and that confirms it."""
    checkout_id = read_checkout_id(project.checkout)
    known = None if checkout_id is None else checkouts.find(checkout_id)
    if known is not None:
        record = read_record(store, known[0])
        if record is not None and _has_id(store, record, known[1]):
            return record
    remote = project.remote
    slug = None if remote is None else read_pointer(store, remote)
    record = None if slug is None else read_record(store, slug)
    if record is not None:
        record = _if_owned(store, record, remote)
    return record or _record_of_folder(store, project, checkouts)


def _record_of_folder(store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts) -> ProjectRecord | None:
    """What the folder was before it became a repository."""
    former = read_former_id(project.checkout)
    known = None if former is None else checkouts.find_as_folder(former, project.checkout.root)
    record = None if known is None else read_record(store, known[0])
    return record if record is not None and known is not None and _has_id(store, record, known[1]) else None


def _has_id(store: StorageBackend, record: ProjectRecord, record_id: str) -> bool:
    return record_id in (*record.ids, *record.former) or record_id in unite_copies(store, record).ids


def _if_owned(store: StorageBackend, record: ProjectRecord, remote: str | None) -> ProjectRecord | None:
    """The record, if it is `remote`'s; conflict copies of it are asked only where it does not say so itself."""
    if remote is None:
        return None
    if remote not in record.remotes:
        record = unite_copies(store, record)
    return record if remote in record.remotes else None


def refuse_elsewhere(place: Place) -> None:
    """Raise where the project's notes were moved to a store that this device does not use for it."""
    if place.record is not None and place.record.elsewhere is not None:
        raise StorageSelectionError(
            f"the notes of the project '{place.slug}' are in another store, {place.record.elsewhere}",
            hint="run `agentm project use-store NAME` here with the name that this device has for it (`agentm store "
            "list`); `agentm store add NAME PROTOCOL OPTION=VALUE …` adds one",
        )


def refuse_unclaimed(store: StorageBackend, slug: str) -> ProjectRecord | None:
    """Refuse a name under which something lies that nobody has claimed; a record that came meanwhile is returned."""
    folder = has_notes(store, slug)
    if folder is None:
        return None
    record = read_record(store, slug)  # the first writer makes the record before anything else
    if record is None:
        raise ConfigError(
            f"'{folder}' in this store has notes, and nothing says which repository they belong to",
            hint="if they are this project's, run `agentm project register` here; if not, give this project a name "
            "of its own with `agentm project register --slug NAME`",
        )
    return record


def no_name_left(project: ProjectIdentity) -> ConfigError:
    return ConfigError(
        f"every name that '{project.slug}' could have in this store is taken",
        hint="choose one with `agentm project register --slug NAME`",
    )


def notice_about(place: Place, project: ProjectIdentity) -> str | None:
    """The line, or `None` where the store and the checkout agree."""
    record, remote = place.record, project.remote
    if record is not None and remote is not None and record.remotes and remote not in record.remotes:
        return (
            f"the remote is {remote} now, and the store knows the project '{place.slug}' as {record.remotes[0]}: "
            "if it is the same project, run `agentm project register --adopt`"
        )
    if project.declared and project.declared != place.slug:
        return (
            f"{project.source_of_declared} says '{project.declared}', but this project is '{place.slug}' in the "
            "store: another repository has that name, or this one had another before"
        )
    return None
