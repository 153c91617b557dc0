"""The documenter's bundle: what somebody who writes a project's documentation has to know."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentm_kernel import select_backend
from agentm_kernel.plugin import Locator, list_repos
from agentm_recall.catalog import gather
from agentm_recall.layout import ALWAYS_LOAD, ANCHOR, PERSONAL, is_below, project_folder
from agentm_recall.note import DELETED
from agentm_recall.phases import PATIENCE
from agentm_recall.supersession import superseded_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugin import StorageBackend
    from agentm_recall.catalog import Catalog


def resolve_documenter_context(
    slug: str, *, backend: StorageBackend | None = None, environ: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The notes about how to write and what was decided, each list with `name` and `body` of its notes.

    `registered` says whether the store's registry of repositories knows the project. What could not be read is under
    `problems`, by key.
    """
    backend = backend or select_backend(environ=environ, read_only=True)
    home = project_folder(backend, slug)
    places = {
        "operator_conventions": Locator(ALWAYS_LOAD),
        "global_wiki_style": Locator(f"{PERSONAL}/wiki-style"),
        "project_decisions": home.child("decisions"),
        "wiki_style": home.child("wiki-style"),
    }
    catalog = gather(backend, (Locator(PERSONAL), home), deadline=time.monotonic() + 10 * PATIENCE, environ=environ)
    anchor = _bodies(catalog, home, only=home.child(ANCHOR))
    return {
        "slug": slug,
        "registered": any(repo.get("slug") == slug for repo in list_repos(backend)),
        **{name: _bodies(catalog, folder) for name, folder in places.items()},
        "project_anchor": anchor[0]["body"] if anchor else None,
        "problems": dict(catalog.problems),
    }


def _bodies(catalog: Catalog, folder: Locator, *, only: Locator | None = None) -> list[dict[str, str]]:
    dead = superseded_keys(catalog.notes)
    wanted = [
        note
        for note in sorted(catalog.notes, key=lambda note: note.key)
        if is_below(note.key, (folder,)) and note.status != DELETED and note.key not in dead
    ]
    return [
        {"name": note.slug, "body": found[1]}
        for note in wanted
        if (only is None or note.key == only.key) and (found := catalog.look_up(note.key)) is not None
    ]
