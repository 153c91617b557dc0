"""`agentm project rename` and `merge`: everything that lies under one name, put under another.

Each file is written where nothing is, and then deleted on condition that it has not changed, so a command that was
cut off at any point has lost nothing and is finished by running it again. The old name keeps a record that says where
the project went: checkouts of other devices follow it, and no other project takes the name by accident.
"""

from __future__ import annotations

import time
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from agentm_import.contract import refuse_hidden
from agentm_import.moving.stores import refuse_conflict_copies, texts_below
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    ConfigError,
    Locator,
    LocatorConflictError,
    NotFoundError,
    ProjectRecord,
    StorageError,
    add_remote,
    change_record,
    content_hash,
    create_record,
    has_notes,
    layout,
    list_repos,
    plain_slug,
    point,
    read_record,
    record_move,
    register_repo,
    unregister_repo,
)

if TYPE_CHECKING:
    from agentm_import.contract import NoteFormat
    from agentm_kernel.plugin import StorageBackend

_ROUNDS = 10


class Moved(NamedTuple):
    """What became of the files of a project."""

    files: int
    beside: dict[str, str]
    """The keys of those that came beside a file of their name with another text, and that file's key."""


def rename_project(store: StorageBackend, old: str, new: str) -> Moved:
    """Give the project `old` the name `new`, which nobody has."""
    record = _movable(store, old, new)
    target = ProjectRecord(Locator(f"{layout.PROJECTS}/{plain_slug(new)}"), record.ids, record.remotes)
    found = read_record(store, new)
    if found is not None and found.id != record.id:
        raise ConfigError(
            f"'{new}' is the name of another project in this store",
            hint="choose another name, or bring the two together with "
            f"`agentm project merge {quote(old)} {quote(new)}`",
        )
    if found is None:
        if has_notes(store, new):
            raise ConfigError(
                f"'{new}' in this store has notes, and nothing says which repository they belong to",
                hint="choose another name",
            )
        create_record(store, target)
    elif found.folder == record.folder:  # a name that it had before, and has again
        change_record(store, target, {"moved_to": None, "remotes": list(record.remotes)})
    return _move_all(store, record, target)


def merge_projects(store: StorageBackend, source: str, into: str, notes: NoteFormat | None = None) -> Moved:
    """Put everything of the project `source` under `into`, which is both from now on.

    Where both have a file of one name with different text, both stay: the one that comes gets `-from-<source>` added.
    `notes` knows which of them would hide one another.
    """
    record = _movable(store, source, into)
    target = read_record(store, into)
    if target is None:
        raise NotFoundError(
            f"there is no project '{into}' in this store",
            hint="if it has no notes yet, enter it with `agentm project register` in its folder first; to give "
            f"'{source}' that name instead, run `agentm project rename {quote(source)} {quote(into)}`",
        )
    if target.folder == record.folder:  # the name that it had before leads back to it
        raise ConfigError(f"'{into}' is called '{target.slug}' now", hint="there is nothing to merge: both are one")
    if target.slug != plain_slug(into):  # perhaps of somebody else, who would get all of it for good
        raise ConfigError(f"'{into}' is called '{target.slug}' now", hint="use that name")
    _refuse_elsewhere(target)
    if not {*record.ids} <= {*target.ids}:  # else it was begun: notes that belong together are apart until it is done
        _refuse_hidden(store, record.folder, target.folder, notes)
    for remote in record.remotes:
        target = add_remote(store, target, remote)
    change_record(store, target, {"ids": sorted({*target.ids, *record.ids})})
    return _move_all(store, record, target)


def _refuse_hidden(store: StorageBackend, folder: Locator, target: Locator, notes: NoteFormat | None) -> None:
    there = texts_below(store, target)
    coming: dict[str, str] = {}
    present: dict[str, str] = {}
    for file, text in texts_below(store, folder).items():
        place = target.child(*file.parts[len(folder.parts) :])
        if there.get(place) == text:
            del there[place]
        key = (_beside(place, folder.name, 1) if place in there else place).key
        coming[key], present[key] = text, file.key
    refuse_hidden(notes, coming, {place.key: text for place, text in there.items()}, present)


def _movable(store: StorageBackend, old: str, new: str) -> ProjectRecord:
    """The record of what is to be moved; everything that can be refused is refused before anything changes."""
    if plain_slug(old) == plain_slug(new):
        raise ConfigError("both names are the same", hint="name the project and its new name")
    record = read_record(store, old)
    if record is None:
        raise NotFoundError(
            f"there is no project '{old}' in this store",
            hint="`agentm project list` shows them; one that has no notes yet has nothing to move",
        )
    if record.slug not in (old, new):
        raise ConfigError(f"'{old}' is called '{record.slug}' now", hint="use that name")
    _refuse_elsewhere(record)
    if not store.capabilities.delete:
        raise StorageError(f"the store at {store.describe()} cannot delete, so nothing can be moved in it")
    list_repos(store)  # the registry follows in the end: one that cannot be understood says so now
    folder = has_notes(store, old) or record.folder.parent.child(old)
    refuse_conflict_copies(store, folder)
    for info in store.walk(folder):
        if not info.is_dir:
            store.read(info.locator)  # a file that is no text cannot be moved, and says so now
    return ProjectRecord(folder, record.ids, record.remotes)


def _refuse_elsewhere(record: ProjectRecord) -> None:
    """Refuse a project that this store only says of where it went: nobody would read what came to it."""
    if away := record.unread_in(record.folder):
        raise ConfigError(
            away,
            hint="name that store (`agentm store list`): `agentm --store NAME project …`; or bring the project back "
            "first, in its folder: `agentm project use-store default --move`",
        )


def _move_all(store: StorageBackend, record: ProjectRecord, target: ProjectRecord) -> Moved:
    count = 0
    beside: dict[str, str] = {}
    begun = int(time.time() * 1000)
    for remote in record.remotes:
        point(store, remote, target.slug)
    while files := _files(store, record.folder):
        for file in files:
            beside |= _move(store, file, record.folder, target.folder, begun)
        count += len(files)
    record_move(store, record.folder, store, target.folder, begun)
    change_record(store, record, {"remotes": [], "moved_to": target.slug})
    for file in _files(store, record.folder):  # what somebody wrote in the meantime, who had not heard of it yet
        beside |= _move(store, file, record.folder, target.folder, begun)
        count += 1
    _rename_entry(store, record.folder.name, target.slug)
    return Moved(count, beside)


def _rename_entry(store: StorageBackend, old: str, new: str) -> None:
    """Let the registry know the project by its new name; an entry that the new name has already stays."""
    entries = {repo["slug"]: repo for repo in list_repos(store)}
    entry = entries.get(old)
    if entry is not None and new not in entries and "root_path" in entry:
        register_repo(store, new, entry["root_path"], remote=entry.get("remote"), wiki_path=entry.get("wiki_path"))
    unregister_repo(store, old)


def _files(store: StorageBackend, folder: Locator) -> list[Locator]:
    return [
        info.locator
        for info in store.walk(folder)
        if not info.is_dir and info.locator != folder.child(layout.PROJECT_RECORD)
    ]


def _move(store: StorageBackend, file: Locator, folder: Locator, target: Locator, begun: int) -> dict[str, str]:
    """Where it is, and beside what, if it did not get the place that it had."""
    wanted = target.child(*file.parts[len(folder.parts) :])
    place, copied = wanted, ""
    for _ in range(_ROUNDS):
        text = store.read(file)
        try:
            if copied:
                store.write(place, text, if_match=copied)
        except ConcurrentModificationError:
            copied = ""  # somebody changed the copy, which is theirs now
        if not copied:
            place = _put(store, wanted, text, folder.name)
        copied = content_hash(text)
        if place != wanted:  # beside a file of the same name; it takes its own history along
            record_move(store, file, store, place, begun)
        try:
            store.delete(file, if_match=copied)
        except ConcurrentModificationError:
            continue  # edited while it was copied: the copy is brought up to date
        return {} if place == wanted else {place.key: wanted.key}
    raise ConcurrentModificationError(f"'{file}' changes all the time", hint="run the command again")


def _put(store: StorageBackend, place: Locator, text: str, source: str) -> Locator:
    """Write the text where nothing is; where something else is, beside it."""
    for number in range(1000):
        candidate = _beside(place, source, number)
        try:
            return store.write(candidate, text, if_match=ABSENT)
        except ConcurrentModificationError:
            if store.read(candidate) == text:
                return candidate
        except LocatorConflictError:  # something has the name in another spelling, or a folder has it
            if number:
                raise
    raise StorageError(f"there is no free name beside '{place}'")


def _beside(place: Locator, source: str, number: int) -> Locator:
    """The name that a file from another project gets when those before are taken; the first is its own."""
    added = "" if number == 0 else f"-from-{source}" if number == 1 else f"-from-{source}-{number}"
    suffix = place.short_suffix
    return place.parent.child(f"{place.name.removesuffix(suffix)}{added}{suffix}")
