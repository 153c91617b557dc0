"""What the page shows, asked of the kernel's doors, of the notes service and of plugins' panels.

Every question makes a fresh device, so that a store which changes or vanishes is noticed. Only the list of all notes
is remembered, and only until a folder of the store has changed.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    AgentmError,
    ConflictCopies,
    Device,
    HookCaller,
    HookContext,
    Locator,
    NotFoundError,
    Panel,
    PluginError,
    current_directory,
    load_plugin,
    reason_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from agentm_kernel.plugin import DoctorRow, PluginFailure, StorageBackend

    T = TypeVar("T")

NOTES = "agentm.notes"
_PATIENCE = 10.0
"""Seconds for one panel. It is asked for by itself, so nobody waits for it but its own place on the page."""
_MOST_CONFLICTS = 20
_RELISTED = 30.0
"""Seconds after which the list is made anew where no folder can tell that something changed."""


@dataclass(frozen=True)
class Listing:
    """Every note, newest first, without texts."""

    notes: list[dict[str, Any]]
    problems: list[tuple[str, str]]
    unreached: int
    by_key: dict[str, dict[str, Any]] = field(default_factory=dict)
    by_slug: dict[str, list[str]] = field(default_factory=dict)
    replaced_by: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def projects(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for note in self.notes:
            if note["project"]:
                found.setdefault(note["project"], []).append(note)
        return found

    def find(self, name: str) -> str | None:
        """The key of the one note that `name` means: a key, a slug, or the end of a path."""
        plain = name.removesuffix(".md")
        fitting = [
            key
            for key in self.by_slug.get(plain.rpartition("/")[2], ())
            if f"/{key.removesuffix('.md')}".endswith(f"/{plain}")
        ]
        return fitting[0] if len(fitting) == 1 else None


class Memory:
    """The memory of this device as one page asks about it."""

    def __init__(self, *, read_only: bool, cwd: str | None = None, store: str | None = None) -> None:
        self.read_only = read_only
        self._store_name = store
        """The further store that the page shows; `None` for the default one."""
        self.cwd = cwd or current_directory()
        self._listing: Listing | None = None
        self._made: tuple[object, float] = (None, 0.0)
        self._lock = threading.Lock()

    def device(self) -> Device:
        return Device.now().of_store(self._store_name)

    def store(self, *, read_only: bool = True) -> StorageBackend:
        return self.device().store(read_only=read_only)

    def notes(self) -> Any:
        """The notes service; `PluginError` if none is installed."""
        device = self.device()
        open_notes = load_plugin(device, NOTES, "notes")
        if not callable(open_notes):
            raise PluginError("the notes service of the installed plugin cannot be opened")
        return open_notes(device)

    # -- the list of notes ------------------------------------------------------------------------------------

    def listing(self, token: object = None) -> Listing:
        """All notes. `token` says how the store's folders are: the list is made anew when it differs."""
        with self._lock:
            made, at = self._made
            is_fresh = made == token if token is not None else time.monotonic() - at < 1.0
            if self._listing is None or not is_fresh or time.monotonic() - at > _RELISTED:
                found = self.notes().notes()
                self._listing = _listing(found)
                self._made = token, time.monotonic()
            return self._listing

    def known_keys(self) -> list[str]:
        """The keys of the last list; nothing before there is one."""
        listing = self._listing
        return list(listing.by_key) if listing else []

    def forget_listing(self) -> None:
        """Something was written: the next question looks again."""
        with self._lock:
            self._made = None, 0.0

    # -- plugins ----------------------------------------------------------------------------------------------

    def hooks(self) -> HookCaller:
        device = self.device()
        try:
            store: StorageBackend | None = device.store()
        except AgentmError:
            store = None  # health says why; panels that need none are shown
        return HookCaller(HookContext(device, self.cwd, None, store))

    def panels(self) -> tuple[list[Panel], tuple[PluginFailure, ...]]:
        """What plugins add to the page. Of two that take one name, the first is shown."""
        caller = self.hooks()
        named: dict[str, Panel] = {}
        for panel in caller.page_panels():
            named.setdefault(panel.name, panel)
        if "conflicts" not in named:  # a store that knows how to settle them shows them itself
            named["conflicts"] = Panel("conflicts", "Conflicts", "decide", self._conflicts)
        return list(named.values()), caller.failures

    def _conflicts(self, _query: Mapping[str, str]) -> list[Mapping[str, object]]:
        """Versions that any store keeps beside a note, to be compared; what to take over is written into the note."""
        store = self.store()
        copies = store.facet(ConflictCopies)
        found = copies.conflict_copies(Locator()) if copies is not None else []
        return [
            {
                "type": "sides",
                "title": copy.note.key,
                "note": copy.note.key if store.exists(copy.note) else "",
                "text": f"Kept beside it: {copy.copy.key}, from {copy.origin}.",
                "left": {"title": "The note", "text": _text_of(store, copy.note)},
                "right": {"title": copy.copy.name, "text": copies.read_copy(copy.copy) if copies else ""},
            }
            for copy in found[:_MOST_CONFLICTS]
        ]

    def doctor_rows(self) -> tuple[list[DoctorRow], tuple[PluginFailure, ...]]:
        caller = self.hooks()
        return list(caller.doctor_checks()), caller.failures


def _text_of(store: StorageBackend, locator: Locator) -> str:
    try:
        return store.read(locator)
    except NotFoundError:
        return ""


def _listing(found: Mapping[str, Any]) -> Listing:
    notes = list(found["notes"])
    by_slug: dict[str, list[str]] = {}
    for note in notes:
        by_slug.setdefault(note["key"].rpartition("/")[2].removesuffix(".md"), []).append(note["key"])
    by_key = {note["key"]: note for note in notes}
    listing = Listing(notes, list(found["problems"]), int(found["unreached"]), by_key, by_slug)
    for note in notes:
        for key in {listing.find(name) for name in note["supersedes"]} - {None, note["key"]}:
            listing.replaced_by.setdefault(str(key), []).append(note)
    return listing


def asked(panel: Panel, work: Callable[[], T], seconds: float = _PATIENCE) -> T:
    """What a panel's own code answers; whatever it does wrong is an `AgentmError` that names the panel."""
    answer: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit included
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"panel {panel.name}")
    thread.start()
    thread.join(seconds)
    if failure:
        error = failure[0]
        if isinstance(error, AgentmError):
            raise error
        raise PluginError(f"the panel '{panel.title}' failed: {reason_of(error)}") from error
    if not answer:
        raise PluginError(
            f"the panel '{panel.title}' did not answer within {seconds:.0f} s", hint="reload the page to ask again"
        )
    return answer[0]
