"""engram: observations in `~/.engram/engram.db`. It keeps the number of revisions and not their texts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_database import private_copy, quick_count
from agentm_import.sources._common import folder_of, kind_of, moment
from agentm_kernel.plugin import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.source_database import Row
    from agentm_kernel.plugin import Device

_NAME = "engram.db"
_COLUMNS = (
    *("id", "type", "title", "content", "project", "scope", "topic_key", "revision_count"),
    *("created_at", "updated_at", "deleted_at"),
)


class Engram:
    label = "engram"

    def detect(self, device: Device) -> list[Found]:
        path = _database(device, "")
        count = quick_count(path, "observations")
        return [Found(path, count, "observations")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        with private_copy(_database(device, path), device) as database:
            for row in database.rows("observations", _COLUMNS):
                yield row if isinstance(row, Skipped) else _observation(row)
            prompts = database.count("user_prompts")
            if prompts:
                yield Skipped(
                    "user_prompts", "what was asked, not what is remembered", is_problem=False, count=prompts
                )


def _database(device: Device, path: str) -> str:
    folder = folder_of(device, path, "ENGRAM_DATA_DIR", "~/.engram")
    return os.path.join(folder, _NAME) if os.path.isdir(folder) or not path else folder


def _observation(row: Row) -> Item | Skipped:
    origin = f"observations/{row['id']}"
    if row["deleted_at"]:
        return Skipped(origin, "deleted in engram", is_problem=False)
    word, topic = str(row["type"] or ""), str(row["topic_key"] or "")
    extra: dict[str, str | tuple[str, ...]] = {}
    if isinstance(row["revision_count"], int) and row["revision_count"] > 1:
        extra["revisions"] = str(row["revision_count"])
    if topic:
        extra["aliases"] = (topic,)
    is_personal = row["scope"] == layout.PERSONAL  # engram calls it the same
    return Item(
        origin,
        str(row["content"] or ""),
        title=str(row["title"] or ""),
        kind=kind_of(word),
        project=None if is_personal else str(row["project"] or ""),
        tags=(word,) if word else (),
        created=moment(row["created_at"]),
        updated=moment(row["updated_at"]),
        extra=extra,
    )


IMPORTER = Engram()
