"""The list of what an export wrote, in its folder: what is not on it, or was edited since, is never overwritten."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from agentm_import.source_files import Unreadable, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = ".agentm-export.json"


def read_manifest(folder: str, form: str | None = None) -> dict[str, list[str]]:
    """Each file that an export wrote, with the hashes that it may have; nothing where no export was made."""
    try:
        document = json.loads(read_text(os.path.join(folder, NAME)))
        files = document["files"]
        if form is not None and document["format"] != form:
            return {}
        return {
            str(path): [str(digest) for digest in digests]
            for path, digests in files.items()
            if _is_inside(str(path))  # it may be anybody's list, and says what is removed
        }
    except (Unreadable, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def manifest_text(form: str, files: Mapping[str, list[str]]) -> str:
    lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(digests)}" for path, digests in sorted(files.items()))
    return f'{{"schema": 1, "format": {json.dumps(form)}, "files": {{\n{lines}\n}}}}\n'


def _is_inside(path: str) -> bool:
    return ".." not in path.replace(os.sep, "/").split("/") and not os.path.isabs(path)
