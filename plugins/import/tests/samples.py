"""Sources in the formats that their programs write, made by hand: small enough for every run of the suite.

`tests/real_programs.py` has the same made by the programs themselves.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 200


def claude_code(home: Path, count: int = COUNT) -> Path:
    root = home / ".claude"
    project = root / "projects" / str(home / "widgets").replace("/", "-").replace(".", "-")
    memory = project / "memory"
    memory.mkdir(parents=True)
    lines = [{"type": "queue-operation"}, {"type": "user", "cwd": str(home / "widgets"), "sessionId": "s"}]
    (project / "session.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    kinds = ("user", "feedback", "project", "reference")
    index = []
    for number in range(count):
        name, kind = f"memory-{number}", kinds[number % 4]
        old = (
            f"type: {kind}\n"
            if number % 8 < 4
            else f"metadata:\n  type: {kind}\nmodified: 2026-08-0{number % 9 + 1}T10:00:00Z\n"
        )
        head = f"---\nname: {name}\ndescription: What number {number} is about\n{old}---\n\n"
        text = f"{head}Number {number} holds, see [[memory-{number - 1}]].\n"
        (memory / f"{name}.md").write_text(text)
        index.append(f"- [Memory {number}]({name}.md) — what number {number} is about\n")
    (memory / "MEMORY.md").write_text("".join(index))
    (root / "CLAUDE.md").write_text("# Rules\n\nSpeak plainly.\n")
    return root


def codex(home: Path, count: int = COUNT) -> Path:
    root = home / ".codex" / "memories_v2"
    (root / "rollout_summaries").mkdir(parents=True)
    (root / "extensions" / "ad_hoc" / "notes").mkdir(parents=True)
    (root / "memory_summary.md").write_text("v1\nA summary.\n")
    (root / "raw_memories.md").write_text("## Thread `t0`\n")
    (root / "phase2_workspace_diff.md").write_text("diff\n")
    (root / "extensions/ad_hoc/instructions.md").write_text("How to use these.\n")
    blocks = []
    for number in range(count // 4):
        blocks.append(
            f"# Task Group: group {number}\nscope: repo\napplies_to: cwd={home / 'widgets'}; reuse_rule=same repo\n\n"
            f"## Task 1\n\n### keywords\n\nk{number}\n\n## User preferences\n\n- Prefers number {number}.\n\n"
        )
    (root / "MEMORY.md").write_text("".join(blocks))
    for number in range(count // 2):
        (root / "rollout_summaries" / f"2026-08-01T10-00-{number:03}-abc-task.md").write_text(
            f"thread_id: t{number}\nupdated_at: 2026-08-01T10:00:00Z\nrollout_path: /x\ncwd: {home / 'widgets'}\n"
            f"git_branch: main\n\nSession {number} fixed the build.\n"
        )
    for number in range(count // 4):
        (root / "extensions/ad_hoc/notes" / f"2026-08-02T11-00-{number:02}-note-{number}.md").write_text(
            f"Remember that port {8000 + number} is taken.\n"
        )
    return home / ".codex"


def gemini(home: Path, count: int = COUNT) -> Path:
    root = home / ".gemini"
    memory = root / "tmp" / "widgets" / "memory"
    memory.mkdir(parents=True)
    (root / "projects.json").write_text(json.dumps({"projects": {str(home / "widgets"): "widgets"}}))
    added = "".join(f"- The user prefers colour {number}.\n" for number in range(count // 2))
    (root / "GEMINI.md").write_text(f"# Mine\n\nBe brief.\n\n## Gemini Added Memories\n{added}")
    (memory / "MEMORY.md").write_text("# Index\n\nThe project builds with make.\n")
    for number in range(count // 2):
        (memory / f"topic-{number}.md").write_text(f"# Topic {number}\n\nTopic {number} is settled.\n")
    return root


CLAUDE_MEM_SCHEMA = """
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, text TEXT, type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
  concepts TEXT, files_read TEXT,
  files_modified TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
  content_hash TEXT, merged_into_project TEXT, metadata TEXT);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
  created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, merged_into_project TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
"""


def claude_mem(home: Path, count: int = COUNT) -> Path:
    folder = home / ".claude-mem"
    folder.mkdir()
    connection = sqlite3.connect(folder / "claude-mem.db")
    connection.executescript(CLAUDE_MEM_SCHEMA)
    kinds = ("decision", "bugfix", "feature", "discovery", "change")
    for number in range(count - 20):
        connection.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, "
            "narrative, concepts, "
            "files_read, files_modified, created_at, created_at_epoch) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                *("s", "widgets", kinds[number % 5], f"Observation {number}", f"Sub {number}"),
                *(json.dumps([f"fact {number}"]), f"The narrative of {number}.", json.dumps(["how-it-works"])),
                *(json.dumps([f"src/{number}.py"]), "[]", "2026-08-01T10:00:00Z", 1_785_000_000_000 + number),
            ),
        )
    for number in range(20):
        connection.execute(
            "INSERT INTO session_summaries (memory_session_id, project, request, learned, completed, created_at, "
            "created_at_epoch) VALUES (?,?,?,?,?,?,?)",
            (
                "s",
                "widgets",
                f"Request {number}",
                f"Learned {number}",
                "Done.",
                "2026-08-01T10:00:00Z",
                1_785_000_000_000,
            ),
        )
        connection.execute("INSERT INTO user_prompts (prompt_text) VALUES (?)", (f"do {number}",))
    connection.commit()
    connection.close()
    return folder


def engram(home: Path, count: int = COUNT) -> Path:
    folder = home / ".engram"
    folder.mkdir()
    connection = sqlite3.connect(folder / "engram.db")
    connection.executescript(
        "CREATE TABLE observations (id INTEGER PRIMARY KEY, session_id TEXT, type TEXT, title TEXT, content TEXT, "
        "project TEXT, scope TEXT, topic_key TEXT, normalized_hash TEXT, revision_count INTEGER, created_at TEXT, "
        "updated_at TEXT, deleted_at TEXT)"
    )
    for number in range(count):
        connection.execute(
            "INSERT INTO observations (type, title, content, project, scope, topic_key, revision_count, created_at, "
            "updated_at, deleted_at) VALUES (?,?,?,?,?,?,?,?,?,?)",
            (
                *("decision" if number % 2 else "bugfix", f"Title {number}", f"Content {number}", "widgets"),
                *("personal" if number % 10 == 0 else "project", f"topic/{number}", number % 3 + 1),
                *("2026-08-01 10:00:00", "2026-08-02 10:00:00", "2026-08-03" if number % 50 == 49 else None),
            ),
        )
    connection.commit()
    connection.close()
    return folder


MEM0_SCHEMA = (
    "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
    "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
)


def mem0(home: Path, count: int = COUNT) -> Path:
    folder = home / ".mem0"
    folder.mkdir()
    connection = sqlite3.connect(folder / "history.db")
    connection.execute(MEM0_SCHEMA)
    row = 0

    def event(memory: int, old: str | None, new: str | None, name: str) -> None:
        nonlocal row
        row += 1
        connection.execute(
            "INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?,?)",
            (
                f"h{row}",
                f"m{memory}",
                old,
                new,
                name,
                "2026-08-01T10:00:00+00:00",
                None,
                int(name == "DELETE"),
                None,
                None,
            ),
        )

    for number in range(count):
        event(number, None, f"Likes tea number {number}", "ADD")
        if number % 4 == 0:
            event(number, f"Likes tea number {number}", f"Likes coffee number {number}", "UPDATE")
        if number % 10 == 9:
            event(number, f"Likes tea number {number}", None, "DELETE")
    connection.commit()
    connection.close()
    return folder


def mempalace(home: Path, count: int = COUNT) -> Path:
    palace = home / ".mempalace" / "palace"
    palace.mkdir(parents=True)
    connection = sqlite3.connect(palace / "chroma.sqlite3")
    connection.executescript(
        "CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT); CREATE TABLE segments (id TEXT "
        "PRIMARY KEY, type TEXT,"
        " scope TEXT, collection TEXT); CREATE TABLE embeddings (id INTEGER PRIMARY KEY, "
        "segment_id TEXT, embedding_id TEXT,"
        " seq_id BLOB, created_at TIMESTAMP); CREATE TABLE embedding_metadata (id INTEGER, key "
        "TEXT NOT NULL, string_value"
        " TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));"
        "INSERT INTO collections VALUES ('c', 'mempalace_drawers'); INSERT INTO segments VALUES "
        "('s', 'x', 'METADATA', 'c')"
    )
    for number in range(count):
        connection.execute(
            "INSERT INTO embeddings VALUES (?, 's', ?, x'00', '2026-08-01')", (number + 1, f"drawer_{number}")
        )
        fields = {
            "chroma:document": f"Drawer number {number} says that the lamp is on.",
            "wing": "widgets",
            "room": f"room-{number % 5}",
            "source_file": f"/src/{number}.md",
            "filed_at": "2026-08-01T10:00:00",
        }
        connection.executemany(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)",
            [(number + 1, key, value) for key, value in fields.items()],
        )
    connection.commit()
    connection.close()
    return palace


def server_memory(home: Path, count: int = COUNT) -> Path:
    file = home / "graph" / "memory.jsonl"
    file.parent.mkdir()
    lines = [
        json.dumps(
            {"type": "entity", "name": f"Thing {n}", "entityType": "decision", "observations": [f"obs {n}", "b"]},
            separators=(",", ":"),
        )
        for n in range(count)
    ]
    lines += [
        json.dumps(
            {"type": "relation", "from": f"Thing {n}", "to": f"Thing {n + 1}", "relationType": "uses"},
            separators=(",", ":"),
        )
        for n in range(count - 1)
    ]
    file.write_text("\n".join(lines))
    return file


def basic_memory(home: Path, count: int = COUNT) -> Path:
    root = home / "basic-memory"
    for number in range(count):
        file = root / f"area-{number % 7}" / f"Note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"---\ntitle: Note {number}\ntype: note\npermalink: "
            f"main/area-{number % 7}/note-{number}\ntags:\n- t{number % 3}\n---\n\n"
            f"# Note {number}\n\n## Observations\n- [decision] Use number {number} #x (because)\n\n"
            f"## Relations\n- relates_to [[Note {number + 1}]]\n"
        )
    return root


def obsidian(home: Path, count: int = COUNT) -> Path:
    root = home / "Vault"
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian" / "app.json").write_text("{}")
    (root / "picture.png").write_bytes(b"\x89PNG")
    for number in range(count):
        file = root / f"Area {number % 7}" / f"Note – {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        head = f"---\naliases: [n{number}]\ntags: [a, b/c]\n---\n" if number % 2 else ""
        file.write_bytes(
            f"{head}# Note {number}\r\n\r\nSee [[Note – {number + 1}]] and ![[picture.png]].\r\n".encode()
        )
    return root


def okf(home: Path, count: int = COUNT) -> Path:
    root = home / "bundle"
    for number in range(count):
        file = root / "tables" / f"table-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"---\ntype: {'Decision' if number % 2 else 'BigQuery Table'}\ntitle: Table {number}\ntags: [sales]\n"
            f"generated: {{ by: human:ana, at: 2026-05-28T14:30:00Z }}\nx_custom: [1, "
            f"{{a: b}}]\n---\n\n# Schema\n\nColumn {number}.\n"
        )
    (root / "index.md").write_text("# Tables\n\n* [Table 0](tables/table-0.md) - t\n")
    return root


def markdown(home: Path, count: int = COUNT) -> Path:
    root = home / "docs"
    for number in range(count):
        file = root / f"part-{number % 3}" / f"page-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {number}\n\nText {number}.\n")
    return root


SOURCES: dict[str, tuple[Callable[..., Path], int, int]] = {
    # source -> maker, notes that come of COUNT items, things that are left out without a problem
    "basic-memory": (basic_memory, 200, 0),
    "claude-code": (claude_code, 201, 1),
    "claude-mem": (claude_mem, 200, 20),
    "codex": (codex, 200, 4),
    "engram": (engram, 196, 4),
    "gemini": (gemini, 202, 0),
    "markdown": (markdown, 200, 0),
    "mem0": (mem0, 230, 20),
    "mempalace": (mempalace, 200, 0),
    "obsidian": (obsidian, 200, 1),
    "okf": (okf, 200, 1),
    "server-memory": (server_memory, 200, 0),
}
