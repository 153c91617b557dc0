"""Claiming a name in a store, which every first write of a project does, and whatever else is written about projects.

The pointer of the remote is changed first, on condition, and then the record is created, so two devices that claim
for one repository at once come to one name. A name that another repository has is left to it.
"""

from __future__ import annotations

import os

from agentm_kernel.device.json_text import dump
from agentm_kernel.errors import (
    AgentmError,
    ConcurrentModificationError,
    ConfigError,
    LocatorConflictError,
    StorageIOError,
)
from agentm_kernel.files.atomic import replace_file
from agentm_kernel.files.mutex import store_mutex
from agentm_kernel.files.store import FileStore
from agentm_kernel.files.tree import open_root
from agentm_kernel.projects import PROJECT_FILE, harness_path, lookup, refuse_linked_harness
from agentm_kernel.projects.checkout import (
    ID_FILE,
    ID_KEY,
    ID_LENGTH,
    PLACE_KEY,
    parse_project_file,
    path_as_text,
    plain_slug,
    read_checkout_id,
    read_placed_id,
)
from agentm_kernel.projects.lookup import Place, ProjectRecord, find_record, if_owned, read_record, unite_copies
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.layout import MOVES, PROJECTS
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update
from agentm_kernel.selection.identity import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.projects.lookup import Checkouts
    from agentm_kernel.seam.backend import StorageBackend

    First = Callable[[ProjectRecord], object]


def claim(store: StorageBackend, project: Checkout, checkouts: Checkouts) -> Place:
    """The project's place, with a record that says that it is this project's."""
    record = find_record(store, project, checkouts)
    if record is None and project.remote is None:
        with checkouts.lock():  # only this device knows it: of two first writes at once, the second finds the first's
            record = find_record(store, project, checkouts)
            if record is None:  # what follows raises where nobody can tell which project it is
                record = lookup.find_unclaimed(store, project, checkouts).record
            record = record or _take_name(store, project, _remembering(checkouts, project))
            return _remembered(checkouts, _known_by(project), record, project)
    checkout_id = make_checkout_id(project)
    record = record or _take_name(store, project)
    if project.remote is not None and (not record.remotes or len(record.ids) > 1):
        # It had no remote before, so it cannot be another's; or conflict copies of the record are to be united.
        record = add_remote(store, record, project.remote)
    return _remembered(checkouts, checkout_id, record, project)


def claim_as(store: StorageBackend, project: Checkout, checkouts: Checkouts, slug: str, *, adopting: bool) -> Place:
    """Let the operator say which project this is: a name that is free, has notes without an owner, or is adopted."""
    record = read_record(store, slug)
    if record is not None and not adopting:
        _refuse_other_owner(store, record, project, checkouts.find(read_checkout_id(project)))
    if record is None:
        folder = lookup.has_notes(store, slug) or Locator(f"{PROJECTS}/{slug}")
        record = _create(store, folder, project.remote, _remembering(checkouts, project))
        if record is None:
            raise ConfigError(
                f"another project has just taken the name '{slug}', or has it in another spelling",
                hint="run the command again, or choose another name",
            )
    if project.remote is not None:
        record = add_remote(store, record, project.remote)
    return _remembered(checkouts, _known_by(project), record, project)


def _known_by(project: Checkout, new: str | None = None) -> str | None:
    """The id of the checkout, which alone tells what a project without a remote is."""
    checkout_id = make_checkout_id(project, new)
    if checkout_id is None and project.remote is None:
        place = project.id_folder or project.root
        raise ConfigError(
            f"this project has no remote, and nothing can be written to {place} to know it by",
            hint="make that folder writable, or give the repository a remote: `git remote add origin URL`",
        )
    return checkout_id


def _remembering(checkouts: Checkouts, project: Checkout) -> First | None:
    """What comes before a record is made: who is cut off after that finds it again, and takes no second name.

    An id is remembered before the checkout has it: one that nobody knows would be that of a project which this device
    forgot. Not where the checkout was another project before: that is not forgotten for one that could not be made.
    """
    known, new = read_checkout_id(project), os.urandom(ID_LENGTH // 2).hex()

    def remember(record: ProjectRecord) -> None:
        _remembered(checkouts, known or new + project.part, record, project)
        _known_by(project, new)

    return remember if checkouts.find(known) is None else None


def _remembered(checkouts: Checkouts, checkout_id: str | None, record: ProjectRecord, project: Checkout) -> Place:
    try:
        if checkout_id is not None:
            checkouts.remember(checkout_id, record, project)
    except StorageIOError:
        if project.remote is None:
            raise  # with a remote, the store alone tells which project this is
    return Place(record.folder, record)


def _refuse_other_owner(
    store: StorageBackend, record: ProjectRecord, project: Checkout, known: tuple[str, str] | None
) -> None:
    """Raise unless the record is this project's, by its remote or by what this device remembers."""
    united = unite_copies(store, record)
    is_remembered = known is not None and known[0] == record.slug and known[1] in united.ids
    if project.remote in united.remotes or is_remembered:
        return
    owner = record.remotes[0] if record.remotes else "another checkout, which has no remote"
    raise ConfigError(
        f"the project '{record.slug}' in this store belongs to {owner}; "
        f"this is {project.remote or 'a checkout without a remote'}",
        hint="if it is another project, name it with `agentm project register --slug NAME`; "
        "if it is the same one, say so with `agentm project register --adopt`",
    )


def _take_name(store: StorageBackend, project: Checkout, first: First | None = None) -> ProjectRecord:
    record = claim_name(store, project.remote, list(project.names()), first)
    if record is None:
        raise lookup.no_name_left(project)
    return record


def claim_name(
    store: StorageBackend, remote: str | None, names: list[str], first: First | None = None
) -> ProjectRecord | None:
    """Take the first name that is free; where the pointer names one that has no record yet, that one.

    `first` is called with each record that is about to be made.
    """
    seen = None if remote is None else lookup.read_pointer(store, remote)
    if seen is not None and read_record(store, seen) is None:
        names = [seen, *names]
    for name in names:
        record = read_record(store, name) or lookup.refuse_unclaimed(store, name)
        if record is not None:
            record = if_owned(store, record, remote)
            if record is None:
                continue
        if remote is not None:
            if point(store, remote, name, unless_changed_from=seen) != name:
                return claim_name(store, remote, names, first)  # another device claims for it, and was faster
            seen = name
        record = record or _create(store, Locator(f"{PROJECTS}/{name}"), remote, first)
        if record is not None:
            return record
        record = read_record(store, name)
        if record is not None and remote is not None and remote in record.remotes:
            return record
    return None


def _create(store: StorageBackend, folder: Locator, remote: str | None, first: First | None) -> ProjectRecord | None:
    """Make the record; `None` if somebody else has the name, also in another spelling."""
    record = ProjectRecord(folder, (os.urandom(16).hex(),), () if remote is None else (remote,))
    if first is not None:
        first(record)
    try:
        create_record(store, record)
    except (ConcurrentModificationError, LocatorConflictError):
        return None
    return record


def change_note(
    store: StorageBackend, locator: Locator, fn: Callable[[dict[str, Any] | None], dict[str, Any]]
) -> dict[str, Any]:
    """Replace the object in a note by the new one that `fn` makes of it, `None` if there is none; returns that one.

    `fn` may run several times. What it leaves as it is, is not written.
    """
    wanted: dict[str, Any] = {}

    def changed(text: str | None) -> str:
        nonlocal wanted
        document = None if text is None else lookup.parse_note(text, locator)
        wanted = fn(document)
        return dump(wanted) if text is None or wanted != document else text

    update(store, locator, changed)
    return wanted


_ANYTHING = object()


def point(store: StorageBackend, remote: str, slug: str, *, unless_changed_from: object = _ANYTHING) -> str:
    """Let the pointer of `remote` lead to `slug`, and say where it leads now; other remotes in the same file stay.

    `unless_changed_from` is what it was seen to say: another one's change since then is left, and returned.
    """
    locator = lookup.pointer_locator(remote)

    def pointed(document: dict[str, Any] | None) -> dict[str, Any]:
        document = document or {}
        is_conditional = unless_changed_from is not _ANYTHING
        if is_conditional and lookup.slug_in(document, remote, locator) not in (None, slug, unless_changed_from):
            return document
        return {**document, remote: slug}

    return str(change_note(store, locator, pointed)[remote])


def add_remote(store: StorageBackend, record: ProjectRecord, remote: str) -> ProjectRecord:
    """Let `remote` in beside the repositories that the project is already, and lead it there."""
    point(store, remote, record.slug)
    found = record

    def with_remote(document: dict[str, Any] | None) -> dict[str, Any]:
        nonlocal found
        if document is None:
            raise ConfigError(f"'{record.locator}' is gone", hint="run the command again")
        current = lookup.record_in(document, record.folder)
        found = unite_copies(store, current)
        if remote not in found.remotes:
            found = ProjectRecord(found.folder, found.ids, (*found.remotes, remote), elsewhere=found.elsewhere)
        if found.remotes == current.remotes and found.id == current.id:
            return document
        others = {name: value for name, value in document.items() if name not in ("remote", "aliases")}
        return {**others, **_fields(found)}

    change_note(store, record.locator, with_remote)
    return found


def create_record(store: StorageBackend, record: ProjectRecord) -> None:
    """Write the record of a name that nobody has; `ConcurrentModificationError` if somebody has it."""
    store.write(record.locator, dump({"version": lookup.VERSION, **_fields(record)}), if_match=ABSENT)


def _fields(record: ProjectRecord) -> dict[str, object]:
    several = {"ids": sorted({*record.ids})} if {*record.ids} != {record.id} else {}
    return {"id": record.id, **several, "remotes": list(record.remotes)}


def change_record(store: StorageBackend, record: ProjectRecord, fields: Mapping[str, object]) -> None:
    """Give the record these fields, and take out those that are `None`; all others stay, known or not."""

    def changed(document: dict[str, Any] | None) -> dict[str, Any]:
        before = {"version": lookup.VERSION, "id": record.id} if document is None else document
        return {name: value for name, value in {**before, **fields}.items() if value is not None}

    change_note(store, record.locator, changed)


def record_move(
    source: StorageBackend, old: Locator, target: StorageBackend, new: Locator, milliseconds: int | None = None
) -> None:
    """Leave word in `target` that what was at `old` in `source` until then, by default now, is at `new`.

    It is for those who keep what notes were. One file per move, which nobody changes: devices that move notes at the
    same time never write the same. `from` and `to` are each the key of a note or of a folder.
    """
    import time

    moment = int(time.time() * 1000) if milliseconds is None else milliseconds
    fields: dict[str, object] = {"version": lookup.VERSION, "time": moment, "store": read_stamp(source)}
    fields |= {"from": old.key, "to": new.key, "into": read_stamp(target)}
    target.write(Locator(f"{MOVES}/{moment}-{os.urandom(4).hex()}.json"), dump(fields), if_match=ABSENT)


# ------------------------------------------------------------------------------------------------ in the checkout


def make_checkout_id(checkout: Checkout, new: str | None = None) -> str | None:
    """The id, made if there is none yet or only that of a folder that this is a copy of: then it is `new`, or any.
    `None` where it cannot be written.
    """
    known, is_placed = read_placed_id(checkout)
    if known is not None and is_placed:
        return known + checkout.part
    folder, new = checkout.id_folder, new or os.urandom(ID_LENGTH // 2).hex()
    place = path_as_text(folder or checkout.root)

    def placed(document: dict[str, object]) -> dict[str, object]:
        return {**document, ID_KEY: read_placed_id(checkout)[0] or new, PLACE_KEY: place}

    try:
        if folder is None:
            _change_project_file(checkout.root, placed)
        else:
            with open_root(folder) as directory, store_mutex(folder):  # of two who make it at once, the first's stays
                text = f"{read_placed_id(checkout)[0] or new}\n{place}\n"
                replace_file(directory, ID_FILE, text.encode(), directory.status(ID_FILE))
    except (OSError, AgentmError):
        pass  # then that of a folder that was moved still counts
    return read_checkout_id(checkout)


def declare_slug(root: str, slug: str) -> str:
    """Name the project at `root`, whatever its remote or its directory are called; returns the path of the file."""
    slug = plain_slug(slug)
    return _change_project_file(root, lambda document: {**document, "vault_project": slug})


def _change_project_file(root: str, fn: Callable[[dict[str, object]], dict[str, object]]) -> str:
    """Replace the document in the file by `fn` of it, without losing anyone's edit; returns the path."""
    refuse_linked_harness(root)
    path = harness_path(root, PROJECT_FILE)

    def changed(text: str | None) -> str:
        return dump(fn(parse_project_file(None if text is None else text.encode(), path)))

    store = FileStore(harness_path(root), create_root=True, follow_root_link=False)
    update(store, Locator(PROJECT_FILE), changed)
    return path
