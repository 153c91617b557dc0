"""The page as files: the same screens, a search that works without a server, and nothing to write with."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from agentm_kernel.plugin import STAMP_KEY, SWAP_PROVIDER, AgentmError, InvalidContentError, StorageIOError
from agentm_view.html import Html, exact, join, tag
from agentm_view.links import ExportLinks, note_file, panel_file, project_file, screen_file
from agentm_view.routes import SCREENS, asked_for, make_screen
from agentm_view.screens.pieces import failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentm_view.memory import Listing, Memory
    from agentm_view.screens import Asked

_MARK = "agentm-page.json"
"""Says that a folder is an export, and which files it wrote: those the next one may replace."""
_STATIC = ("page.css", "graph.js", "export.js", "mark.svg")
_SEARCHED = 2000
"""Characters of a note that the search of an export looks through."""
# In a file there is no 'self': its scripts and styles are files too.
_POLICY = "default-src 'none'; script-src file: 'self'; style-src file: 'self'; img-src file: 'self'; base-uri 'none'"


def export(memory: Memory, folder: str) -> str:
    """Write the page into `folder`, which is new, empty, or an earlier export; a line about what was written."""
    place = os.path.abspath(folder)
    _check(place)
    memory.store().check_allowed(SWAP_PROVIDER)  # a policy may forbid that notes leave their store
    listing = memory.listing()
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{os.path.basename(place)}.", dir=os.path.dirname(place))
        try:
            _Export(memory, listing, made).write()
            _put(made, place)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        if isinstance(error, AgentmError):
            raise
        raise StorageIOError(f"the page cannot be written to {place}: {error.strerror or error}") from error
    count = len(listing.notes)
    return f"wrote {count:,} note{'s' * (count != 1)} to {os.path.join(place, 'index.html')}"


def _check(place: str) -> None:
    _refuse_store(place)
    if not os.path.lexists(place):
        return
    if not os.path.isdir(place) or os.path.islink(place):
        raise InvalidContentError(f"{place} is not a folder", hint="name a folder that is new, or an earlier export")
    if os.listdir(place) and not os.path.isfile(os.path.join(place, _MARK)):
        raise InvalidContentError(
            f"{place} holds something else than a page", hint="name a folder that is new, or an earlier export"
        )
    if (other := next(_others(place), None)) is not None:
        raise InvalidContentError(
            f"{place} holds '{other}', which no export wrote",
            hint="move it away, or name a folder that is new; nothing was written",
        )


def _others(place: str) -> Iterator[str]:
    """What lies in an export and is not of it: it would be gone with the old one."""
    try:
        with open(os.path.join(place, _MARK), "rb") as file:
            ours = {_MARK, *json.load(file)["files"]}
    except (OSError, ValueError, LookupError, TypeError):
        ours = {_MARK}
    for folder, folders, names in os.walk(place):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            path = os.path.relpath(os.path.join(folder, name), place).replace(os.sep, "/")
            if path not in ours:
                yield path


def _refuse_store(place: str) -> None:
    """A page in a store goes wherever the store goes, with every note in the clear."""
    above = os.path.realpath(place)
    while not os.path.lexists(os.path.join(above, *STAMP_KEY.split("/"))):
        if os.path.dirname(above) == above:
            return
        above = os.path.dirname(above)
    raise InvalidContentError(
        f"{above} is a store; nothing was written", hint="name a folder outside it: `agentm view --export ~/page`"
    )


def _put(made: str, place: str) -> None:
    """The new one in the place of the old one, which is whole until then."""
    old = f"{made}.old"
    if os.path.lexists(place):
        os.rename(place, old)
    os.rename(made, place)
    shutil.rmtree(old, ignore_errors=True)


class _Export:
    """One export, written below `root`."""

    def __init__(self, memory: Memory, listing: Listing, root: str) -> None:
        self._memory = memory
        self._listing = listing
        self._root = root
        self._given: dict[int, Asked] = {}
        self._files: list[str] = []
        panels, _ = memory.panels()
        self._panels = [panel for panel in panels if panel.place == "more"]

    def write(self) -> None:
        for name in _STATIC:
            self._put(f"static/{name}", files("agentm_view").joinpath("static", name).read_bytes())
        self._screens((name, screen_file(name)) for name in SCREENS)
        self._screens((f"panel/{panel.name}", panel_file(panel.name)) for panel in self._panels)
        self._screens((f"project/{slug}", project_file(slug)) for slug in self._listing.projects())
        keys = [note["key"] for note in self._listing.notes]
        self._screens(_bar([(f"note/{key}", note_file(key)) for key in keys]))
        self._put("static/search-index.js", self._index().encode())
        mark = {"made_by": "agentm view --export", "notes": len(keys), "files": self._files}
        self._put(_MARK, json.dumps(mark).encode())

    def _screens(self, wanted: Iterable[tuple[str, str]]) -> None:
        for path, file in wanted:
            given = self._asked(file.count("/"))
            try:
                screen = make_screen(given, path)
                title, html = screen.title, screen.html
            except AgentmError as error:  # a note that cannot be read is said to be one, and the others are written
                title, html = "Not to be had", failure(error)
            self._put(file, self._page(given, path, title, html).encode("utf-8", "replace"))

    def _asked(self, depth: int) -> Asked:
        """What screens are made with, by how deep their file lies: links are relative."""
        if depth not in self._given:
            self._given[depth] = asked_for(self._memory, ExportLinks(depth), self._listing, {}, may_write=False)
        return self._given[depth]

    def _page(self, given: Asked, path: str, title: str, html: Html) -> str:
        links = given.links
        assert isinstance(links, ExportLinks)
        menu = [(name, words, links.screen(name)) for name, words in SCREENS.items()]
        menu += [(f"panel/{panel.name}", panel.title, links.panel(panel.name, {})) for panel in self._panels]
        shown = [tag("a", words, href=to, aria_current="page" if name == path else None) for name, words, to in menu]
        head = join(
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", f"{title} · agentm"),
            tag("link", rel="icon", href=links.static("mark.svg"), type="image/svg+xml"),
            tag("link", rel="stylesheet", href=links.static("page.css")),
            *(
                tag("script", src=links.static(name), defer=True)
                for name in ("graph.js", "search-index.js", "export.js")
            ),
        )
        search = tag(
            "label",
            tag("span", "Search the notes", class_="unseen"),
            tag("input", type="search", id="q", placeholder="Search", autocomplete="off", spellcheck="false"),
        )
        brand = tag(
            "a",
            tag("img", src=links.static("mark.svg"), alt="", width=22, height=22),
            "agentm",
            href=links.screen(""),
            class_="brand",
        )
        side = tag(
            "header",
            brand,
            tag("div", search, class_="search", role="search"),
            tag("nav", *shown, id="menu", aria_label="Screens"),
            tag("p", "Written by agentm view --export.", class_="quiet foot"),
            class_="side",
        )
        body = join(
            tag("a", "Skip to the content", class_="skip", href="#main"),
            tag("div", side, tag("main", html, id="main", tabindex="-1"), class_="frame"),
        )
        up = exact(links.static("").removesuffix("static/"))
        return f'<!doctype html>\n<html lang="en" data-up="{up}"><head>{head}</head><body>{body}</body></html>\n'

    def _index(self) -> str:
        """What the search looks through, as a script: a page in a file may not fetch."""
        links = ExportLinks(0)
        service = self._memory.notes()
        rows = []
        for note in self._listing.notes:
            if not note["current"]:
                continue
            try:
                body = service.read(note["key"])["body"][:_SEARCHED]
            except AgentmError:
                continue
            rows.append(
                [
                    links.note(note["key"]),
                    note["title"],
                    note["kind"],
                    note["project"] or "personal",
                    note["changed"][:10],
                    " ".join(body.split()),
                ]
            )
        return f"self.agentmNotes = {json.dumps(rows, ensure_ascii=True)};\n"

    def _put(self, name: str, data: bytes) -> None:
        path = os.path.join(self._root, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(data)
        self._files.append(name)


def _bar(items: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The items with a progress bar, where somebody is looking."""
    with click.progressbar(items, label="writing", file=sys.stderr, hidden=not sys.stderr.isatty()) as shown:
        yield from shown
