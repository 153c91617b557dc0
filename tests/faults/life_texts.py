"""What stands in the files of stores: which of them are notes, and the tokens in them that say who wrote what."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = re.compile(r"tok\d+x")

Raw = dict[str, dict[str, str]]
"""By place and key: the text."""


def is_note(key: str) -> bool:
    """Whether a key of a store is a note's: no plan, no kept version, no copy that a sync tool left."""
    folders = key.split("/")
    return folders[0] in ("projects", "personal") and "_harness" not in folders and ".sync-conflict-" not in key


def is_current(text: str) -> bool:
    """Whether recall may show the note that says this."""
    head = text.split("\n---\n", 1)[0] if text.startswith("---\n") else ""
    return not re.search(r"^status: (deleted|superseded)$", head, re.MULTILINE)


def tokens(text: str) -> set[str]:
    return set(TOKEN.findall(text))


def all_tokens(raw: Raw, *places: str) -> set[str]:
    return {token for place in places or raw for text in raw.get(place, {}).values() for token in tokens(text)}


def is_text(key: str) -> bool:
    """Whether a file is a note, a plan or a kept version, and not of some program's own."""
    is_log = key.startswith("_meta/") and not key.startswith("_meta/conflicts/")
    return key.endswith(".md") and not key.rpartition("/")[2].startswith(".") and not is_log


def texts(folder: str) -> Iterator[tuple[str, str]]:
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in names:
            key = os.path.relpath(os.path.join(path, name), folder)
            if is_text(key):
                with open(os.path.join(folder, key), encoding="utf-8") as file:
                    yield key, file.read()
