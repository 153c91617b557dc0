"""What the page's script asks for: screens, parts of them, answers of a search, changes, and what is to be done."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import AgentmError
from agentm_view.doing import ChangedMeanwhile, Doing, status_of
from agentm_view.links import Links
from agentm_view.memory import Listing
from agentm_view.routes import SCREENS, asked_for, make_screen, split
from agentm_view.screens.note import changed_meanwhile
from agentm_view.screens.notes import found
from agentm_view.screens.panel import named_panel
from agentm_view.screens.pieces import draw_panel, failure
from agentm_view.watching import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentm_view.memory import Memory
    from agentm_view.screens import Asked

_LOOK = 0.5
"""Seconds between two looks of a stream. How often the store itself is looked at is the watcher's to say."""


class Answers:
    """Answers for one memory, to any number of tabs."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._links = Links()
        self._watcher = Watcher(memory)
        self._doing = Doing(memory, self._links)
        self._indexed: object = None

    def warm_up(self) -> None:
        """Read the list and bring the index up to date before somebody asks; nobody waits for it."""
        threading.Thread(target=self._warm, daemon=True).start()

    def _warm(self) -> None:
        try:
            self._memory.listing(self._watcher.token())
            self._refresh()
        except AgentmError:
            return  # whoever asks is told

    # -- looking ----------------------------------------------------------------------------------------------

    def get(self, what: str, query: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        if what == "screen":
            return self._screen(query.get("at", "/"))
        if what == "menu":
            return 200, self._menu()
        if what == "part":
            return 200, {"html": self._part(dict(query))}
        if what == "here":
            return 200, {}  # somebody is: that was all there is to say
        if what == "search":
            return 200, {"html": self._found(query.get("q", ""))}
        return 404, {"error": f"the page has nothing called '{what}'"}

    def _screen(self, address: str) -> tuple[int, dict[str, Any]]:
        """A screen, or an error as one: the page stays whole, and says what to do next."""
        path, query = split(address)
        self._watcher.look()
        news = self._watcher.news  # before the list is made: what changes meanwhile is told by the stream
        try:
            if path == "search":
                self._refresh()
            screen = make_screen(self._given(query, needs_notes=path != "health"), path)
        except AgentmError as error:
            return status_of(error), {"title": "Not to be had", "html": failure(error), "about": {}}
        return 200, {"title": screen.title, "html": screen.html, "about": screen.about, "news": news}

    def _menu(self) -> dict[str, Any]:
        panels, _ = self._memory.panels()
        more = [(panel.title, self._links.panel(panel.name, {})) for panel in panels if panel.place == "more"]
        return {
            "screens": [(title, self._links.screen(name)) for name, title in SCREENS.items()] + more,
            "read_only": self._memory.read_only,
        }

    def _part(self, query: dict[str, str]) -> str:
        given = self._given(query, needs_notes=False)
        panel = named_panel(given, query.pop("panel", ""))
        return draw_panel(given, panel, query)

    def _found(self, question: str) -> str:
        return found(self._given({}, needs_notes=False), question)

    def _given(self, query: dict[str, str], *, needs_notes: bool) -> Asked:
        """What screens are made with. Some do without the list, and then are there although the store is not."""
        try:
            listing = self._memory.listing(self._watcher.token())
        except AgentmError:
            if needs_notes:
                raise
            listing = Listing([], [], 0)
        return asked_for(self._memory, self._links, listing, query, may_write=not self._memory.read_only)

    def _refresh(self) -> None:
        """Bring the index up to date if the store has changed since: keys that are typed do not wait for it."""
        token = self._watcher.token()
        if token is None or token != self._indexed:
            self._memory.notes().refresh()
            self._indexed = token

    # -- doing ------------------------------------------------------------------------------------------------

    def do(self, what: str, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        given = self._given({}, needs_notes=False)
        try:
            done = self._doing.do(what, fields, given)
        except ChangedMeanwhile as conflict:
            self._memory.forget_listing()
            return 409, {
                "error": "The note was changed meanwhile.",
                "html": changed_meanwhile(given, conflict.key, conflict.text),
            }
        self._memory.forget_listing()
        self._watcher.changed()
        return 200, done

    # -- changes ----------------------------------------------------------------------------------------------

    def changes(self, note: str, news: str, ending: threading.Event, beat: float) -> Iterator[dict[str, Any]]:
        """A line at once, then one for each change since the screen with these `news`, and an empty one as a sign of
        life.
        """
        watcher = self._watcher
        seen, version = int(news) if news.isdecimal() else watcher.news, watcher.version_of(note) if note else ""
        yield {"trouble": watcher.trouble}
        said = time.monotonic()
        while not ending.wait(_LOOK):
            watcher.look()
            latest, now = watcher.news, watcher.version_of(note) if note else ""
            if latest != seen or now != version:
                is_note = now != version
                if is_note:
                    self._memory.forget_listing()  # written in place: no folder says so
                seen, version = latest, now  # before the line: what changes while it is sent is told by the next one
                yield {"changed": True, "note": is_note, "trouble": watcher.trouble}
                said = time.monotonic()
            elif time.monotonic() - said > beat:
                yield {}
                said = time.monotonic()
        yield {"ended": True}
