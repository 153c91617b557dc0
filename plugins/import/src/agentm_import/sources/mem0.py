"""mem0: the history of its memories in `~/.mem0/history.db`, replayed.

Its default vector store keeps its payloads as pickles, which could run anything: they are never opened. The history
has every text, and also what a memory said before it was changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_database import private_copy, quick_count
from agentm_import.sources._common import folder_of, moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.source_database import Row
    from agentm_kernel.plugin import Device

_NAME = "history.db"
_COLUMNS = (
    *("id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at"),
    *("is_deleted", "actor_id", "role"),
)


class Mem0:
    label = "mem0"

    def detect(self, device: Device) -> list[Found]:
        path = _database(device, "")
        count = quick_count(path, "history")
        return [Found(path, count, "events of memories")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        database_path = _database(device, path)
        yield from _pickles(os.path.dirname(database_path))
        with private_copy(database_path, device) as database:
            chains: dict[str, list[Row]] = {}
            for row in database.rows("history", _COLUMNS):
                if isinstance(row, Skipped):
                    yield row
                else:
                    chains.setdefault(str(row["memory_id"]), []).append(row)
            for memory, events in chains.items():
                yield from _replayed(memory, events)
            messages = database.count("messages")
            if messages:
                yield Skipped("messages", "what was said, not what is remembered", is_problem=False, count=messages)


def _database(device: Device, path: str) -> str:
    folder = folder_of(device, path, "MEM0_DIR", "~/.mem0")
    return os.path.join(folder, _NAME) if os.path.isdir(folder) or not path else folder


def _pickles(folder: str) -> Iterator[Skipped]:
    """Vector stores beside the history: named, never opened."""
    for name in ("qdrant", "migrations_qdrant"):
        base = os.path.join(folder, name, "collection")
        if os.path.isdir(base):
            yield Skipped(f"{name}/collection", "vectors with pickled payloads: never opened", is_problem=False)


def _replayed(memory: str, events: list[Row]) -> Iterator[Item | Skipped]:
    """Every text that the memory has had, the last one current; a deleted memory stays deleted."""
    versions = [row for row in events if row["event"] in ("ADD", "UPDATE") and row["new_memory"]]
    if events[-1]["event"] == "DELETE" or events[-1]["is_deleted"] == 1:
        yield Skipped(f"history/{memory}", "deleted in mem0", is_problem=False)
        return
    if not versions:
        yield Skipped(f"history/{memory}", "its history has no text")
        return
    earlier: list[str] = []
    for number, row in enumerate(versions):
        is_last = number == len(versions) - 1
        origin = f"history/{memory}" if is_last else f"history/{memory}/{number + 1}"
        who = str(row["actor_id"] or "")
        yield Item(
            origin,
            str(row["new_memory"]),
            kind="fact",
            project="",
            tags=(who,) if who else (),
            created=moment(versions[0]["created_at"]),
            updated=moment(row["updated_at"]) or moment(row["created_at"]),
            status="active" if is_last else "superseded",
            supersedes=tuple(earlier) if is_last else (),
        )
        earlier.append(origin)


IMPORTER = Mem0()
