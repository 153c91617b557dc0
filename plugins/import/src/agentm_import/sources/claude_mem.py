"""claude-mem: observations and session summaries in `~/.claude-mem/claude-mem.db`. Its vectors are derived."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_import.items import Found, Item, Skipped
from agentm_import.source_database import private_copy, quick_count
from agentm_import.sources._common import bullets, folder_of, kind_of, listed, moment, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_import.source_database import Database, Row
    from agentm_kernel.plugin import Device

_NAME = "claude-mem.db"
_OBSERVATION = (
    *("id", "project", "type", "title", "subtitle", "text", "facts", "narrative", "concepts", "files_read"),
    *("files_modified", "created_at", "created_at_epoch", "merged_into_project", "memory_session_id"),
)
_SUMMARY = (
    *("id", "project", "request", "investigated", "learned", "completed", "next_steps", "notes", "created_at"),
    *("created_at_epoch", "merged_into_project"),
)
_PARTS = (
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
)


class ClaudeMem:
    label = "claude-mem"

    def detect(self, device: Device) -> list[Found]:
        path = _database(device, "")
        count = quick_count(path, "observations") + quick_count(path, "session_summaries")
        return [Found(path, count, "observations and summaries of sessions")] if count else []

    def read(self, path: str, device: Device) -> Iterator[Item | Skipped]:
        with private_copy(_database(device, path), device) as database:
            for row in database.rows("observations", _OBSERVATION):
                yield row if isinstance(row, Skipped) else _observation(row)
            if database.has("session_summaries"):
                for row in database.rows("session_summaries", _SUMMARY):
                    yield row if isinstance(row, Skipped) else _summary(row)
            yield from _left_out(database)


def _database(device: Device, path: str) -> str:
    folder = folder_of(device, path, "CLAUDE_MEM_DATA_DIR", "~/.claude-mem")
    return os.path.join(folder, _NAME) if os.path.isdir(folder) or not path else folder


def _observation(row: Row) -> Item:
    files = dict.fromkeys([*listed(row["files_read"]), *listed(row["files_modified"])])
    narrative = str(row["narrative"] or row["text"] or "")
    subtitle = str(row["subtitle"] or "")
    body = (
        (f"{subtitle}\n\n" if subtitle else "")
        + (f"{narrative.strip()}\n\n" if narrative.strip() else "")
        + bullets("Facts", listed(row["facts"]))
        + bullets("Files", list(files))
    )
    word = str(row["type"] or "")
    return Item(
        f"observations/{row['id']}",
        body or str(row["title"] or ""),
        title=str(row["title"] or ""),
        kind=kind_of(word),
        project=_project(row),
        tags=tuple(dict.fromkeys(filter(None, (word, *listed(row["concepts"]))))),
        created=moment(row["created_at_epoch"]) or moment(row["created_at"]),
    )


def _summary(row: Row) -> Item:
    body = "".join(section(title, row[name]) for name, title in _PARTS)
    request = str(row["request"] or "")
    return Item(
        f"session_summaries/{row['id']}",
        body or request,
        title=request or f"Session summary {row['id']}",
        kind="reference",
        project=_project(row),
        tags=("session-summary",),
        created=moment(row["created_at_epoch"]) or moment(row["created_at"]),
    )


def _project(row: Row) -> str:
    return str(row["merged_into_project"] or row["project"] or "")


def _left_out(database: Database) -> Iterator[Skipped]:
    prompts = database.count("user_prompts")
    if prompts:
        yield Skipped("user_prompts", "what was asked, not what is remembered", is_problem=False, count=prompts)


IMPORTER = ClaudeMem()
