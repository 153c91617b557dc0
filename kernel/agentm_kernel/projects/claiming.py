"""Claiming a name in a store: what every first write of a project does.

The pointer of the remote is changed first, on condition, and then the record is created, so two devices that claim
for one repository at once come to one name. A name that another repository has is left to it.
"""

from __future__ import annotations

import os

from agentm_kernel.errors import ConcurrentModificationError, ConfigError, LocatorConflictError, StorageIOError
from agentm_kernel.projects.checkouts import make_checkout_id
from agentm_kernel.projects.lookup import Place, find_record, no_name_left, refuse_unclaimed
from agentm_kernel.projects.records import (
    VERSION,
    ProjectRecord,
    dump_note,
    has_notes,
    parse_note,
    parse_record,
    pointer_locator,
    read_pointer,
    read_record,
    slug_in,
    unite_copies,
)
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.layout import PROJECTS
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.projects.checkouts import Checkouts
    from agentm_kernel.projects.slug import ProjectIdentity
    from agentm_kernel.seam.backend import StorageBackend


def claim(store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts) -> Place:
    """The project's place, with a record that says that it is this project's."""
    record = find_record(store, project, checkouts)
    if record is None and project.remote is None:
        return _claim_by_checkout(store, project, checkouts)
    checkout_id = make_checkout_id(project.checkout)
    if record is None:
        record = claim_name(store, project.remote, list(project.names()))
        if record is None:
            raise no_name_left(project)
    if project.remote is not None and (not record.remotes or len(record.ids) > 1):
        # It had no remote before, so it cannot be another's; or conflict copies of the record are to be united.
        record = add_remote(store, record, project.remote)
    _remember(checkouts, checkout_id, record, project)
    return Place(record.folder, record)


def _claim_by_checkout(store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts) -> Place:
    """Claim for a project that only this device knows: of two first writes at once, the second finds the first's."""
    checkout_id = make_checkout_id(project.checkout)
    _require_memory(project, checkout_id)
    with checkouts.lock():
        record = find_record(store, project, checkouts) or claim_name(store, None, list(project.names()))
        if record is None:
            raise no_name_left(project)
        _remember(checkouts, checkout_id, record, project)
    return Place(record.folder, record)


def claim_as(
    store: StorageBackend, project: ProjectIdentity, checkouts: Checkouts, slug: str, *, adopting: bool
) -> Place:
    """Let the operator say which project this is: a name that is free, has notes without an owner, or is adopted."""
    checkout_id = make_checkout_id(project.checkout)
    if project.remote is None:
        _require_memory(project, checkout_id)
    record = read_record(store, slug)
    if record is None:
        record = _create(store, has_notes(store, slug) or Locator(f"{PROJECTS}/{slug}"), project.remote)
        if record is None:
            raise ConfigError(
                f"another project has just taken the name '{slug}', or has it in another spelling",
                hint="run the command again, or choose another name",
            )
    elif not adopting and not _is_this(store, record, project, checkouts, checkout_id):
        raise _other_owner(record, project)
    if project.remote is not None:
        record = add_remote(store, record, project.remote)
    _remember(checkouts, checkout_id, record, project)
    return Place(record.folder, record)


def add_remote(store: StorageBackend, record: ProjectRecord, remote: str) -> ProjectRecord:
    """Let `remote` in beside the repositories that the project is already, and lead it there."""
    point(store, remote, record.slug)
    found = record

    def with_remote(text: str | None) -> str:
        nonlocal found
        if text is None:
            raise ConfigError(f"'{record.locator}' is gone", hint="run the command again")
        current = parse_record(text, record.folder)
        found = unite_copies(store, current)
        if remote not in found.remotes:
            found = ProjectRecord(found.folder, found.ids, (*found.remotes, remote), elsewhere=found.elsewhere)
        is_same = found.remotes == current.remotes and found.id == current.id
        return text if is_same else _with_owners(text, found)

    update(store, record.locator, with_remote)
    return found


def point(store: StorageBackend, remote: str, slug: str) -> None:
    """Let the pointer of `remote` lead to `slug`; other remotes in the same file stay."""
    locator = pointer_locator(remote)

    def pointed(text: str | None) -> str:
        document = {} if text is None else parse_note(text, locator)
        if text is not None and document.get(remote) == slug:
            return text
        return dump_note({**document, remote: slug})

    update(store, locator, pointed)


# ------------------------------------------------------------------------------------------------ the parts


def claim_name(store: StorageBackend, remote: str | None, names: list[str]) -> ProjectRecord | None:
    """Take the first name that is free; where the pointer names one that has no record yet, that one."""
    seen = None if remote is None else read_pointer(store, remote)
    if seen is not None and read_record(store, seen) is None:
        names = [seen, *names]
    for name in names:
        record = read_record(store, name) or refuse_unclaimed(store, name)
        if record is not None and (remote is None or remote not in record.remotes):
            record = unite_copies(store, record)
            if remote not in record.remotes:
                continue
        if remote is not None:
            other = _point_from(store, remote, seen, name)
            if other != name:  # another device claims for the same repository, and was faster
                return claim_name(store, remote, names)
            seen = name
        record = record or _create(store, Locator(f"{PROJECTS}/{name}"), remote)
        if record is not None:
            return record
        record = read_record(store, name)
        if record is not None and remote is not None and remote in record.remotes:
            return record
    return None


def _point_from(store: StorageBackend, remote: str, seen: str | None, slug: str) -> str:
    """Change the pointer from `seen` to `slug`; where it has changed meanwhile, what it says now."""
    locator = pointer_locator(remote)
    now = slug

    def pointed(text: str | None) -> str:
        nonlocal now
        document = {} if text is None else parse_note(text, locator)
        found = slug_in(document, remote, locator)
        now = slug if found in (None, seen, slug) else str(found)
        if text is not None and found == now:
            return text
        return dump_note({**document, remote: now})

    update(store, locator, pointed)
    return now


def _create(store: StorageBackend, folder: Locator, remote: str | None) -> ProjectRecord | None:
    """Make the record; `None` if somebody else has the name, also in another spelling."""
    record = ProjectRecord(folder, (os.urandom(16).hex(),), () if remote is None else (remote,))
    try:
        create_record(store, record)
    except (ConcurrentModificationError, LocatorConflictError):
        return None
    return record


def create_record(store: StorageBackend, record: ProjectRecord) -> None:
    """Write the record of a name that nobody has; `ConcurrentModificationError` if somebody has it."""
    text = dump_note({"version": VERSION, "id": record.id, "remotes": list(record.remotes)})
    store.write(record.locator, text, if_match=ABSENT)


def change_record(store: StorageBackend, record: ProjectRecord, fields: Mapping[str, object]) -> None:
    """Give the record these fields, and take out those that are `None`; all others stay, known or not."""

    def changed(text: str | None) -> str:
        document = {"version": VERSION, "id": record.id} if text is None else parse_note(text, record.locator)
        return dump_note({name: value for name, value in {**document, **fields}.items() if value is not None})

    update(store, record.locator, changed)


def _with_owners(text: str, record: ProjectRecord) -> str:
    """The text of a record with these owners; fields that this version does not know stay."""
    document = parse_note(text, record.locator)
    for old in ("remote", "aliases"):
        document.pop(old, None)
    return dump_note({**document, "id": record.id, "remotes": list(record.remotes)})


def _is_this(
    store: StorageBackend,
    record: ProjectRecord,
    project: ProjectIdentity,
    checkouts: Checkouts,
    checkout_id: str | None,
) -> bool:
    united = unite_copies(store, record)
    if project.remote is not None and project.remote in united.remotes:
        return True
    known = None if checkout_id is None else checkouts.find(checkout_id)
    return known is not None and known[0] == record.slug and known[1] in united.ids


def _other_owner(record: ProjectRecord, project: ProjectIdentity) -> ConfigError:
    owner = record.remotes[0] if record.remotes else "another checkout, which has no remote"
    return ConfigError(
        f"the project '{record.slug}' in this store belongs to {owner}; "
        f"this is {project.remote or 'a checkout without a remote'}",
        hint="if it is another project, name it with `agentm project register --slug NAME`; "
        "if it is the same one, say so with `agentm project register --adopt`",
    )


def _require_memory(project: ProjectIdentity, checkout_id: str | None) -> None:
    """A project without a remote is known by its checkout only."""
    if checkout_id is None:
        place = project.checkout.id_folder or project.checkout.root
        raise ConfigError(
            f"this project has no remote, and nothing can be written to {place} to know it by",
            hint="make that folder writable, or give the repository a remote: `git remote add origin URL`",
        )


def _remember(checkouts: Checkouts, checkout_id: str | None, record: ProjectRecord, project: ProjectIdentity) -> None:
    if checkout_id is None:
        return
    try:
        checkout = project.checkout
        checkouts.remember(checkout_id, record, checkout.root if checkout.id_folder is None else None)
    except StorageIOError:
        if project.remote is None:
            raise  # with a remote, the store alone tells which project this is
