"""Every verb of a store by name, and what its folder holds: for tests that compare the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel import Locator
from agentm_kernel.plugin import ABSENT, FileStore, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def verbs(store: FileStore, key: str) -> dict[str, Callable[[], object]]:
    note = Locator(key)
    return {
        "read": lambda: store.read(note),
        "write": lambda: store.write(note, "x"),
        "create": lambda: store.write(note, "x", if_match=ABSENT),
        "replace": lambda: store.write(note, "x", if_match=content_hash("secret")),
        "info": lambda: store.info(note),
        "exists": lambda: store.exists(note),
        "mkdir": lambda: store.mkdir(note),
        "delete": lambda: store.delete(note),
    }


def tree(root: Path) -> dict[str, bytes | None]:
    """Everything below `root`: the bytes of files, `None` for directories."""
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes() for path in root.rglob("*")
    }
