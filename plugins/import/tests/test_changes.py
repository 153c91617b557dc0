"""What a second import does: only the change, and never over somebody's edit."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from import_home import Home, snapshot, write_source
from samples import claude_code, claude_mem, engram, markdown, mem0

from agentm_import import writing
from agentm_import.importing import Import
from agentm_import.moving.projects import merge_projects, rename_project
from agentm_import.planning import CREATE, SKIP, UNCHANGED, UPDATE
from agentm_kernel.plugin import BackendLayer, Locator, ProjectRecord, content_hash, create_record

if TYPE_CHECKING:
    from pathlib import Path


def run(home: Home, source: str, path: str = "", **options: Any) -> Any:
    return Import(home.device(), source, path, **{"keep_names": True, **options}).carry_out()


def test_only_what_changed_in_the_source_is_changed_here(home: Home) -> None:
    folder = claude_mem(home.path, 60)
    run(home, "claude-mem")
    before = home.notes()
    with sqlite3.connect(folder / "claude-mem.db") as connection:
        connection.execute("UPDATE observations SET narrative = 'It is different now.' WHERE id = 7")
        connection.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at, "
            "created_at_epoch) "
            "VALUES ('s', 'widgets', 'decision', 'A new one', 'New.', '2026-08-01', 1785000000000)"
        )
    connection.close()
    done = run(home, "claude-mem")
    assert (done.counts()[UPDATE], done.counts()[CREATE]) == (1, 1)
    after = home.notes()
    changed = {key for key in after if before.get(key) != after[key]}
    assert changed == {step.key for step in done.of(UPDATE, CREATE)}
    assert "It is different now." in after[done.of(UPDATE)[0].key]


def test_a_note_that_was_edited_here_is_not_overwritten(home: Home) -> None:
    root = claude_code(home.path, 4)
    run(home, "claude-code")
    note = home.root / "projects/widgets/conventions/memory-1.md"
    note.write_text(note.read_text() + "My own line.\n")
    source = next(root.rglob("memory-1.md"))
    source.write_text(source.read_text().replace("Number 1 holds", "Number 1 holds no more"))
    done = run(home, "claude-code")
    assert [step.origin for step in done.problems] == [str(source.relative_to(root))]
    assert "edited here" in done.problems[0].reason
    assert note.read_text().endswith("My own line.\n")
    assert "no more" not in note.read_text()


def test_fields_that_were_set_here_survive_a_change_of_the_source(home: Home) -> None:
    root = claude_code(home.path, 4)
    run(home, "claude-code")
    note = home.root / "projects/widgets/conventions/memory-1.md"
    assert home.run("forget", "memory-1").returncode == 0
    source = next(root.rglob("memory-1.md"))
    source.write_text(source.read_text().replace("Number 1 holds", "Number 1 holds no more"))
    done = run(home, "claude-code")
    assert not done.problems
    assert "Number 1 holds no more" in note.read_text()
    assert "status: deleted" in note.read_text()
    assert run(home, "claude-code").counts()[UPDATE] == 0


def test_what_was_deleted_here_stays_deleted(home: Home) -> None:
    claude_code(home.path, 4)
    run(home, "claude-code")
    (home.root / "projects/widgets/conventions/memory-1.md").unlink()
    done = run(home, "claude-code")
    assert done.counts()[CREATE] == 0
    assert any("deleted since" in step.reason for step in done.of(SKIP))


def test_a_note_of_somebody_else_keeps_its_name(home: Home) -> None:
    claude_code(home.path, 4)
    assert home.run("save", "--kind", "convention", "--slug", "memory-1", input="Mine.").returncode == 0
    done = run(home, "claude-code")
    assert not done.problems
    assert "Mine." in home.notes()["projects/widgets/conventions/memory-1.md"]
    (origin,) = [step.origin for step in done.steps if step.origin.endswith("memory-1.md")]
    mark = content_hash(origin)[:8]
    others = [key for key in home.notes() if key.startswith("projects/widgets/conventions/memory-1-")]
    assert others == [f"projects/widgets/conventions/memory-1-{mark}.md"], "a second run has to find it again"
    assert run(home, "claude-code").counts()[CREATE] == 0


def test_a_file_beside_a_note_of_somebody_else_gets_a_name_that_the_next_run_finds(home: Home) -> None:
    write_source(home.root, {"personal/references/a/page.md": "Mine.\n"})
    write_source(home.path / "docs", {"a/page.md": "Theirs.\n"})
    run(home, "markdown", str(home.path / "docs"))
    named = f"personal/references/a/page-{content_hash('a/page.md')[:8]}.md"
    assert "Theirs." in home.notes()[named]
    assert home.notes()["personal/references/a/page.md"] == "Mine.\n"


def test_rules_and_the_memory_of_a_projects_subagents_come_along(home: Home) -> None:
    claude_code(home.path, 4)
    project = home.path / "widgets"
    (project / "AGENTS.md").write_text("# For every agent\n\nRun make test.\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    (project / "CLAUDE.local.md").symlink_to("/etc/passwd")
    for name, text in {
        "rules/api/style.md": "---\npaths: ['src/**']\n---\n\nUse snake case.\n",
        "agent-memory/reviewer/MEMORY.md": "Reviews look at tests first.\n",
        "agent-memory-local/reviewer/habits.md": "The user reviews on Fridays.\n",
    }.items():
        file = project / ".claude" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    done = run(home, "claude-code")
    notes = home.notes()
    said = {step.origin: notes[step.key] for step in done.of(CREATE)}
    assert "Run make test." in said[f"{project}/CLAUDE.md"], "a link to the file beside it is that file"
    assert "kind: convention" in said[f"{project}/.claude/rules/api/style.md"]
    assert "Use snake case." in said[f"{project}/.claude/rules/api/style.md"]
    assert "reviewer" in said[f"{project}/.claude/agent-memory/reviewer/MEMORY.md"]
    assert "Fridays" in said[f"{project}/.claude/agent-memory-local/reviewer/habits.md"]
    assert [(step.origin, step.reason) for step in done.problems] == [
        (f"{project}/CLAUDE.local.md", "a link; links are not followed")
    ]
    assert run(home, "claude-code").counts()[CREATE] == 0


def test_what_says_the_same_twice_is_one_note(home: Home) -> None:
    folder = mem0(home.path, 3)
    with sqlite3.connect(folder / "history.db") as connection:
        connection.execute(
            "INSERT INTO history SELECT 'x', 'other', old_memory, new_memory, event, created_at, "
            "updated_at, is_deleted, "
            "actor_id, role FROM history WHERE memory_id = 'm1'"
        )
    connection.close()
    done = run(home, "mem0")
    assert [step.reason for step in done.of(SKIP)] == ["says the same as personal/facts/likes-tea-number-1.md"]
    assert run(home, "mem0").counts()[CREATE] == 0


def test_what_says_the_same_of_two_things_is_two_notes(home: Home) -> None:
    file = home.path / "memory.jsonl"
    file.write_text(
        "".join(f'{{"type":"entity","name":"{n}","observations":["Likes tea"]}}\n' for n in ("Ana", "Bo"))
    )
    done = run(home, "server-memory", str(file))
    assert done.counts()[CREATE] == 2
    assert {"personal/facts/ana.md", "personal/facts/bo.md"} <= set(home.notes())


def test_the_versions_of_a_memory_are_a_chain(home: Home) -> None:
    mem0(home.path, 1)
    run(home, "mem0")
    notes = home.notes()
    current = notes["personal/facts/likes-coffee-number-0.md"]
    assert "supersedes: [likes-tea-number-0]" in current
    assert "status: superseded" in notes["personal/facts/likes-tea-number-0.md"]
    assert "status: active" in current


def test_an_edit_by_another_process_between_plan_and_write_is_kept(home: Home) -> None:
    folder = claude_mem(home.path, 25)
    run(home, "claude-mem")
    with sqlite3.connect(folder / "claude-mem.db") as connection:
        connection.execute("UPDATE observations SET narrative = 'Changed.' WHERE id = 1")
    connection.close()
    job = Import(home.device(), "claude-mem", keep_names=True)
    key = job.plan.of(UPDATE)[0].key
    (home.root / key).write_text("Somebody was faster.\n")
    done = job.carry_out()
    assert [step.origin for step in done.problems] == ["observations/1"]
    assert (home.root / key).read_text() == "Somebody was faster.\n"


class Dying(BackendLayer):
    """A store whose process is killed before or after the nth write."""

    writes = 0

    def __init__(self, inner: Any, at: int) -> None:
        super().__init__(inner)
        self._at = at

    def write(self, locator: Any, content: str, *, if_match: Any = None) -> Any:
        Dying.writes += 1
        if Dying.writes * 2 == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().write(locator, content, if_match=if_match)
        if Dying.writes * 2 + 1 == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        return done


def killed_at(home: Home, source: str, path: str, point: int) -> None:
    child = os.fork()
    if child == 0:
        try:
            job = Import(home.device(), source, path, keep_names=True)
            job._ledger._backend = Dying(job._ledger._backend, point)
            write = writing._write
            writing._write = lambda step, backend: write(step, Dying(backend, point))  # whichever store it goes to
            job.carry_out()
        finally:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it was not killed at {point}"


@pytest.mark.parametrize("source", ["engram", "markdown"])
def test_killed_at_many_points_and_run_again_it_is_complete_and_single(
    source: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = (engram if source == "engram" else markdown)(home.path, 30)
    path = str(place) if source == "markdown" else ""
    monkeypatch.setattr("agentm_import.ledger._EVERY", 0.0)  # the record is written after every note
    for point in (2, 3, 5, 4, 7, 6, 3, 2):
        killed_at(home, source, path, point)
    done = run(home, source, path)
    assert not done.problems
    notes = home.notes()
    assert done.counts()[CREATE] + done.counts()[UNCHANGED] == 30
    assert sum(key.endswith(".md") for key in notes) == 30
    assert run(home, source, path).counts()[CREATE] == 0
    assert home.notes() == notes


def test_without_a_source_the_instructions_of_this_folder_are_named(home: Home) -> None:
    assert "import claude-code ." not in home.run("import").stdout
    (home.project / "CLAUDE.md").write_text("Use tabs.\n")
    assert "CLAUDE.md here: `agentm import claude-code .`" in home.run("import").stdout


def test_a_dry_run_writes_nothing_at_all(home: Home) -> None:
    claude_code(home.path, 6)
    before = snapshot(home.path)
    done = home.run("import", "claude-code", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "would import from claude-code: 7 new, 1 left out" in done.stdout
    assert {path: state[-1] for path, state in snapshot(home.path).items()} == {p: s[-1] for p, s in before.items()}


def test_a_damaged_record_is_an_error_that_says_what_to_do(home: Home) -> None:
    markdown(home.path, 2)
    run(home, "markdown", str(home.path / "docs"))
    record = home.root / "_meta/imports/markdown.json"
    record.write_text("{")
    done = home.run("import", "markdown", str(home.path / "docs"))
    assert done.returncode == 1
    assert "cannot be understood" in done.stderr
    record.unlink()
    assert run(home, "markdown", str(home.path / "docs")).counts()[UNCHANGED] == 2
    assert len(json.loads(record.read_text())["items"]) == 2, "what was recognised is on record again"
    assert home.run("forget", "page-0").returncode == 0
    (home.path / "docs/part-0/page-0.md").write_text("# Page 0\n\nOther words.\n")
    assert run(home, "markdown", str(home.path / "docs")).counts()[UPDATE] == 1, (
        "a field that was set here is no edit"
    )


def test_a_project_that_lives_in_another_store_gets_its_notes_there(home: Home) -> None:
    claude_code(home.path, 4)
    (home.path / "team").mkdir()
    assert home.run("store", "add", "team", "device-local", f"root={home.path / 'team'}").returncode == 0
    bound = home.run("project", "use-store", "team")
    assert bound.returncode == 0, bound.stderr
    done = home.json("import", "claude-code")
    assert done["counts"]["create"] == 5
    assert (home.path / "team/projects/widgets/conventions/memory-1.md").is_file()
    assert not (home.root / "projects/widgets/conventions").exists()
    assert (home.root / "personal/facts/memory-0.md").is_file()
    assert set(home.json("import", "claude-code")["counts"]) == {"unchanged", "skip"}
    assert home.run("export", "claude-code", str(home.path / "out")).returncode == 0
    assert (home.path / "out/memory-1.md").is_file()


def test_what_was_imported_is_found_under_the_name_that_its_project_has_now(home: Home) -> None:
    folder = home.path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nWe drink tea.\n")
    run(home, "markdown", str(folder), project="things")
    store = home.device().store(read_only=False)
    create_record(store, ProjectRecord(Locator("projects/things"), ("1",), ()))
    rename_project(store, "things", "gadgets")
    (folder / "tea.md").write_text("# Tea\n\nWe drink coffee.\n")
    done = run(home, "markdown", str(folder), project="gadgets")
    assert [(step.action, step.key) for step in done.steps] == [(UPDATE, "projects/gadgets/references/tea.md")]
    assert "We drink coffee." in home.notes()["projects/gadgets/references/tea.md"]
    assert not list((home.root / "projects/things").rglob("*.md"))


@pytest.fixture
def drinks(home: Home) -> Path:
    """A folder that was imported into the project `things`."""
    folder = home.path / "docs"
    folder.mkdir()
    for name in ("tea", "milk"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nWe drink {name}.\n")
    run(home, "markdown", str(folder), project="things")
    create_record(home.device().store(read_only=False), ProjectRecord(Locator("projects/things"), ("1",), ()))
    return folder


def test_another_name_of_the_project_is_no_change_of_the_source(home: Home, drinks: Path) -> None:
    rename_project(home.device().store(read_only=False), "things", "gadgets")
    tea, milk = (home.root / f"projects/gadgets/references/{name}.md" for name in ("tea", "milk"))
    tea.write_text(tea.read_text() + "My own line.\n")
    milk.unlink()
    done = run(home, "markdown", str(drinks), project="gadgets")
    assert done.problems == []
    assert (done.counts()[UNCHANGED], done.counts()[SKIP]) == (1, 1)
    assert not milk.exists()


def test_a_note_that_was_moved_is_the_one_that_a_change_of_the_source_reaches(home: Home, drinks: Path) -> None:
    for slug in ("chai", "oolong"):
        name = "tea" if slug == "chai" else "chai"
        moved = home.run("notes", "move", name, "--project", "things", "--slug", slug)
        assert moved.returncode == 0, moved.stderr
    assert run(home, "markdown", str(drinks), project="things").counts() == {UNCHANGED: 2}
    (drinks / "tea.md").write_text("# tea\n\nWe drink coffee.\n")
    done = run(home, "markdown", str(drinks), project="things")
    assert [(step.action, step.key) for step in done.of(UPDATE, CREATE, SKIP)] == [
        (UPDATE, "projects/things/references/oolong.md")
    ]
    assert "coffee" in home.notes()["projects/things/references/oolong.md"]
    assert "projects/things/references/tea.md" not in home.notes()


def test_a_note_that_a_merge_kept_apart_is_the_one_that_a_change_of_the_source_reaches(
    home: Home, drinks: Path
) -> None:
    assert home.run("save", "--kind", "reference", "--slug", "tea", "Tea is at four.").returncode == 0
    merge_projects(home.device().store(read_only=False), "things", "widgets")
    own = home.notes()["projects/widgets/references/tea.md"]
    (drinks / "tea.md").write_text("# tea\n\nWe drink coffee.\n")
    done = run(home, "markdown", str(drinks), project="widgets")
    assert [step.key for step in done.of(UPDATE, CREATE)] == ["projects/widgets/references/tea-from-things.md"]
    assert done.problems == []
    assert "coffee" in home.notes()["projects/widgets/references/tea-from-things.md"]
    assert home.notes()["projects/widgets/references/tea.md"] == own


@pytest.mark.parametrize("inside", ["personal", "projects/widgets", "projects/widgets/facts/tea.md"])
def test_a_part_of_a_store_is_not_taken_in_a_second_time(home: Home, inside: str) -> None:
    for text, where in (("Mine.", "--personal"), ("We drink tea.", "--slug=tea")):
        assert home.run("save", text, where).returncode == 0
    before = home.notes()
    done = run(home, "markdown", str(home.root / inside))
    assert [step.action for step in done.steps] == [SKIP]
    assert "a store of agentm" in done.problems[0].reason
    assert home.notes() == before
