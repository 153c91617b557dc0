"""The registry of repositories: `_meta/repos.json` in the selected store, whichever that is.

It tells every device which projects the store serves. `root_path` is where the device that registered last has it:
good to know, nothing to rely on.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agentm_kernel.projects.checkout import path_as_text, plain_slug
from agentm_kernel.projects.claiming import change_note
from agentm_kernel.projects.lookup import VERSION, read_note, unfit
from agentm_kernel.projects.remote import canonical_remote
from agentm_kernel.seam.layout import REPOS_KEY

if TYPE_CHECKING:
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator


def registry_locator(backend: StorageBackend) -> Locator:
    """Where the registry lies in the store."""
    return backend.resolve(REPOS_KEY)


def read_registry(backend: StorageBackend) -> dict[str, Any]:
    """The whole registry; one without repositories where the store has none. Creates nothing."""
    locator = registry_locator(backend)
    return _checked(read_note(backend, locator), locator)


def list_repos(backend: StorageBackend) -> list[dict[str, Any]]:
    """The registered repositories, in the order in which they came."""
    repos: list[dict[str, Any]] = read_registry(backend)["repos"]
    return repos


def register_repo(
    backend: StorageBackend,
    slug: str,
    root: str | os.PathLike[str],
    *,
    remote: str | None = None,
    wiki_path: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Add a repository, or renew the entry that its slug has; what is not given stays. Returns the registry."""
    fields = {"slug": plain_slug(slug), "root_path": _as_posix(root)}
    if remote is not None:
        fields["remote"] = canonical_remote(remote)  # without user and password: a store is read by many
    if wiki_path is not None:
        fields["wiki_path"] = _as_posix(wiki_path)
    locator = registry_locator(backend)

    def registered(document: dict[str, Any] | None) -> dict[str, Any]:
        registry = _checked(document, locator)
        repos = [{**repo, **fields} if repo["slug"] == fields["slug"] else repo for repo in registry["repos"]]
        is_known = any(repo["slug"] == fields["slug"] for repo in repos)
        return {**registry, "repos": repos if is_known else [*repos, fields]}

    return change_note(backend, locator, registered)


def unregister_repo(backend: StorageBackend, slug: str) -> bool:
    """Take a repository out of the registry; `False`, and nothing written, if it is not in it. Notes stay."""
    slug = plain_slug(slug)
    locator = registry_locator(backend)

    def unregistered(document: dict[str, Any] | None) -> dict[str, Any]:
        registry = _checked(document, locator)
        return {**registry, "repos": [repo for repo in registry["repos"] if repo["slug"] != slug]}

    is_known = any(repo["slug"] == slug for repo in list_repos(backend))
    if is_known:
        change_note(backend, locator, unregistered)
    return is_known


def _as_posix(path: str | os.PathLike[str]) -> str:
    return path_as_text(os.fspath(path)).replace(os.sep, "/")


def _checked(document: dict[str, Any] | None, locator: Locator) -> dict[str, Any]:
    registry = {"version": VERSION, "repos": []} if document is None else document
    repos = registry.get("repos")
    if not isinstance(repos, list):
        raise unfit(locator, "has no list of `repos`")
    for number, repo in enumerate(repos, start=1):
        if not isinstance(repo, dict) or not isinstance(repo.get("slug"), str):
            raise unfit(locator, f"has an entry without a slug, number {number}")
    return registry
