"""Which project of a store a checkout is: the checkout's own word, the pointer of its remote, then its name.

Each is believed only where the project's record confirms it, so nobody is shown what another repository wrote. The
record, `projects/<slug>/_project.json`, is the authority on whose name a name is: `{id, remotes}`. The pointer,
`_meta/remotes/<crc32>.json`, leads from a remote to the slug, so that nothing has to be listed. Only reading is done
here: at most four small reads for a project that has a record.

Which project a checkout was last stands in `<state>/stores/<store id>/checkouts.json`, on this device only. An entry
names the project's record by its id too: a name that another project was given since then is not taken for this one.
"""

from __future__ import annotations

import os

from agentm_kernel import errors
from agentm_kernel.device.json_text import JsonTable, locked_folder, parse_object
from agentm_kernel.errors import AgentmError
from agentm_kernel.projects.checkout import ID_LENGTH, path_as_text, plain_slug, read_checkout_id, read_former_id
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.backend import ConflictCopies, Identity
from agentm_kernel.seam.layout import LEGACY_PROJECTS, PROJECT_RECORD, PROJECT_TREES, PROJECTS, REMOTES
from agentm_kernel.seam.locator import Locator
from agentm_kernel.selection.identity import read_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from agentm_kernel.projects.checkout import Checkout
    from agentm_kernel.seam.backend import StorageBackend

VERSION = 1


def parse_note(text: str, locator: Locator) -> dict[str, object]:
    """The object that `text` holds, of the version we know; `InvalidContentError` otherwise: what is there but cannot
    be understood is never written over.
    """
    try:
        document = parse_object(text)
    except errors.MalformedJson as error:
        if text.startswith("-----BEGIN AGE"):
            why = f"'{locator}' is encrypted, and this device reads the store without its keys"
            raise errors.InvalidContentError(why, hint="run `agentm encryption join` here") from error
        raise unfit(locator, f"is not valid JSON: {error}") from error
    if document.get("version", VERSION) != VERSION:
        raise unfit(locator, f"has the version {document['version']!r}, which this agentm does not know")
    return document


def read_note(store: StorageBackend, locator: Locator) -> dict[str, object] | None:
    """The object in a note; `None` if there is no such note."""
    try:
        text = store.read(locator)
    except errors.NotFoundError:
        return None
    return parse_note(text, locator)


def unfit(locator: Locator, why: str) -> errors.InvalidContentError:
    return errors.InvalidContentError(
        f"'{locator}' {why}", hint="it was left as it is; correct it, or bring back an earlier version of it"
    )


_TREES = tuple(map(Locator, PROJECT_TREES))
MOVED_TO_STORE = "moved_to_store"
_LONGEST_WAY = 10
_LONGEST_ID = 100


class ProjectRecord(Frozen):
    """Who owns the name of a project."""

    folder: Locator
    ids: tuple[str, ...]
    """One, unless devices claimed the name before they knew of each other and their records were united."""
    remotes: tuple[str, ...]
    """The repositories that the project is, the first one first; none for a project without a remote."""
    former: tuple[str, ...] = ()
    """The ids of projects that were renamed to, or merged into, this one, as far as the way here led over them."""
    elsewhere: str | None = None
    """The id of the store that the project's notes are in, where that is another one than this."""

    @property
    def id(self) -> str:
        """The one that counts: of several, the smallest."""
        return min(self.ids)

    @property
    def slug(self) -> str:
        return self.folder.name

    @property
    def locator(self) -> Locator:
        return self.folder.child(PROJECT_RECORD)

    def unread_in(self, folder: Locator) -> str | None:
        """Why nobody reads what lies in `folder`, for which this record was found; `None` where somebody does."""
        if self.elsewhere is not None:
            return f"the notes of the project '{self.slug}' are in another store, {self.elsewhere}"
        return None if self.folder == folder else f"the notes of '{folder}' are in '{self.folder}' now"


def read_record(store: StorageBackend, slug: str) -> ProjectRecord | None:
    """The record of the project that has, or had, the name `slug`; `None` as long as nobody has claimed the name."""
    former: tuple[str, ...] = ()
    for _ in range(_LONGEST_WAY):
        for tree in _TREES:
            folder = tree.child(slug)
            locator = folder.child(PROJECT_RECORD)
            document = read_note(store, locator)
            if document is not None:
                break
        else:
            return None
        record = record_in(document, folder, former)
        moved_to = slug_in(document, "moved_to", locator)
        if moved_to is None:
            return record
        former, slug = (*former, *record.ids), moved_to
    raise unfit(locator, "is one of several names that lead to each other")


def record_in(document: dict[str, object], folder: Locator, former: tuple[str, ...] = ()) -> ProjectRecord:
    """A record, also one of the older form `{remote, aliases}`; `InvalidContentError` for anything else."""
    if "remotes" in document or "id" in document:
        remotes, record_id = document.get("remotes", []), document.get("id")
    else:
        first, others = document.get("remote"), document.get("aliases", [])
        remotes = [first, *others] if isinstance(others, list) and first is not None else others
        record_id = first if first is not None else "unowned"
    if not isinstance(remotes, list) or not all(isinstance(remote, str) and remote for remote in remotes):
        raise unfit(folder.child(PROJECT_RECORD), "does not name its repositories as text")
    if not isinstance(record_id, str) or not record_id:
        raise unfit(folder.child(PROJECT_RECORD), "has no `id`")
    further, elsewhere = document.get("ids"), document.get(MOVED_TO_STORE)
    ids = [other for other in further if isinstance(other, str)] if isinstance(further, list) else ()
    known_elsewhere = elsewhere if isinstance(elsewhere, str) else None
    return ProjectRecord(folder, (record_id, *ids), tuple(remotes), former, known_elsewhere)


def unite_copies(store: StorageBackend, record: ProjectRecord) -> ProjectRecord:
    """The record with what its conflict copies say: two devices claimed the name before they knew of each other."""
    all_ = [record, *(other for other, moved_to in _copies(store, record.folder) if moved_to is None)]
    ids = [each for one in all_ for each in one.ids]
    remotes = dict.fromkeys(each for one in all_ for each in one.remotes)
    return ProjectRecord(record.folder, tuple(ids), tuple(remotes), record.former, record.elsewhere)


def _copies(store: StorageBackend, folder: Locator) -> list[tuple[ProjectRecord, str | None]]:
    """What the conflict copies of a record say, each with the name that its project has now if it left this one."""
    copies, locator, found = store.facet(ConflictCopies), folder.child(PROJECT_RECORD), []
    if copies is None:
        return []
    for copy in copies.conflict_copies(locator):
        try:
            document = parse_note(copies.read_copy(copy.copy), locator)
            found.append((record_in(document, folder), slug_in(document, "moved_to", locator)))
        except AgentmError:
            continue  # what nobody can read says nothing
    return found


def _in_copies(store: StorageBackend, slug: str, fits: Callable[[ProjectRecord], bool]) -> ProjectRecord | None:
    """The record that only a conflict copy has: one device gave the name up, and another took it meanwhile."""
    for record, moved_to in [copy for tree in _TREES for copy in _copies(store, tree.child(slug))]:
        if fits(record):
            return record if moved_to is None else read_record(store, moved_to)
    return None


def has_notes(store: StorageBackend, slug: str) -> Locator | None:
    """The folder in which something lies under this name, whoever put it there: more than empty folders, which a
    restore or another program leaves. Verbs do not see all of it.
    """
    copies = store.facet(ConflictCopies)
    for folder in filter(store.exists, [tree.child(slug) for tree in _TREES]):
        is_listed = any(not info.is_dir for info in store.walk(folder)) or any(store.foreign_entries(folder))
        if is_listed or (copies is not None and copies.conflict_copies(folder)):
            return folder
    return None


def pointer_locator(remote: str) -> Locator:
    """Where the pointer of a remote lies; remotes of one checksum share the file."""
    from binascii import crc32

    return Locator(f"{REMOTES}/{crc32(remote.encode()):08x}.json")


def read_pointer(store: StorageBackend, remote: str) -> str | None:
    """The slug that the pointer names, for the record to confirm."""
    locator = pointer_locator(remote)
    return slug_in(read_note(store, locator) or {}, remote, locator)


def slug_in(document: dict[str, object], key: str, locator: Locator) -> str | None:
    """The name of a project that a note has under `key`."""
    slug = document.get(key)
    if slug is None:
        return None
    try:
        if isinstance(slug, str) and plain_slug(slug) == slug:
            return slug
    except errors.InvalidLocatorError:
        pass
    raise unfit(locator, f"does not name a project for {key}")


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


class Checkouts(Frozen):
    """Which project of one store each checkout of this device was last."""

    state_dir: str
    store: StorageBackend

    def find(self, checkout_id: str | None, folder: str | None = None) -> tuple[str, str] | None:
        """The slug and the record's id that this checkout had last; given a folder, only if it was that one's id."""
        entry = None if checkout_id is None else self._table().read().get(checkout_id)
        if entry is None or (folder is not None and entry.get("at") != path_as_text(folder)):
            return None
        return entry["slug"], entry["id"]

    def find_in(self, other: StorageBackend, record: ProjectRecord) -> ProjectRecord | None:
        """What the project of a record is in another store, by a checkout of this device that is known in both."""
        there = Checkouts(self.state_dir, other)
        known = [key for key, entry in self._table().read().items() if entry["id"] in (*record.ids, *record.former)]
        return next((found for key in known if (found := _remembered(other, there.find(key)))), None)

    def if_remembered(self, checkout: Checkout, record: ProjectRecord) -> ProjectRecord | None:
        """The record, if this device knows in any store (a new one had no mark yet) that it is this checkout's.

        Raises where neither has a remote and it may be: the checkout has an id, so it was some project, and this
        device does not know it. A new part of a repository has an id, too: where this device knows another part, and
        whose the record is, it has forgotten nothing.
        """
        known = None if checkout.remote is not None or record.remotes else read_checkout_id(checkout)
        if known is None:
            return None
        stores = os.path.join(self.state_dir, "stores")
        _, folders, _ = next(os.walk(stores), (stores, [], []))  # none where there is no such folder
        entries = [each for name in folders for each in _table_in(os.path.join(stores, name)).read().items()]
        owners = [key for key, entry in entries if entry["id"] in record.ids]
        if known in owners and len(record.id) == ID_LENGTH:  # that of an older record may be that of others, too
            return record
        has_known_part = any(key.startswith(known[:ID_LENGTH]) for key, _ in entries)
        if known in dict(entries) or (has_known_part and owners):
            return None
        raise errors.ConfigError(
            f"this may be the project '{record.slug}' of the store: neither has a remote, and this device does "
            "not remember the checkout, which came from another one or outlived what this one kept",
            hint="say that it is: `agentm project register --adopt`; or give it a name of its own: "
            "`agentm project register --slug NAME`",
        )

    def lock(self) -> AbstractContextManager[object]:
        """One claim at a time on this device. Raises now, and not after a claim, where nothing can be remembered."""
        return locked_folder(os.path.join(self.state_dir, "stores"))

    def remember(self, checkout_id: str, record: ProjectRecord, checkout: Checkout) -> None:
        """From now on the checkout is the project of this record; an id of it that it has, older copies have too."""
        before = (table := self._table()).read().get(checkout_id, {})
        entry = {"slug": record.slug, "id": before["id"] if before.get("id") in record.ids else record.id}
        if checkout.id_folder is None:
            entry["at"] = path_as_text(checkout.root)
        if entry != before:
            table.change({checkout_id: entry})

    def carry_over_to(self, target: StorageBackend) -> None:
        """Let every checkout be the same project in a store that all notes, and so all records, were copied to."""
        if known := self._table().read():
            Checkouts(self.state_dir, target)._table().change(known)  # noqa: SLF001 - of our own kind

    def _table(self) -> JsonTable:
        """By the store's id; a store that carries no mark is known by its place."""
        identity = self.store.facet(Identity)
        store_id = (identity and identity.store_id) or read_stamp(self.store)
        is_plain = store_id is not None and store_id.replace("-", "").replace("_", "").isalnum()
        if store_id is None or not is_plain or len(store_id) > _LONGEST_ID:
            from binascii import crc32

            place = store_id or self.store.describe()
            store_id = f"at-{crc32(place.encode('utf-8', 'surrogateescape')):08x}"
        return _table_in(f"{self.state_dir}{os.sep}stores{os.sep}{store_id}")


def _table_in(folder: str) -> JsonTable:
    return JsonTable(f"{folder}{os.sep}checkouts.json", _is_entry, _unreadable)


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("slug"), str) and isinstance(entry.get("id"), str)


def _unreadable(path: str, why: str) -> errors.StorageIOError:
    return errors.StorageIOError(
        f"{path} cannot be read: {why}",
        hint="it says which project each checkout is; repair it, or move it away and run "
        "`agentm project register --adopt` in checkouts that have no remote",
    )


def find_place(store: StorageBackend, project: Checkout, checkouts: Checkouts) -> Place:
    """The place of a project that was claimed, or the one that its first write would claim. Only reads."""
    record = find_record(store, project, checkouts)
    return find_unclaimed(store, project, checkouts) if record is None else Place(record.folder, record)


def find_unclaimed(store: StorageBackend, project: Checkout, checkouts: Checkouts) -> Place:
    """The first of its names that is free, or its own after all."""
    for name in project.names():
        record = read_record(store, name) or refuse_unclaimed(store, name)
        if record is None:
            return Place(Locator(f"{PROJECTS}/{name}"), None)
        if owned := if_owned(store, record, project.remote) or checkouts.if_remembered(project, record):
            return Place(owned.folder, owned)
    raise no_name_left(project)


def find_record(store: StorageBackend, project: Checkout, checkouts: Checkouts) -> ProjectRecord | None:
    """The record that confirms this checkout: the one that it had last, that of its remote, or what its folder was
    before it became a repository.
    """
    known = checkouts.find(read_checkout_id(project))
    if (record := _remembered(store, known)) is not None:
        return record
    remote = project.remote
    slug = None if remote is None else read_pointer(store, remote)
    if slug is not None:
        record = if_owned(store, read_record(store, slug), remote)
        record = record or _in_copies(store, slug, lambda copy: remote in copy.remotes)
    record = record or _remembered(store, checkouts.find(read_former_id(project), project.root))
    if record is not None or known is None or len(known[1]) != ID_LENGTH:
        return record  # the id of an older record may be that of others, too
    return next((each for each in records(store) if known[1] in each.ids), None)  # the store was brought back


def records(store: StorageBackend) -> Iterator[ProjectRecord]:
    """The records of a store, each with what its conflict copies say; of names that were left, none."""
    for folder in [folder for tree in _TREES for folder in store.list(tree)]:
        record = read_record(store, folder.name)
        if record is not None and record.folder == folder:
            yield unite_copies(store, record)


def _remembered(store: StorageBackend, known: tuple[str, str] | None) -> ProjectRecord | None:
    """The record of what this device remembers, if that is still the same project."""
    if known is None or (record := read_record(store, known[0])) is None:
        return None
    is_same = known[1] in (*record.ids, *record.former) or known[1] in unite_copies(store, record).ids
    return record if is_same else _in_copies(store, known[0], lambda copy: known[1] in copy.ids)


def if_owned(store: StorageBackend, record: ProjectRecord | None, remote: str | None) -> ProjectRecord | None:
    """The record, if it is `remote`'s; conflict copies of it are asked only where it does not say so itself."""
    if record is None or remote is None:
        return None
    if remote not in record.remotes:
        record = unite_copies(store, record)
    return record if remote in record.remotes else None


def refuse_unclaimed(store: StorageBackend, slug: str) -> ProjectRecord | None:
    """Refuse a name under which something lies that nobody has claimed; a record that came meanwhile is returned."""
    folder = has_notes(store, slug)
    if folder is None:
        return None
    record = read_record(store, slug)  # the first writer makes the record before anything else
    if record is None:
        raise errors.ConfigError(
            f"'{folder}' in this store has notes, and nothing says which repository they belong to",
            hint="if they are this project's, run `agentm project register` here; if not, give this project a name "
            "of its own with `agentm project register --slug NAME`",
        )
    return record


def no_name_left(project: Checkout) -> errors.ConfigError:
    return errors.ConfigError(
        f"every name that '{project.slug}' could have in this store is taken",
        hint="choose one with `agentm project register --slug NAME`",
    )
