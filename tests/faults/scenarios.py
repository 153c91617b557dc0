"""Every verb in every situation that takes another way through the code, with the answer that is right."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentm_kernel.errors import ConcurrentModificationError, LocatorConflictError, NotFoundError
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import update

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam.backend import StorageBackend

OLD = "what was stored before\n" * 40
NEW = "what the verb writes\n" * 60
STORED = {"note.md": OLD, "folder/note.md": OLD}


@dataclass(frozen=True)
class Scenario:
    """One verb, called on a store that holds `stored`."""

    name: str
    act: Callable[[StorageBackend], Any]
    answer: Any = None
    """What it returns when nothing fails, or the class that it raises."""
    changes: dict[str, str | None] = field(default_factory=dict)
    """What it stores under which keys; `None`: it removes it."""
    folder: str = ""
    """A folder that it makes."""
    stored: dict[str, str] = field(default_factory=lambda: STORED)

    def prepare(self, root: str) -> None:
        """Lay the stored notes down, without the code under test."""
        for key, content in self.stored.items():
            path = os.path.join(root, *key.split("/"))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(content)


def _keys(store: StorageBackend, key: str) -> list[str]:
    return [locator.key for locator in store.list(Locator(key))]


def _walk(store: StorageBackend) -> list[str]:
    return [info.locator.key for info in store.walk(Locator())]


_NOTE, _INNER = Locator("note.md"), Locator("folder/note.md")

READS = (
    Scenario("read", lambda store: store.read(_INNER), OLD),
    Scenario("read of nothing", lambda store: store.read(Locator("folder/none.md")), NotFoundError),
    Scenario("exists", lambda store: store.exists(_INNER), True),
    Scenario("exists of nothing", lambda store: store.exists(Locator("folder/none.md")), False),
    Scenario("info", lambda store: store.info(_INNER).size, len(OLD)),
    Scenario("list", lambda store: _keys(store, ""), ["folder", "note.md"]),
    Scenario("list of a folder", lambda store: _keys(store, "folder"), ["folder/note.md"]),
    Scenario("walk", _walk, ["folder", "folder/note.md", "note.md"]),
)

WRITES = (
    Scenario("overwrite", lambda store: store.write(_INNER, NEW).key, _INNER.key, {_INNER.key: NEW}),
    Scenario(
        "write of a new note",
        lambda store: store.write(Locator("folder/new.md"), NEW).key,
        "folder/new.md",
        {"folder/new.md": NEW},
    ),
    Scenario(
        "write into new folders",
        lambda store: store.write(Locator("new/deep/note.md"), NEW).key,
        "new/deep/note.md",
        {"new/deep/note.md": NEW},
    ),
    Scenario("first write", lambda store: store.write(_INNER, NEW).key, _INNER.key, {_INNER.key: NEW}, stored={}),
    Scenario(
        "create",
        lambda store: store.write(Locator("folder/new.md"), NEW, if_match=ABSENT).key,
        "folder/new.md",
        {"folder/new.md": NEW},
    ),
    Scenario(
        "create of what is there",
        lambda store: store.write(_NOTE, NEW, if_match=ABSENT),
        ConcurrentModificationError,
    ),
    Scenario(
        "conditional write",
        lambda store: store.write(_NOTE, NEW, if_match=content_hash(OLD)).key,
        _NOTE.key,
        {_NOTE.key: NEW},
    ),
    Scenario(
        "conditional write of what changed",
        lambda store: store.write(_NOTE, NEW, if_match=content_hash(NEW)),
        ConcurrentModificationError,
    ),
    Scenario("update", lambda store: update(store, _NOTE, lambda text: NEW).key, _NOTE.key, {_NOTE.key: NEW}),
    Scenario(
        "update of nothing",
        lambda store: update(store, Locator("new.md"), lambda text: NEW).key,
        "new.md",
        {"new.md": NEW},
    ),
    Scenario("delete", lambda store: store.delete(_INNER), None, {_INNER.key: None}),
    Scenario(
        "conditional delete",
        lambda store: store.delete(_NOTE, if_match=content_hash(OLD)),
        None,
        {_NOTE.key: None},
    ),
    Scenario("mkdir", lambda store: store.mkdir(Locator("new/deep")).key, "new/deep", folder="new/deep"),
    Scenario("mkdir onto a note", lambda store: store.mkdir(_NOTE), LocatorConflictError),
)
