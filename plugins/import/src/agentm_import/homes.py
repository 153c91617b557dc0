"""Where the notes of a project are read today: since a key was written down, the project may have another name.

A key of an export, and one that the record of imports knows, are of the day on which they were written. A note that
would come to a name that leads elsewhere would be read by nobody, and one that would come to the project of another
repository by the wrong people.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from agentm_kernel.plugin import Locator, LocatorConflictError, has_notes, layout, read_pointer, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_import.items import Item
    from agentm_kernel.plugin import ProjectRecord, StorageBackend


class Homes:
    """The projects that a source brings along under their own keys, and where each of them is in the store."""

    def __init__(self, backend: StorageBackend, items: Iterable[Item]) -> None:
        self._backend = backend
        self._theirs = {slug: _owner(item.body) for item in items if (slug := _slug_of_record(item.key))}
        self._folders: dict[str, Locator | None] = {}

    def key(self, key: str) -> Locator:
        """The key of a note that comes home, where its project reads it."""
        locator = Locator(key)
        slug = slug_of(key)
        if slug is None:
            return locator
        if slug not in self._folders:
            self._folders[slug] = self._look(slug)
        folder = self._folders[slug]
        return locator if folder is None else folder.child(*locator.parts[2:])

    def _look(self, slug: str) -> Locator | None:
        """Where the project is; `None` if nobody has its name here."""
        ids, remotes = self._theirs.get(slug, ((), ()))
        for remote in remotes:
            pointed = read_pointer(self._backend, remote)
            record = None if pointed is None else read_record(self._backend, pointed)
            if record is not None and remote in record.remotes:
                return readable(record)
        for name in _names(slug, remotes):
            record = read_record(self._backend, name)
            if record is None and (name == slug or has_notes(self._backend, name) is None):
                return None if name == slug else Locator(f"{layout.PROJECTS}/{name}")
            if record is not None and (not ids or {*ids} & {*record.ids, *record.former}):
                return readable(record)
        raise LocatorConflictError(
            f"every name that '{slug}' could have in this store is taken",
            hint="give one of them another name: `agentm project rename OLD NEW`",
        )


class Moves:
    """The notes that were given another name in a store, by the word that it has of that."""

    def __init__(self, store: StorageBackend) -> None:
        self._to: dict[str, list[str]] = {}
        for word in store.list(Locator(layout.MOVES)):
            with suppress(ValueError, KeyError, TypeError):  # what nobody can read says nothing
                said = json.loads(store.read(word))
                self._to.setdefault(str(said["from"]), []).append(str(said["to"]))

    def of(self, place: Locator) -> list[Locator]:
        """Every place that what was once there may have gone to."""
        found = [place.key]
        for key in found:
            found += [new for new in self._to.get(key, ()) if new not in found]
        return [Locator(key) for key in found[1:]]


def _names(slug: str, remotes: tuple[str, ...]) -> Iterator[str]:
    """The names that a project may get, as a checkout of it would: what another project has is left to it."""
    yield slug
    owner = remotes[0].rpartition("/")[0].rpartition("/")[2] if remotes and "#" not in remotes[0] else ""
    if owner:
        yield f"{owner}-{slug}"
    yield from (f"{slug}-{number}" for number in range(2, 100))


def readable(record: ProjectRecord) -> Locator:
    """The folder of the project, unless its notes are in another store."""
    if away := record.unread_in(record.folder):
        raise LocatorConflictError(
            away, hint="bring it back first, in its folder: `agentm project use-store default --move`"
        )
    return record.folder


def slug_of(key: str) -> str | None:
    """The project below whose folder the key is; `None` for any other key."""
    parts = key.split("/")
    return parts[1] if len(parts) > 2 and parts[0] in layout.PROJECT_TREES else None


def _slug_of_record(key: str) -> str | None:
    return slug_of(key) if key.count("/") == 2 and key.endswith(f"/{layout.PROJECT_RECORD}") else None


def _owner(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids and the remotes in a project's record; neither where it cannot be understood."""
    try:
        document = json.loads(text)
        ids, remotes = [document["id"], *document.get("ids", ())], document.get("remotes", ())
        return tuple(map(str, ids)), tuple(map(str, remotes))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return (), ()
