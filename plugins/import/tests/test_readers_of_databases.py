"""What each source that keeps a database says of its memories: every field of the item that comes of each row."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest
from import_home import Home, detected, read_source, write_source
from samples import CLAUDE_MEM_SCHEMA, MEM0_SCHEMA, engram

from agentm_import.items import Item, Skipped
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from pathlib import Path

AT = "2026-08-01T10:00:00+00:00"
SECONDS = 1_785_578_400


def database(path: Path, schema: str, **tables: list[dict[str, object]]) -> Path:
    """A database with these rows in its tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    for table, rows in tables.items():
        for row in rows:
            names, marks = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    connection.commit()
    connection.close()
    return path


def test_an_observation_of_claude_mem_says_everything_that_its_row_does(home: Home) -> None:
    needed = {
        "memory_session_id": "s",
        "project": "widgets",
        "type": "",
        "created_at": "2026-07-01",
        "created_at_epoch": 0,
    }
    full = {
        **needed,
        "type": "bugfix",
        "title": "The lamp",
        "subtitle": "Why it is on",
        "narrative": " It is on. ",
        "text": "not this",
        "facts": json.dumps(["one\nfact", "", 2]),
        "concepts": json.dumps(["how", "bugfix"]),
        "files_read": json.dumps(["a.py", "b.py"]),
        "files_modified": json.dumps(["b.py"]),
        "created_at_epoch": SECONDS * 1000,
        "merged_into_project": "gadgets",
    }
    parts = {"investigated": "i", "learned": " l ", "completed": "c", "next_steps": "n", "notes": "m"}
    path = database(
        home.path / ".claude-mem/claude-mem.db",
        CLAUDE_MEM_SCHEMA,
        observations=[full, {**needed, "title": "Bare"}, {**needed, "text": "Old text", "facts": "no list"}],
        session_summaries=[
            {**{name: value for name, value in needed.items() if name != "type"}, "request": "Fix it", **parts},
            {**{name: value for name, value in needed.items() if name != "type"}},
        ],
        user_prompts=[{"prompt_text": "do"}, {"prompt_text": "this"}],
    )
    summary = {
        "kind": "reference",
        "project": "widgets",
        "tags": ("session-summary",),
        "created": "1970-01-01T00:00:00+00:00",
    }
    assert list(read_source(home, "claude-mem").values()) == [
        Item(
            "observations/1",
            "Why it is on\n\nIt is on.\n\n## Facts\n\n- one fact\n- 2\n\n## Files\n\n- a.py\n- b.py\n\n",
            title="The lamp",
            kind="known-issue",
            project="gadgets",
            tags=("bugfix", "how"),
            created=AT,
        ),
        Item("observations/2", "Bare", title="Bare", project="widgets", created="1970-01-01T00:00:00+00:00"),
        Item("observations/3", "Old text\n\n", project="widgets", created="1970-01-01T00:00:00+00:00"),
        Item(
            "session_summaries/1",
            "## Investigated\n\ni\n\n## Learned\n\nl\n\n## Completed\n\nc\n\n## Next steps\n\nn\n\n## Notes\n\nm\n\n",
            title="Fix it",
            **summary,
        ),
        Item("session_summaries/2", "", title="Session summary 2", **summary),
        Skipped("user_prompts", "what was asked, not what is remembered", is_problem=False, count=2),
    ]
    assert detected(home, "claude-mem") == [(str(path), 5, "observations and summaries of sessions")]
    moved = home.path / "elsewhere"
    path.parent.rename(moved)
    for found in (
        read_source(home, "claude-mem", moved),
        read_source(home, "claude-mem", moved / "claude-mem.db"),
        read_source(home, "claude-mem", CLAUDE_MEM_DATA_DIR=str(moved)),
    ):
        assert len(found) == 6


def test_a_time_of_claude_mem_that_is_no_number_is_its_text(home: Home) -> None:
    database(
        home.path / ".claude-mem/claude-mem.db",
        CLAUDE_MEM_SCHEMA.replace("created_at_epoch INTEGER NOT NULL", "created_at_epoch INTEGER"),
        observations=[
            {"memory_session_id": "s", "project": "w", "type": "", "title": text, "created_at": text}
            for text in ("2026-07-01T10:00:00Z", "yesterday", "2026")
        ],
    )
    assert [item.created for item in read_source(home, "claude-mem").values() if isinstance(item, Item)] == [
        "2026-07-01T10:00:00Z",
        "",
        "1970-01-01T00:33:46+00:00",
    ]


def test_an_observation_of_engram_keeps_its_topic_and_the_number_of_its_revisions(home: Home) -> None:
    folder = engram(home.path, 0)
    row = {"type": "decision", "title": "Tea", "content": "We drink tea.", "project": "widgets", "scope": "project"}
    times = {"created_at": "2026-07-01 10:00:00", "updated_at": "2026-07-02 10:00:00"}
    connection = "CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, text TEXT)"
    path = database(
        folder / "engram.db",
        connection,
        observations=[
            {**row, **times, "topic_key": "drinks/tea", "revision_count": 2},
            {**row, "scope": "personal", "revision_count": 1},
            {"deleted_at": "2026-07-03"},
            {"content": "Bare."},
        ],
        user_prompts=[{"text": "do"}],
    )
    assert list(read_source(home, "engram").values()) == [
        Item(
            "observations/1",
            "We drink tea.",
            title="Tea",
            kind="decision",
            project="widgets",
            tags=("decision",),
            created="2026-07-01 10:00:00",
            updated="2026-07-02 10:00:00",
            extra={"revisions": "2", "aliases": ("drinks/tea",)},
        ),
        Item("observations/2", "We drink tea.", title="Tea", kind="decision", tags=("decision",)),
        Skipped("observations/3", "deleted in engram", is_problem=False),
        Item("observations/4", "Bare.", project=""),
        Skipped("user_prompts", "what was asked, not what is remembered", is_problem=False),
    ]
    assert detected(home, "engram") == [(str(path), 4, "observations")]
    for given in (path, folder):
        assert len(read_source(home, "engram", given)) == 5
    folder.rename(home.path / "elsewhere")
    assert len(read_source(home, "engram", ENGRAM_DATA_DIR=str(home.path / "elsewhere"))) == 5


def test_every_text_that_a_memory_of_mem0_has_had_is_one_and_the_last_replaces_the_others(home: Home) -> None:
    def event(number: int, memory: str, name: str, new: str | None, **fields: object) -> dict[str, object]:
        row = {"id": f"h{number}", "memory_id": memory, "event": name, "new_memory": new}
        return {**row, "created_at": f"2026-07-0{number}T00:00:00Z", **fields}

    path = database(
        home.path / ".mem0/history.db",
        f"{MEM0_SCHEMA}; CREATE TABLE messages (id TEXT)",
        history=[
            event(1, "a", "ADD", "Tea", actor_id="ana"),
            event(2, "b", "ADD", "Gone"),
            event(3, "a", "UPDATE", "Coffee"),
            event(4, "a", "UPDATE", "Water", updated_at="2026-07-09T00:00:00Z"),
            event(5, "b", "DELETE", None),
            event(6, "c", "ADD", "Flagged", is_deleted=1),
            event(7, "d", "NONE", "Never said"),
        ],
        messages=[{"id": "x"}, {"id": "y"}],
    )
    (path.parent / "qdrant" / "collection").mkdir(parents=True)
    created = "2026-07-01T00:00:00Z"
    assert list(read_source(home, "mem0").values()) == [
        Skipped("qdrant/collection", "vectors with pickled payloads: never opened", is_problem=False),
        Item("history/a/1", "Tea", project="", tags=("ana",), created=created, updated=created, status="superseded"),
        Item(
            "history/a/2",
            "Coffee",
            project="",
            created=created,
            updated="2026-07-03T00:00:00Z",
            status="superseded",
        ),
        Item(
            "history/a",
            "Water",
            project="",
            created=created,
            updated="2026-07-09T00:00:00Z",
            supersedes=("history/a/1", "history/a/2"),
        ),
        Skipped("history/b", "deleted in mem0", is_problem=False),
        Skipped("history/c", "deleted in mem0", is_problem=False),
        Skipped("history/d", "its history has no text"),
        Skipped("messages", "what was said, not what is remembered", is_problem=False, count=2),
    ]
    assert detected(home, "mem0") == [(str(path), 7, "events of memories")]
    for given in (path, path.parent):
        assert len(read_source(home, "mem0", given)) == 8
    path.parent.rename(home.path / "elsewhere")
    assert len(read_source(home, "mem0", MEM0_DIR=str(home.path / "elsewhere"))) == 8


CHROMA = (
    "CREATE TABLE collections (id TEXT, name TEXT); CREATE TABLE segments (id TEXT, collection TEXT);"
    "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT);"
    "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT)"
)


def test_a_drawer_of_mempalace_keeps_its_wing_its_room_and_its_file(home: Home) -> None:
    fields = {
        "chroma:document": "The lamp is on.",
        "wing": "widgets",
        "room": "hall-way",
        "hall": "facts",
        "source_file": "/a.md",
        "filed_at": AT,
    }
    palace = home.path / ".mempalace" / "palace"
    database(
        palace / "chroma.sqlite3",
        CHROMA,
        collections=[{"id": "c", "name": "mempalace_drawers"}, {"id": "o", "name": "other"}],
        segments=[{"id": "s", "collection": "c"}, {"id": "t", "collection": "o"}],
        embeddings=[
            {"id": 1, "segment_id": "s", "embedding_id": "one"},
            {"id": 2, "segment_id": "t", "embedding_id": "not ours"},
            {"id": 3, "segment_id": "s", "embedding_id": "bare"},
            {"id": 4, "segment_id": "s", "embedding_id": "empty"},
        ],
        embedding_metadata=[
            *({"id": 1, "key": key, "string_value": value} for key, value in fields.items()),
            {"id": 3, "key": "chroma:document", "string_value": "Bare."},
            {"id": 3, "key": "wing", "string_value": None},
        ],
    )
    database(
        palace / "sqlite_exact.sqlite3",
        "CREATE TABLE documents (collection_id TEXT, id TEXT, document TEXT, metadata_json TEXT, created_at TEXT)",
        documents=[
            {"id": "exact", "document": "Exactly.", "metadata_json": '{"wing": "gadgets", "n": 1}'},
            {"id": "odd", "document": "Odd.", "metadata_json": "[]"},
        ],
    )
    database(
        palace.parent / "knowledge_graph.sqlite3",
        "CREATE TABLE entities (id TEXT, name TEXT);"
        "CREATE TABLE triples (subject TEXT, predicate TEXT, object TEXT, valid_from TEXT, valid_to TEXT)",
        entities=[{"id": "ana", "name": "Ana"}, {"id": "x"}],
        triples=[
            {"subject": "ana", "predicate": "knows", "object": "bo", "valid_from": "2025", "valid_to": "2026"},
            {"subject": "ana", "predicate": "is", "object": "ana"},
            {"subject": "zoe", "predicate": "has", "object": "x"},
        ],
    )
    graph = {"project": "", "tags": ("knowledge-graph",)}
    assert list(read_source(home, "mempalace").values()) == [
        Item(
            "drawers/one",
            "The lamp is on.",
            kind="reference",
            project="widgets",
            tags=("hall-way", "facts"),
            created=AT,
            extra={"source_file": "/a.md"},
        ),
        Item("drawers/bare", "Bare.", kind="reference", project=""),
        Skipped("drawers/empty", "it has no text"),
        Item("drawers/exact", "Exactly.", kind="reference", project="gadgets"),
        Item("drawers/odd", "Odd.", kind="reference", project=""),
        Item(
            "triples/ana",
            "## Ana\n\n- knows [[bo]] (from 2025) (until 2026)\n- is [[Ana]]\n\n",
            title="Ana",
            **graph,
        ),
        Item("triples/zoe", "## zoe\n\n- has [[x]]\n\n", title="zoe", **graph),
    ]
    assert detected(home, "mempalace") == [(str(palace), 4, "drawers")]


def test_a_palace_is_where_its_variable_or_its_configuration_says(home: Home) -> None:
    palace = home.path / "elsewhere"
    database(
        palace / "chroma.sqlite3",
        CHROMA.partition("CREATE TABLE embeddings")[1] + CHROMA.partition("CREATE TABLE embeddings")[2],
        embeddings=[{"id": 1, "segment_id": "s", "embedding_id": "one"}],
        embedding_metadata=[{"id": 1, "key": "chroma:document", "string_value": "Said."}],
    )
    expected = {"drawers/one": Item("drawers/one", "Said.", kind="reference", project="")}
    place = [(str(palace), 1, "drawers")]
    assert detected(home, "mempalace") == []
    assert read_source(home, "mempalace", palace) == expected, "without a list of collections every drawer counts"
    assert read_source(home, "mempalace", MEMPALACE_PALACE_PATH=str(palace)) == expected
    assert detected(home, "mempalace", MEMPALACE_PALACE_PATH=str(palace)) == place
    configuration = {"config.json": json.dumps({"palace_path": str(palace)})}
    write_source(home.path / "mine", configuration)
    assert detected(home, "mempalace", MEMPALACE_CONFIG_DIR=str(home.path / "mine")) == place
    write_source(home.path / "xdg/mempalace", configuration)
    assert detected(home, "mempalace", XDG_CONFIG_HOME=str(home.path / "xdg")) == place
    write_source(home.path / ".config/mempalace", configuration)
    assert detected(home, "mempalace") == place
    assert read_source(home, "mempalace") == expected


def test_a_session_that_codex_has_not_consolidated_comes_once_from_the_newer_database(home: Home) -> None:
    schema = (
        "CREATE TABLE stage1_outputs (thread_id TEXT, source_updated_at INTEGER, raw_memory TEXT, "
        "rollout_summary TEXT, rollout_slug TEXT, generated_at INTEGER)"
    )
    root = home.path / ".codex"
    write_source(root / "memories", {"rollout_summaries/a.md": "thread_id: t1\n\nIn a file.\n"})
    database(
        root / "memories_v2_1.sqlite",
        schema,
        stage1_outputs=[
            {"thread_id": "t1", "rollout_summary": "In a file already."},
            {
                "thread_id": "t2",
                "source_updated_at": SECONDS,
                "raw_memory": "x\ncwd: /w \n",
                "rollout_summary": "New.",
                "rollout_slug": "new",
            },
            {"thread_id": "t3", "raw_memory": "Raw."},
        ],
    )
    database(root / "memories_1.sqlite", schema, stage1_outputs=[{"thread_id": "t2", "raw_memory": "Old."}])
    common = {"kind": "reference", "tags": ("codex", "session-summary")}
    known = "its summary came already, from a file or the newer database"
    assert list(read_source(home, "codex").values())[1:] == [
        Skipped("memories_v2_1.sqlite/t1", known, is_problem=False),
        Item(
            "stage1_outputs/t2",
            "New.",
            project="/w",
            slug="codex-new",
            updated=AT,
            extra={"thread": "t2"},
            **common,
        ),
        Item("stage1_outputs/t3", "Raw.", project="", slug="codex-t3", extra={"thread": "t3"}, **common),
        Skipped("memories_1.sqlite/t2", known, is_problem=False),
    ]
    assert detected(home, "codex") == [(str(root), 3, "memories and summaries of sessions")]
    (root / "memories_1.sqlite").unlink()
    database(root / "memories_1.sqlite", "CREATE TABLE other (id TEXT)")
    assert read_source(home, "codex")["memories_1.sqlite"] == Skipped(
        "memories_1.sqlite", "no such table", is_problem=False
    )


def test_a_database_is_copied_up_to_its_limit(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = engram(home.path, 3) / "engram.db"
    monkeypatch.setattr("agentm_import.source_database._LARGEST_DATABASE", path.stat().st_size)
    assert len(read_source(home, "engram")) == 3
    monkeypatch.setattr("agentm_import.source_database._LARGEST_DATABASE", path.stat().st_size - 1)
    with pytest.raises(AgentmError, match="larger than 8 GB"):
        read_source(home, "engram")


@pytest.mark.parametrize(
    ("size", "said"), [(8 * 1024**3, "not a SQLite database"), (8 * 1024**3 + 1, "larger than 8 GB")]
)
def test_eight_gigabytes_are_the_limit_that_is_said(home: Home, size: int, said: str) -> None:
    path = engram(home.path, 0) / "engram.db"
    path.write_bytes(b"")
    os.truncate(path, size)  # a file of holes: nothing is written
    with pytest.raises(AgentmError, match=said):
        read_source(home, "engram")
