"""What an import would do: for every item of the source a note to create or change, or the reason for neither.

Planning reads the store and writes nothing. A note that is there already is recognised by the record of imports, or
by what it says of its own origin; its place depends on the item alone, so a run that was killed is simply run again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentm_import.homes import Homes, Moves, readable, slug_of
from agentm_import.items import Item, Skipped, as_item
from agentm_import.ledger import Entry, digest
from agentm_import.note_text import note_text, renewed_text
from agentm_import.targets import Target
from agentm_kernel.plugin import (
    AgentmError,
    InvalidContentError,
    Locator,
    NotFoundError,
    find_secrets,
    layout,
    read_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_import.contract import NoteFormat
    from agentm_import.ledger import Ledger
    from agentm_import.targets import Targets
    from agentm_kernel.plugin import ProjectRecord, StorageBackend

CREATE, UPDATE, UNCHANGED, SKIP = "create", "update", "unchanged", "skip"

_LONGEST_SLUG = 80
_MOST_SLUG_BYTES = 120


@dataclass(frozen=True)
class Step:
    """What becomes of one item."""

    origin: str
    action: str
    item: Item | None = None
    key: str = ""
    text: str = ""
    current: str | None = None
    """The note as it is now, for an update."""
    store: StorageBackend | None = None
    """Where the note lives; `None` for the default store."""
    planned: str = ""
    """What the source's words alone would be, where the text also keeps what was edited here."""
    reason: str = ""
    is_problem: bool = False
    count: int = 1
    secrets: tuple[str, ...] = ()


@dataclass
class Plan:
    """The steps of one import, in the order of the source."""

    steps: list[Step] = field(default_factory=list)

    def counts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for step in self.steps:
            found[step.action] += step.count
        return found

    def of(self, *actions: str) -> list[Step]:
        return [step for step in self.steps if step.action in actions]

    @property
    def problems(self) -> list[Step]:
        return [step for step in self.steps if step.is_problem]


class Planner:
    """Plans the items of one source."""

    def __init__(
        self, source: str, backend: StorageBackend, notes: NoteFormat, targets: Targets, ledger: Ledger
    ) -> None:
        self.source = source
        self._backend = backend
        self._notes = notes
        self._targets = targets
        self._ledger = ledger
        self._taken: dict[str, str] = {}
        """Keys that this run has given away, each with the origin."""
        self._said: dict[tuple[str, str, str], str] = {}
        """What was said already, by place, title and text, with the key of the note that says it."""
        self._slugs: dict[str, str] = {}
        self._records: dict[str, ProjectRecord | None] = {}
        self._moves: dict[str, Moves] = {}

    def plan(self, items: Iterable[object]) -> Plan:
        return Plan(list(self._steps([as_item(given, self.source) for given in items])))

    def _steps(self, items: list[Item | Skipped]) -> Iterator[Step]:
        origins: set[str] = set()
        self._homes = Homes(self._backend, (item for item in items if isinstance(item, Item)))
        for item in items:
            if isinstance(item, Skipped):
                yield Step(
                    item.origin,
                    SKIP,
                    reason=item.reason,
                    is_problem=item.is_problem,
                    count=item.count,
                    secrets=item.secrets,
                )
            elif item.origin in origins:
                yield _skip(item, "the source has two things of this name; the first one counts")
            else:
                origins.add(item.origin)
                yield self._step(item)

    def _step(self, item: Item) -> Step:
        try:
            refusal = _refused(item)
            if refusal is not None:
                return refusal
            target = self._target(item)
            if target.reason is not None:
                return _skip(item, target.reason)
            return replace(self._placed(item, target.folder, target.store), store=target.store)
        except (AgentmError, UnicodeError) as error:
            return _skip(item, error.message if isinstance(error, AgentmError) else "not text that can be stored")

    def _target(self, item: Item) -> Target:
        if not item.key:
            return self._targets.of(item.project)
        is_personal = item.key.startswith(f"{layout.PERSONAL}/")  # it brings its place in the store along
        return self._targets.personal() if is_personal else Target()

    # -- one item -----------------------------------------------------------------------------------------------

    def _placed(self, item: Item, folder: Locator | None, store: StorageBackend | None) -> Step:
        entry = self._known(item, folder, store)
        candidates = self._candidates(item, folder)
        if entry is not None and entry.key not in (place.key for place in candidates):
            candidates.insert(0, Locator(entry.key))
        if entry is not None and (moved := self._moved(item, entry, store or self._backend)) is not None:
            candidates, entry = [moved], entry._replace(key=moved.key)
        supersedes = tuple(self._slugs[origin] for origin in item.supersedes if origin in self._slugs)
        for place in candidates:
            if self._taken.get(place.key, item.origin) != item.origin:
                continue
            current = self._read(place, store or self._backend)
            is_ours = current is not None and self._is_ours(item, place, current, entry)
            if current is not None and not is_ours:
                continue
            text = note_text(self._notes, self.source, item, place, folder, supersedes)
            twin = self._twin(item, place, current)
            if twin is not None:
                return Step(item.origin, SKIP, item, reason=f"says the same as {twin}")
            self._taken[place.key] = item.origin
            self._slugs[item.origin] = place.name.removesuffix(".md")
            before = self._folder_before(item)
            if entry is not None and before is not None and before != folder:
                said = note_text(self._notes, self.source, item, place, before, supersedes)
                if entry.item == digest(said):  # the source says the same; only the name of the project is another
                    entry = entry._replace(item=digest(text))
            return self._compared(item, place, text, current, entry)
        return _skip(item, f"there is another note at {candidates[0]}; it is left as it is")

    def _known(self, item: Item, folder: Locator | None, store: StorageBackend | None) -> Entry | None:
        """What the record of imports knows of it, with the key that a note of that project has today."""
        entry = self._ledger.get(item.identity)
        slug = None if entry is None else slug_of(entry.key)
        if entry is None or slug is None:
            return entry
        if folder is not None and store is not None and store.describe() != self._backend.describe():
            home = folder  # the project has gone to another store, where its name may be another project's
        else:
            if slug not in self._records:
                self._records[slug] = read_record(self._backend, slug)
            record = self._records[slug]
            if record is None:
                return entry
            home = readable(record)
        return entry._replace(key=home.child(*Locator(entry.key).parts[2:]).key)

    def _folder_before(self, item: Item) -> Locator | None:
        """The folder that the project had when the item was imported last; `None` for what is of no project."""
        entry = self._ledger.get(item.identity)
        if entry is None or slug_of(entry.key) is None:
            return None
        return Locator("/".join(entry.key.split("/")[:2]))

    def _moved(self, item: Item, entry: Entry, store: StorageBackend) -> Locator | None:
        """Where the note is that was given another name since: by a merge of projects, in which one of the other
        project had its name, or by hand. Its origin has to say so.
        """
        before, place = self._folder_before(item), Locator(entry.key)
        candidates = []
        if before is not None and before.name != slug_of(entry.key):
            candidates.append(place.parent.child(f"{place.name.removesuffix('.md')}-from-{before.name}.md"))
        if self._read(place, store) is None:
            if store.describe() not in self._moves:
                self._moves[store.describe()] = Moves(store)
            candidates += self._moves[store.describe()].of(place)
        for candidate in candidates:
            text = self._read(candidate, store)
            if text is not None and self._is_ours(item, candidate, text, None):
                return candidate
        return None

    def _twin(self, item: Item, place: Locator, current: str | None) -> str | None:
        """The note that says the very same of the same thing in the same place; files keep their doubles."""
        if item.verbatim or item.key or item.status != "active":
            return None
        said = self._said.setdefault((place.parent.key, item.title, item.body.strip()), place.key)
        return said if said != place.key and current is None else None

    def _compared(self, item: Item, place: Locator, text: str, current: str | None, entry: Entry | None) -> Step:
        if current is None:
            if entry is not None and entry.key == place.key and entry.item == digest(text):
                return Step(
                    item.origin, SKIP, item, place.key, reason="was imported and has been deleted since; it stays so"
                )
            return Step(item.origin, CREATE, item, place.key, text)
        if current == text or (entry is not None and entry.item == digest(text)):
            return Step(item.origin, UNCHANGED, item, place.key, text, current)
        if item.key:
            is_record = place.key.startswith(f"{layout.META}/") or place.name == layout.PROJECT_RECORD
            step = _skip(item, f"there is another text at {place}; it is left as it is")
            return replace(step, is_problem=not is_record)
        if entry is None or not entry.note.startswith(digest(current)):
            renewed = renewed_text(self._notes, text, current, entry)
            if renewed is None:
                return _skip(item, f"changed in the source, and {place} was edited here: settle it by hand")
            return Step(item.origin, UPDATE, item, place.key, renewed, current, planned=text)
        return Step(item.origin, UPDATE, item, place.key, text, current)

    def _is_ours(self, item: Item, place: Locator, current: str, entry: Entry | None) -> bool:
        if item.key or (entry is not None and entry.key == place.key):
            return True
        fields, _, _ = self._notes.parse(current)
        return fields.get("origin") == item.origin and fields.get("source") == self.source

    def _read(self, place: Locator, store: StorageBackend) -> str | None:
        try:
            return store.read(place)
        except NotFoundError:
            return None

    def _own_key(self, key: str) -> Locator:
        """The key of a note that comes home. A store's identity and its other records are its own."""
        if key.startswith(f"{layout.META}/") and not key.startswith(f"{layout.REMOTES}/"):
            raise InvalidContentError(f"'{key}' is a record of a store, and this store has its own")
        return self._homes.key(key)

    def _candidates(self, item: Item, folder: Locator | None) -> list[Locator]:
        """Where the note may lie: under its own name, else under one that its origin makes unique."""
        if item.key:
            return [self._own_key(item.key)]
        kind = item.kind if item.kind in self._notes.kinds else "reference"
        if item.path:
            parent = self._notes.place(kind, "x", folder).parent
            name = clean_path(item.path)
            return [parent.child(*name.split("/")), parent.child(*_marked(name, item.identity[:8]).split("/"))]
        slug = cut_slug(self._notes.slug(item.slug or item.title or first_words(item.body))) or "note"
        marked = f"{cut_slug(slug, 9)}-{item.identity[:8]}"
        return [self._notes.place(kind, name, folder) for name in (slug, marked)]


def _skip(item: Item, reason: str) -> Step:
    return Step(item.origin, SKIP, item, reason=reason, is_problem=True)


def _refused(item: Item) -> Step | None:
    """An item that nothing may be written of: empty, or with what looks like a secret."""
    if not item.body.strip() and not item.key:
        return Step(item.origin, SKIP, item, reason="empty")
    found = [f"line {finding.line + item.line - 1} {finding.likeness}" for finding in find_secrets(item.body)]
    flat = [value if isinstance(value, str) else "\n".join(value) for value in item.extra.values()]
    around = "\n".join((item.origin, item.title, item.slug, *item.tags, *flat))
    found += [f"its title or a field {finding.likeness}" for finding in find_secrets(around)]
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Step(
        item.origin,
        SKIP,
        item,
        reason=f"seems to hold a secret: {found[0]}{more}",
        is_problem=True,
        secrets=tuple(found),
    )


def first_words(text: str, most: int = 8) -> str:
    """The beginning of a text, for a name."""
    line = next((line for raw in text[:2000].splitlines() if (line := raw.strip().lstrip("#-*> ").strip())), "")
    return " ".join(line.split()[:most])


def cut_slug(slug: str, room_for: int = 0) -> str:
    """A slug of the length that a note's name may have."""
    kept = slug[: _LONGEST_SLUG - room_for]
    while len(kept.encode()) > _MOST_SLUG_BYTES - room_for:
        kept = kept[:-1]
    return kept.strip("-")


def clean_path(path: str) -> str:
    """A path whose every segment a store can hold; most are as they were."""
    try:
        return Locator(path).key
    except AgentmError:
        pass
    kept = []
    for segment in path.split("/"):
        if segment in ("", ".", ".."):
            continue
        clean = "".join("-" if not letter.isprintable() or letter in '<>:"|?*\\' else letter for letter in segment)
        stem, dot, suffix = clean.rpartition(".") if clean.endswith(".md") else (clean, "", "")
        stem = stem.strip(" .") or "note"
        while len(stem.encode()) > 180:
            stem = stem[:-1]
        kept.append(f"{stem}{dot}{suffix}")
    if not kept or kept[0] == layout.META:
        raise InvalidContentError(f"no note can have the name {path!r}")
    return Locator("/".join(kept)).key


def _marked(path: str, mark: str) -> str:
    return f"{path.removesuffix('.md')}-{mark}.md"
