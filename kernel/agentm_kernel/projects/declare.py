"""Giving a project a name of its own: `vault_project` in its `.harness/project.json`."""

from __future__ import annotations

import os

from agentm_kernel.files.store import FileStore
from agentm_kernel.projects.in_store import dump_note
from agentm_kernel.projects.root import HARNESS_DIR
from agentm_kernel.projects.slug import PROJECT_FILE, parse_project_file, plain_slug, project_file
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update


def declare_slug(root: str, slug: str) -> str:
    """Name the project at `root`, whatever its remote or its directory are called; everything else in the file stays.

    Returns the path of the file.
    """
    slug = plain_slug(slug)
    path = project_file(root)

    def declared(text: str | None) -> str:
        document = parse_project_file(None if text is None else text.encode(), path)
        return dump_note({**document, "vault_project": slug})

    update(FileStore(os.path.join(root, HARNESS_DIR), create_root=True), Locator(PROJECT_FILE), declared)
    return path
