"""What a store says about whose name a project's name is.

`projects/<slug>/_project.json` is the authority: `{id, remotes}`. `_meta/remotes/<crc32>.json` leads from a remote to
the slug, so that nothing has to be listed; it counts only where the record agrees. Only reading is done here.
"""

from __future__ import annotations

from agentm_kernel.device.json_text import MalformedJson, parse
from agentm_kernel.errors import AgentmError, InvalidContentError, InvalidLocatorError, NotFoundError
from agentm_kernel.projects.slug import plain_slug
from agentm_kernel.seam import Frozen
from agentm_kernel.seam.facets import ConflictCopies
from agentm_kernel.seam.layout import LEGACY_PROJECTS, PROJECT_RECORD, PROJECTS, REMOTES
from agentm_kernel.seam.locator import Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend

VERSION = 1


def parse_note(text: str, locator: Locator) -> dict[str, object]:
    """The object that `text` holds, of the version we know; `InvalidContentError` otherwise: what is there but cannot
    be understood is never written over.
    """
    try:
        document = parse(text)
    except MalformedJson as error:
        raise unfit(locator, f"is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise unfit(locator, "is not an object in braces")
    if document.get("version", VERSION) != VERSION:
        raise unfit(locator, f"has the version {document['version']!r}, which this agentm does not know")
    return document


def dump_note(document: dict[str, object]) -> str:
    """The text of a document, as people can read and compare it."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def unfit(locator: Locator, why: str) -> InvalidContentError:
    return InvalidContentError(
        f"'{locator}' {why}", hint="it was left as it is; correct it, or bring back an earlier version of it"
    )


POINTERS = Locator(REMOTES)
_TREES = (Locator(PROJECTS), Locator(LEGACY_PROJECTS))
MOVED_TO_STORE = "moved_to_store"
_LONGEST_WAY = 10


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


def read_record(store: StorageBackend, slug: str) -> ProjectRecord | None:
    """The record of the project that has, or had, the name `slug`; `None` as long as nobody has claimed the name."""
    former: tuple[str, ...] = ()
    for _ in range(_LONGEST_WAY):
        found = _read_one(store, slug)
        if found is None:
            return None
        record, moved_to = found
        if moved_to is None:
            return ProjectRecord(record.folder, record.ids, record.remotes, former, record.elsewhere)
        former, slug = (*former, record.id), moved_to
    raise unfit(record.locator, "is one of several names that lead to each other")


def _read_one(store: StorageBackend, slug: str) -> tuple[ProjectRecord, str | None] | None:
    for folder in [tree.child(slug) for tree in _TREES]:
        try:
            text = store.read(folder.child(PROJECT_RECORD))
        except NotFoundError:
            continue
        record = parse_record(text, folder)
        if '"moved_to"' not in text:
            return record, None
        return record, slug_in(parse_note(text, record.locator), "moved_to", record.locator)
    return None


def parse_record(text: str, folder: Locator) -> ProjectRecord:
    """A record, also one of the older form `{remote, aliases}`; `InvalidContentError` for anything else."""
    locator = folder.child(PROJECT_RECORD)
    document = parse_note(text, locator)
    if "remotes" in document or "id" in document:
        remotes, record_id = document.get("remotes", []), document.get("id")
    else:
        first, others = document.get("remote"), document.get("aliases", [])
        remotes = [first, *others] if isinstance(others, list) and first is not None else others
        record_id = first if first is not None else "unowned"
    if not isinstance(remotes, list) or not all(isinstance(remote, str) and remote for remote in remotes):
        raise unfit(locator, "does not name its repositories as text")
    if not isinstance(record_id, str) or not record_id:
        raise unfit(locator, "has no `id`")
    others, elsewhere = document.get("ids"), document.get(MOVED_TO_STORE)
    ids = (record_id, *(other for other in (others if isinstance(others, list) else ()) if isinstance(other, str)))
    return ProjectRecord(folder, ids, tuple(remotes), elsewhere=elsewhere if isinstance(elsewhere, str) else None)


def unite_copies(store: StorageBackend, record: ProjectRecord) -> ProjectRecord:
    """The record with what its conflict copies say: two devices claimed the name before they knew of each other."""
    copies = store.facet(ConflictCopies)
    ids, remotes = list(record.ids), list(record.remotes)
    if copies is None:
        return record
    for copy in copies.conflict_copies(record.locator):
        try:
            other = parse_record(copies.read_copy(copy.copy), record.folder)
        except AgentmError:
            continue  # what nobody can read says nothing
        ids += other.ids
        remotes += [remote for remote in other.remotes if remote not in remotes]
    return ProjectRecord(record.folder, tuple(ids), tuple(remotes), record.former, record.elsewhere)


def has_notes(store: StorageBackend, slug: str) -> Locator | None:
    """The folder in which something lies under this name, whoever put it there."""
    for folder in [tree.child(slug) for tree in _TREES]:
        if store.exists(folder) and store.list(folder):
            return folder
    return None


def pointer_locator(remote: str) -> Locator:
    """Where the pointer of a remote lies; remotes of one checksum share the file."""
    from binascii import crc32

    return POINTERS.child(f"{crc32(remote.encode()):08x}.json")


def read_pointer(store: StorageBackend, remote: str) -> str | None:
    """The slug that the pointer names, for the record to confirm."""
    locator = pointer_locator(remote)
    try:
        text = store.read(locator)
    except NotFoundError:
        return None
    return slug_in(parse_note(text, locator), remote, locator)


def slug_in(document: dict[str, object], key: str, locator: Locator) -> str | None:
    """The name of a project that a note has under `key`."""
    slug = document.get(key)
    if slug is None:
        return None
    try:
        if isinstance(slug, str) and plain_slug(slug) == slug:
            return slug
    except InvalidLocatorError:
        pass
    raise unfit(locator, f"does not name a project for {key}")
