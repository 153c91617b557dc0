"""What agentm writes into `.harness/project.json`: the project's name, and the id of a folder without git."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.files.store import FileStore
from agentm_kernel.projects.in_store import dump_note
from agentm_kernel.projects.root import HARNESS_DIR, refuse_linked_harness
from agentm_kernel.projects.slug import PROJECT_FILE, parse_project_file, plain_slug, project_file
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update

if TYPE_CHECKING:
    from collections.abc import Callable


def declare_slug(root: str, slug: str) -> str:
    """Name the project at `root`, whatever its remote or its directory are called; everything else in the file stays.

    Returns the path of the file.
    """
    slug = plain_slug(slug)
    return change_project_file(root, lambda document: {**document, "vault_project": slug})


def change_project_file(root: str, fn: Callable[[dict[str, object]], dict[str, object]]) -> str:
    """Replace the document in the file by `fn` of it, without losing anyone's edit; returns the path."""
    refuse_linked_harness(root)
    path = project_file(root)

    def changed(text: str | None) -> str:
        return dump_note(fn(parse_project_file(None if text is None else text.encode(), path)))

    update(FileStore(os.path.join(root, HARNESS_DIR), create_root=True), Locator(PROJECT_FILE), changed)
    return path
