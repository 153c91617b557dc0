"""The documenter's bundle: what somebody who writes a project's documentation has to know, within a budget."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentm_kernel import select_backend
from agentm_kernel.plugin import Locator, NotFoundError, list_repos
from agentm_recall.fence import tokens
from agentm_recall.gathering import gather
from agentm_recall.layout import ALWAYS_LOAD, ANCHOR, PERSONAL, PROJECTS, is_below, project_folder
from agentm_recall.note import DELETED
from agentm_recall.phases import PATIENCE, budget_of
from agentm_recall.supersession import superseded_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.catalog import Catalog
    from agentm_recall.note import Note

_GLOBAL = f"{PROJECTS}/_global"
"""Where older stores keep what holds for every project."""
_WIKI_STYLE = "wiki-style"
_FOR_NAME = 20
"""Tokens that an item costs beside its text."""


def resolve_documenter_context(
    slug: str,
    *,
    budget: int | None = None,
    may_be_new: bool = False,
    backend: StorageBackend | None = None,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The notes about how to write and what was decided, each list with `name` and `body` of its notes.

    `project_folder` is where the project's notes lie; `registered` says whether the store's registry of repositories
    knows it. Within `budget` tokens the project's own page and styles come first, then decisions, the newest first,
    then the operator's conventions; `left_out` names what found no room. What could not be read is under `problems`,
    by key. A project that the store has never heard of is an error, unless it `may_be_new`.
    """
    backend = backend or select_backend(environ=environ, read_only=True)
    home = project_folder(backend, slug)
    is_registered = any(repo.get("slug") == slug for repo in list_repos(backend))
    if not (may_be_new or is_registered or backend.exists(home)):
        raise NotFoundError(f"there is no project '{slug}' in the store", hint="`agentm project list` shows them")
    places = {
        "wiki_style": (home.child(_WIKI_STYLE),),
        "global_wiki_style": (Locator(PERSONAL).child(_WIKI_STYLE), Locator(_GLOBAL).child(_WIKI_STYLE)),
        "project_decisions": (home.child("decisions"),),
        "operator_conventions": (Locator(ALWAYS_LOAD),),
    }
    folders = (Locator(PERSONAL), Locator(_GLOBAL), home)
    catalog = gather(backend, folders, deadline=time.monotonic() + 10 * PATIENCE, environ=environ)
    bundle = _Bundle(catalog, budget_of("documenter", budget, environ))
    anchor = bundle.items([note for note in bundle.notes if note.key == home.child(ANCHOR).key])
    lists = {name: bundle.items(bundle.below(inside)) for name, inside in places.items()}
    return {
        "slug": slug,
        "registered": is_registered,
        "project_folder": home.key,
        "project_anchor": anchor[0]["body"] if anchor else None,
        **lists,
        "left_out": bundle.left_out,
        "problems": dict(catalog.problems),
    }


class _Bundle:
    """The notes that count, and the room that is left for them."""

    def __init__(self, catalog: Catalog, room: int) -> None:
        dead = superseded_keys(catalog.notes)
        self.notes = [note for note in catalog.notes if note.status != DELETED and note.key not in dead]
        self.notes.sort(key=lambda note: note.key)
        self.left_out: list[str] = []
        self._catalog = catalog
        self._room = room

    def below(self, folders: tuple[Locator, ...]) -> list[Note]:
        return [note for note in self.notes if is_below(note.key, folders)]

    def items(self, notes: list[Note]) -> list[dict[str, str]]:
        """`name` and `body` of each note that finds room, the newest served first, in the order of their names."""
        fitting: dict[str, str] = {}
        for note in sorted(notes, key=lambda note: note.changed, reverse=True):
            found = self._catalog.look_up(note.key)
            if found is None:
                continue
            cost = tokens(found[1]) + _FOR_NAME
            if cost > self._room:
                self.left_out.append(note.key)
                continue
            self._room -= cost
            fitting[note.key] = found[1]
        return [{"name": note.slug, "body": fitting[note.key]} for note in notes if note.key in fitting]
