"""Sources that lie, hang, climb or would run something: refused or skipped with the reason, and left untouched."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from import_home import Home, snapshot
from samples import CLAUDE_MEM_SCHEMA, MEM0_SCHEMA, claude_code, claude_mem, markdown

from agentm_import.importing import Import
from agentm_import.planning import CREATE, SKIP
from agentm_import.source_files import LARGEST
from agentm_kernel.plugin import AgentmError


def run(home: Home, source: str, path: Path | str = "") -> dict[str, str]:
    """The reason of everything that was left out, by origin."""
    done = Import(home.device(), source, str(path), keep_names=True).carry_out()
    return {step.origin: step.reason for step in done.of(SKIP)}


def test_links_out_of_the_folder_are_not_followed(home: Home) -> None:
    root = markdown(home.path, 3)
    outside = home.path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("Not yours.\n")
    (root / "out.md").symlink_to(outside / "private.md")
    (root / "folder").symlink_to(outside)
    os.mkfifo(root / "pipe.md")
    before = snapshot(root, outside)
    reasons = run(home, "markdown", root)
    assert reasons["out.md"] == reasons["folder"] == "a link; links are not followed"
    assert reasons["pipe.md"] == "not a regular file"
    assert not any("Not yours" in text for text in home.notes().values())
    assert snapshot(root, outside) == before


def test_broken_text_and_huge_files_are_named(home: Home) -> None:
    root = markdown(home.path, 1)
    (root / "broken.md").write_bytes(b"one\ntwo \xff\n")
    with (root / "huge.md").open("wb") as file:
        file.truncate(1 << 30)
    (root / os.fsdecode(b"n\xff.md")).write_text("x")
    (root / "deep.md").write_text("---\n" + "a: [" * 4000 + "\n---\nbody\n")
    reasons = run(home, "markdown", root)
    assert reasons["broken.md"] == "not UTF-8 (line 2)"
    assert reasons["huge.md"].startswith("larger than a note may be")
    assert "its name is not UTF-8" in reasons.values()
    assert "body" in home.notes()["personal/references/deep.md"]


@pytest.mark.parametrize(
    "key", ["../../escape.md", "_meta/store.json", "/etc/passwd", "a/../../b.md", ".git/hooks/x.md"]
)
def test_keys_that_climb_out_of_the_store_are_refused(key: str, home: Home) -> None:
    root = home.path / "bundle"
    root.mkdir()
    (root / "evil.md").write_text(f'---\ntype: x\nagentm_key: "{key}"\nagentm_head: ""\n---\nEvil.\n')
    before = snapshot(home.path / "widgets")
    reasons = run(home, "okf", root)
    stored = [path for path in home.path.rglob("*") if path.is_file() and root not in path.parents]
    if key.startswith("/"):
        assert home.notes() == {"etc/passwd": "Evil.\n"}  # a leading slash means the store's root, never the disk's
    else:
        assert list(reasons) == ["evil.md"]
        assert not any(path.read_bytes().startswith(b"Evil") for path in stored)
    assert snapshot(home.path / "widgets") == before


def test_paths_in_transcripts_lead_nowhere(home: Home) -> None:
    root = claude_code(home.path, 4)
    transcript = next(root.rglob("session.jsonl"))
    transcript.write_text('{"cwd": "/../../etc", "type": "user"}\n{"cwd": "relative/../path"}\nnot json "cwd"\n')
    run(home, "claude-code")
    assert all(key.startswith(("projects/", "personal/")) for key in home.notes())


def hostile_database(path: Path, schema: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(schema)
    return connection


def insert(connection: sqlite3.Connection, title: str, narrative: object) -> None:
    connection.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at, created_at_epoch) "
        "VALUES ('s', 'widgets', 'decision', ?, ?, '2026-08-01', 1785000000000)",
        (title, narrative),
    )


def test_triggers_views_and_virtual_tables_do_nothing(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    connection = hostile_database(path, CLAUDE_MEM_SCHEMA)
    insert(connection, "good", "Fine.")
    connection.executescript(
        "DROP TABLE session_summaries;"
        "CREATE VIEW session_summaries AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
        "FROM c) SELECT x AS id FROM c;"
        "CREATE TRIGGER t AFTER INSERT ON observations BEGIN DELETE FROM observations; END;"
    )
    connection.commit()
    connection.close()
    before = snapshot(path.parent)
    begun = time.monotonic()
    reasons = run(home, "claude-mem")
    assert time.monotonic() - begun < 20
    assert not reasons
    assert any("Fine." in text for text in home.notes().values())
    assert snapshot(path.parent) == before


def test_a_view_in_the_place_of_the_table_is_named(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    hostile_database(path, "CREATE VIEW observations AS SELECT load_extension('/tmp/x') AS id").close()
    assert run(home, "claude-mem") == {"observations": "a view, not a table: views are not read"}


def test_generated_columns_with_functions_cost_their_row_only(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    schema = CLAUDE_MEM_SCHEMA.replace("narrative TEXT", "narrative TEXT AS (upper(text))")
    connection = hostile_database(path, schema)
    connection.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, text, created_at, created_at_epoch) "
        "VALUES ('s', 'widgets', 'decision', 'x', 'y', '2026', 1)"
    )
    connection.commit()
    connection.close()
    assert list(run(home, "claude-mem")) in ([], ["observations/1"])  # by SQLite's version: hidden, or refused


def test_what_is_still_in_the_wal_is_read_and_the_wal_left_alone(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    connection = hostile_database(path, CLAUDE_MEM_SCHEMA)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    insert(connection, "in the wal", "Only there.")
    connection.commit()
    assert (path.parent / "claude-mem.db-wal").stat().st_size > 0
    before = snapshot(path.parent)
    run(home, "claude-mem")
    assert any("Only there." in text for text in home.notes().values())
    assert snapshot(path.parent) == before
    connection.close()


def test_a_database_that_its_program_has_locked_is_read_as_it_was_committed(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    connection = hostile_database(path, CLAUDE_MEM_SCHEMA)
    insert(connection, "committed", "Settled.")
    connection.commit()
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN EXCLUSIVE")
    for number in range(300):  # more than the cache holds: half of it is in the file, and the journal undoes it
        insert(connection, f"open {number}", "x" * 3000)
    before = snapshot(path.parent)
    run(home, "claude-mem")
    assert [key for key in home.notes() if key.endswith(".md")] == ["projects/widgets/decisions/committed.md"]
    assert snapshot(path.parent) == before
    connection.rollback()
    connection.close()


def test_fields_beyond_all_measure_cost_their_row_only(home: Home) -> None:
    path = home.path / ".claude-mem/claude-mem.db"
    connection = hostile_database(path, CLAUDE_MEM_SCHEMA)
    insert(connection, "good", "Fine.")
    connection.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at, "
        "created_at_epoch) VALUES ('s','widgets','x','big',CAST(zeroblob(?) AS TEXT),'2026',1)",
        (LARGEST + 1,),
    )
    connection.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at, "
        "created_at_epoch) VALUES ('s','widgets','x','broken',CAST(x'fffe41' AS TEXT),'2026',1)"
    )
    connection.commit()
    connection.close()
    reasons = run(home, "claude-mem")
    assert reasons == {"observations/2": "larger than a note may be", "observations/3": "not UTF-8"}


def test_what_is_no_database_is_refused(home: Home) -> None:
    folder = home.path / ".claude-mem"
    folder.mkdir()
    (folder / "claude-mem.db").write_text("not a database, but long enough to look at")
    with pytest.raises(AgentmError, match="not a SQLite database"):
        run(home, "claude-mem")
    (folder / "claude-mem.db").write_bytes(b"SQLite format 3\0" + os.urandom(4000))
    with pytest.raises(AgentmError, match="not a database that can be read"):
        run(home, "claude-mem")
    (folder / "claude-mem.db").unlink()
    (folder / "claude-mem.db").symlink_to("/dev/zero")
    with pytest.raises(AgentmError, match="links are not followed"):
        run(home, "claude-mem")


class Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.path,)


def test_a_pickle_is_never_opened(home: Home) -> None:
    folder = home.path / ".mem0"
    collection = folder / "qdrant" / "collection" / "mem0"
    collection.mkdir(parents=True)
    connection = sqlite3.connect(collection / "storage.sqlite")
    connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    connection.execute("INSERT INTO points VALUES ('1', ?)", (pickle.dumps(Bomb(str(home.path / "exploded"))),))
    connection.commit()
    connection.close()
    history = sqlite3.connect(folder / "history.db")
    history.execute(MEM0_SCHEMA)
    history.execute("INSERT INTO history VALUES ('h','m',NULL,'Likes tea','ADD','2026-08-01',NULL,0,NULL,NULL)")
    history.commit()
    history.close()
    before = snapshot(folder)
    assert run(home, "mem0") == {"qdrant/collection": "vectors with pickled payloads: never opened"}
    assert not (home.path / "exploded").exists()
    assert snapshot(folder) == before


def test_lines_that_are_no_graph_are_named(home: Home) -> None:
    file = home.path / "memory.jsonl"
    deep = b"[" * 100_000
    file.write_bytes(
        b'{"type":"entity","name":"A","observations":["x"]}\n{"type":"entity"}\nnope\n\xff\n' + deep + b"\n"
    )
    reasons = run(home, "server-memory", file)
    assert reasons == {
        "line 2": "neither an entity nor a relation",
        "line 3": "not JSON",
        "line 4": "not UTF-8",
        "line 5": "not JSON",
    }


def test_a_line_of_a_gigabyte_costs_its_line_and_little_memory(home: Home) -> None:
    file = home.path / "memory.jsonl"
    good = b'{"type":"entity","name":"%s","observations":["x"]}\n'
    with file.open("wb") as writing:
        writing.write(good % b"A" + b'{"type":"entity","name":"')
        writing.seek(1 << 30, os.SEEK_CUR)  # a hole: it takes no room on the disk
        writing.write(b'"}\n' + good % b"B")
    program = (
        "import sys\n"
        "from agentm_import.importing import Import\n"
        "from agentm_kernel.plugin import Device\n"
        "done = Import(Device.now(), 'server-memory', sys.argv[1]).carry_out()\n"
        "print([(step.origin, step.reason) for step in done.problems], len(done.of('create')))\n"
        # Not `ru_maxrss`: it begins with what the process that started this one had.
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])\n"
    )
    command = [sys.executable, "-c", program, str(file)]
    done = subprocess.run(command, env=home.environ, cwd=home.project, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said, kilobytes = done.stdout.splitlines()
    assert said == "[('line 2', 'larger than a note may be')] 2"
    assert int(kilobytes) < 200 * 1024


def test_yaml_that_multiplies_or_builds_objects_stays_text(home: Home) -> None:
    root = home.path / "docs"
    root.mkdir()
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
    )
    (root / "bomb.md").write_text(f"---\n{bomb}---\nBomb.\n")
    (root / "object.md").write_text("---\ntitle: !!python/object/apply:os.system ['touch exploded']\n---\nObject.\n")
    begun = time.monotonic()
    run(home, "markdown", root)
    assert time.monotonic() - begun < 20
    assert {"personal/references/bomb.md", "personal/references/object.md"} <= set(home.notes())
    assert not (home.project / "exploded").exists()


def test_the_private_copy_is_gone_afterwards(home: Home) -> None:
    claude_mem(home.path, 25)
    leftover = home.path / ".cache/agentm/import/999999999-dead"
    leftover.mkdir(parents=True)
    (leftover / "copy.db").write_text("of an import that was killed")
    run(home, "claude-mem")
    assert list((home.path / ".cache/agentm/import").iterdir()) == []


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_secrets_are_refused_by_line_and_never_stored(home: Home) -> None:
    root = claude_code(home.path, 5)
    file = next(root.rglob("memory-2.md"))
    file.write_text(file.read_text() + f"\nThe token is {SECRET} for now.\n")
    lines = file.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if SECRET in line)
    done = home.run("import", "claude-code")
    assert done.returncode == 1
    assert f"memory-2.md: line {number} looks like a" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert "6 new" not in done.stdout
    for path in home.path.rglob("*"):
        if path.is_file() and root not in path.parents:
            assert SECRET.encode() not in path.read_bytes(), path
    again = home.json("import", "claude-code", code=1)
    refused = [item for item in again["items"] if item["secrets"]]
    assert [len(item["secrets"]) for item in refused] == [1]


def test_an_importer_that_breaks_its_promise_is_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        label = "broken"

        def detect(self, device: object) -> list[object]:
            return []

        def read(self, path: str, device: object) -> list[object]:
            return [{"origin": "x"}]

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Broken())
    with pytest.raises(AgentmError, match="neither a body nor a reason"):
        Import(home.device(), "broken")

    class Good(Broken):
        def read(self, path: str, device: object) -> list[object]:
            return [{"origin": "x", "body": "A fact.", "tags": ["t"]}, {"origin": "y", "reason": "no"}]

    monkeypatch.setattr("agentm_import.importing.find_importer", lambda device, name: Good())
    done = Import(home.device(), "broken").carry_out()
    assert done.counts()[CREATE] == 1
