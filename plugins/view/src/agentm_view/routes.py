"""From an address to a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from agentm_kernel.plugin import NotFoundError
from agentm_view.markdown import Renderer
from agentm_view.screens import Asked, Screen

if TYPE_CHECKING:
    from agentm_view.links import Links
    from agentm_view.memory import Listing, Memory

SCREENS = {"": "Today", "notes": "Notes", "projects": "Projects", "graph": "Graph", "health": "Health"}
"""The screens that every page has, in the order of its menu."""


def asked_for(memory: Memory, links: Links, listing: Listing, query: dict[str, str], *, may_write: bool) -> Asked:
    def find(name: str) -> str | None:
        key = listing.find(name)
        return links.note(key) if key else None

    return Asked(memory, links, listing, Renderer(find), may_write, query)


def split(address: str) -> tuple[str, dict[str, str]]:
    """The path without its first slash, and what was asked for there."""
    parts = urlsplit(address)
    return unquote(parts.path).lstrip("/"), dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=20))


def make_screen(given: Asked, path: str) -> Screen:
    """The screen at `path`; `NotFoundError` where there is none."""
    from agentm_view.screens import graph, health, note, notes, panel, projects, today

    plain = {
        "": today.today,
        "notes": notes.notes,
        "search": notes.search,
        "projects": projects.projects,
        "graph": graph.graph,
        "health": health.health,
    }
    if path in plain:
        return plain[path](given)
    if path == "new" and given.may_write:
        return note.new(given)
    if path == "edit" and given.may_write:
        return note.edit(given, given.query.get("note", ""))
    top, _, rest = path.partition("/")
    if top == "note" and rest:
        return note.note(given, rest)
    if top == "project" and rest:
        return projects.project(given, rest)
    if top == "panel" and rest:
        return panel.panel(given, rest)
    raise NotFoundError(f"there is no screen at /{path}", hint="begin at the first screen: /")
