"""Leaving with everything, and coming back with every byte."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from import_home import Home, snapshot
from samples import claude_code

from agentm_import.exports.folder import Comparison
from agentm_import.exports.okf import original
from agentm_import.importing import Import
from agentm_import.moving.projects import rename_project
from agentm_kernel.plugin import Locator, StorageBackend, content_hash

HARD = {
    "projects/widgets/decisions/plain.md": "---\nkind: decision\nstatus: active\ntags: [a, "
    "b]\n---\n\n# Plain\n\nText.\n",
    "projects/widgets/decisions/no-front-matter.md": "Just text",
    "projects/widgets/decisions/crlf.md": "---\r\nkind: decision\r\n---\r\n\r\none\r\ntwo\r\n",
    "projects/widgets/decisions/bom.md": "\ufeff---\nkind: fact\n---\nx\n",
    "projects/widgets/decisions/broken.md": "---\nkind: [unclosed\n---\nbody\n",
    "projects/widgets/decisions/open.md": "---\nkind: decision\nno end\n",
    "projects/widgets/decisions/odd.md": '---\ntitle: "a \\u2028 b"\nx: {a: [1, 2]}\n---\n---\nbody\n---\n',
    "projects/widgets/decisions/index.md": "# A note with a reserved name\n",
    "projects/widgets/decisions/log.md": "log\n",
    "projects/widgets/decisions/ünï 日本 🧠.md": "\u2028 naïve 🧠\n",
    "projects/widgets/decisions/empty.md": "",
    "projects/widgets/decisions/long-head.md": "---\n"
    + "".join(f"k{n}: {'v' * 50}\n" for n in range(200))
    + "---\nbody\n",
    "projects/widgets/decisions/superseded.md": "---\nkind: decision\nstatus: superseded\n---\n\nOld.\n",
    "projects/widgets/_harness/PLAN.md": "# Plan\n",
    "projects/widgets/_index.md": "# Widgets\n",
    "personal/_always-load/tone.md": '---\nkind: always-load\n---\n\nBe brief: always, "really".\n',
    "personal/facts/port.md": "---\nkind: fact\nupdated: 2026-08-01T10:00:00+00:00\n---\n\nThe port is 8080.\n",
}


def fill(home: Home) -> None:
    assert home.run("save", "--kind", "fact", "--slug", "first", input="The first.").returncode == 0
    for key, text in HARD.items():
        path = home.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


@pytest.mark.parametrize("form", ["okf", "markdown", "claude-code", "codex"])
@pytest.mark.parametrize("place", ["", "backup", "projects/widgets/decisions/new/folder"])
def test_an_export_into_a_store_is_refused(form: str, place: str, home: Home, tmp_path: Path) -> None:
    fill(home)
    (tmp_path / "link").symlink_to(home.root)
    before = snapshot(home.root)
    refused = home.run("export", form, str(tmp_path / "link" / place))
    assert refused.returncode == 1
    assert "is a store" in refused.stderr
    assert snapshot(home.root) == before


def test_an_export_that_became_a_store_is_not_exported_to(home: Home, tmp_path: Path) -> None:
    fill(home)
    folder = tmp_path / "out"
    assert home.run("export", "markdown", str(folder)).returncode == 0
    (folder / "_meta" / "store.json").write_text("{}")
    (home.root / "personal" / "facts" / "port.md").unlink()
    assert home.run("export", "markdown", str(folder)).returncode == 1
    assert (folder / "personal" / "facts" / "port.md").exists()


@pytest.mark.parametrize("listed", ["../mine.md", "/{}/mine.md", "a/../../mine.md"])
def test_a_list_of_files_cannot_have_others_removed(home: Home, tmp_path: Path, listed: str) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("mine\n")
    folder = tmp_path / "out"
    (folder / "a").mkdir(parents=True)
    files = {listed.format(tmp_path): [content_hash("mine\n")]}
    (folder / ".agentm-export.json").write_text(json.dumps({"schema": 1, "format": "okf", "files": files}))
    home.run("export", "okf", str(folder))
    assert mine.read_text() == "mine\n"


@pytest.mark.parametrize("form", ["okf", "markdown"])
def test_out_and_home_again_byte_for_byte(form: str, home: Home, tmp_path: Path) -> None:
    fill(home)
    before = home.notes()
    folder = tmp_path / "out"
    assert home.run("export", form, str(folder)).returncode == 0
    exported = snapshot(folder)
    shutil.rmtree(home.path / ".agentm")
    shutil.rmtree(home.path / ".local", ignore_errors=True)
    done = home.json("import", form, str(folder))
    assert [item for item in done["items"] if item["problem"]] == []
    assert home.notes() == before
    assert snapshot(folder) == exported
    assert home.run("search", "first").stdout  # the project knows its notes again, without registering anything
    again = home.json("import", form, str(folder))
    assert set(again["counts"]) <= {"unchanged", "skip"}
    assert home.run("export", form, str(folder), "--check").returncode == 0


def test_okf_says_what_it_is_and_where_it_was(home: Home, tmp_path: Path) -> None:
    fill(home)
    home.run("export", "okf", str(tmp_path / "out"))
    text = (tmp_path / "out/projects/widgets/decisions/plain.md").read_text()
    assert text.startswith('---\ntype: "decision"\ntitle: "Plain"\n')
    assert "status: stable" in text
    assert 'tags: ["a", "b"]' in text
    assert "status: deprecated" in (tmp_path / "out/projects/widgets/decisions/superseded.md").read_text()
    assert original(text) == (
        "projects/widgets/decisions/plain.md",
        HARD["projects/widgets/decisions/plain.md"],
        True,
    )
    assert (tmp_path / "out/index.md").read_text().startswith('---\nokf_version: "0.2"\n---\n')
    assert not (tmp_path / "out/projects/widgets/decisions/index.md").exists()


def test_an_edit_in_the_bundle_comes_back_as_an_edit(home: Home, tmp_path: Path) -> None:
    fill(home)
    home.run("export", "okf", str(tmp_path / "out"))
    note = tmp_path / "out/projects/widgets/decisions/plain.md"
    note.write_text(note.read_text().replace("Text.", "Other text."))
    done = home.json("import", "okf", str(tmp_path / "out"), code=1)
    assert [item["origin"] for item in done["items"] if item["problem"]] == ["projects/widgets/decisions/plain.md"]
    assert "Text." in home.notes()["projects/widgets/decisions/plain.md"]  # the note here is not overwritten
    (home.root / "projects/widgets/decisions/plain.md").unlink()
    home.json("import", "okf", str(tmp_path / "out"))
    assert "Other text." in home.notes()["projects/widgets/decisions/plain.md"]


def test_check_says_what_differs(home: Home, tmp_path: Path) -> None:
    fill(home)
    folder = tmp_path / "out"
    home.run("export", "okf", str(folder))
    (folder / "personal/facts/port.md").write_text("no front matter\n")
    (folder / "personal/_always-load/tone.md").unlink()
    (home.root / "projects/widgets/decisions/plain.md").unlink()
    answer = home.json("export", "okf", str(folder), "--check", code=1)
    assert answer["missing"] == ["personal/_always-load/tone.md"]
    assert set(answer["different"]) == {"personal/facts/port.md", "index.md"}
    assert answer["extra"] == ["projects/widgets/decisions/plain.md"]
    assert answer["invalid"] == ["personal/facts/port.md: no front matter"]


def test_an_export_of_nothing_can_be_repeated(home: Home, tmp_path: Path) -> None:
    for _ in range(2):
        done = home.run("export", "markdown", str(tmp_path / "out"))
        assert (done.returncode, done.stderr) == (0, "")


def test_an_export_overwrites_nothing_that_it_did_not_write(home: Home, tmp_path: Path) -> None:
    fill(home)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "mine.md").write_text("Mine.\n")
    done = home.run("export", "markdown", str(folder))
    assert done.returncode == 1
    assert "not empty" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["mine.md"]
    (folder / "mine.md").unlink()
    assert home.run("export", "markdown", str(folder)).returncode == 0
    (folder / "personal/facts/port.md").write_text("Edited there.\n")
    (home.root / "personal/facts/port.md").write_text("Edited here.\n")
    done = home.run("export", "markdown", str(folder))
    assert done.returncode == 1
    assert "edited since" in done.stderr
    assert (folder / "personal/facts/port.md").read_text() == "Edited there.\n"


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(home: Home, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("Mine.\n")
    done = home.run("export", "markdown", str(tmp_path / place))
    assert done.returncode == 1
    assert f"{tmp_path / place} cannot be made" in done.stderr
    assert "hint: give a folder" in done.stderr


def test_a_second_export_follows_the_store(home: Home, tmp_path: Path) -> None:
    fill(home)
    folder = tmp_path / "out"
    home.run("export", "markdown", str(folder))
    (home.root / "personal/facts/port.md").unlink()
    (home.root / "projects/widgets/decisions/plain.md").write_text("New.\n")
    done = home.run("export", "markdown", str(folder))
    assert "1 written" in done.stdout
    assert "1 removed" in done.stdout
    assert not (folder / "personal/facts/port.md").exists()
    assert home.run("export", "markdown", str(folder), "--check").returncode == 0


def test_claude_code_gets_files_and_lines_and_keeps_its_own(home: Home) -> None:
    root = claude_code(home.path, 3)
    memory = next(root.rglob("memory"))
    fill(home)
    own = (memory / "MEMORY.md").read_text()
    done = home.run("export", "claude-code", str(memory))
    assert done.returncode == 0, done.stderr
    assert "left out, being deleted or superseded: 1 note" in done.stderr
    index = (memory / "MEMORY.md").read_text()
    assert index.startswith(own)
    assert "- [port](port.md) — The port is 8080.\n" in index
    text = (memory / "port.md").read_text()
    assert text.startswith('---\nname: "port"\ndescription: "The port is 8080."\nmetadata:\n  type: user\n')
    assert home.run("export", "claude-code", str(memory), "--check").returncode == 0
    assert home.run("export", "claude-code", str(memory)).returncode == 0
    assert (memory / "MEMORY.md").read_text() == index
    assert not (memory / "superseded.md").exists()


def test_codex_gets_notes_that_it_will_take(home: Home, tmp_path: Path) -> None:
    fill(home)
    assert home.run("export", "codex", str(tmp_path / "memories")).returncode == 0
    folder = tmp_path / "memories/extensions/ad_hoc/notes"
    assert (folder / "2026-08-01T10-00-00-port.md").read_text() == "# port\n\nThe port is 8080.\n"
    assert all(len(path.name.encode()) <= 128 for path in folder.iterdir())


@pytest.mark.parametrize("form", ["claude-code", "codex"])
def test_what_sessions_are_told_is_exported_though_a_note_that_does_not_count_names_it(
    home: Home, tmp_path: Path, form: str
) -> None:
    for slug, text, *more in (
        ("tea", "We drink tea."),
        ("coffee", "We drink coffee.", "--supersedes", "tea"),
        ("water", "Water is free."),
    ):
        assert home.run("save", "--slug", slug, *more, input=text).returncode == 0
    assert home.run("forget", "coffee").returncode == 0
    assert home.run("save", "--slug", "tea", "--update", input="We drink tea.").returncode == 0
    mine = home.root / "personal/facts/mine.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("---\nkind: fact\nsupersedes: [water]\n---\n\nWater at home is not.\n")
    done = home.run("export", form, str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    written = "".join(file.read_text() for file in (tmp_path / "out").rglob("*.md"))
    assert "We drink tea." in written
    assert "Water is free." in written
    assert "coffee" not in written


def test_what_was_exported_to_claude_code_is_what_comes_back(home: Home, tmp_path: Path) -> None:
    fill(home)
    home.run("export", "claude-code", str(tmp_path / "memory"))
    done = Import(home.device(), "claude-code", str(tmp_path / "memory"), project="widgets").plan
    assert not done.problems


@pytest.mark.parametrize("what", ["missing", "different", "extra", "invalid"])
def test_an_export_is_the_same_only_if_nothing_differs(what: str) -> None:
    assert Comparison(same=["a.md"]).is_same
    assert not Comparison(same=["a.md"], **{what: ["b.md"]}).is_same


OLD, NEW = Locator("projects/things/facts/tea.md"), "projects/gadgets/facts/tea.md"
KNOWN = '{"version": 1, "id": "1", "remotes": ["example.com/ana/things"]}\n'


def exported_project(home: Home, folder: Path) -> StorageBackend:
    store = home.device().store(read_only=False)
    store.write(OLD.parent.parent.child("_project.json"), KNOWN)
    store.write(OLD, "We drink tea.\n")
    assert home.run("export", "markdown", str(folder)).returncode == 0
    return store


def test_an_export_comes_home_to_the_name_that_its_project_has_now(home: Home, tmp_path: Path) -> None:
    store = exported_project(home, tmp_path / "out")
    rename_project(store, "things", "gadgets")
    store.delete(Locator(NEW))
    done = Import(home.device(), "markdown", str(tmp_path / "out")).carry_out()
    assert done.problems == []
    assert home.notes()[NEW] == "We drink tea.\n"
    assert OLD.key not in home.notes()


def test_an_export_does_not_mix_with_the_project_of_another_repository(home: Home, tmp_path: Path) -> None:
    store = exported_project(home, tmp_path / "out")
    other = KNOWN.replace('"1"', '"2"').replace("ana", "bob")
    store.write(OLD.parent.parent.child("_project.json"), other)
    store.write(OLD, "We drink coffee.\n")
    for action in ("create", "unchanged"):
        done = Import(home.device(), "markdown", str(tmp_path / "out")).carry_out()
        assert done.problems == []
        assert [step.key for step in done.of(action) if step.key.endswith("tea.md")] == [
            "projects/ana-things/facts/tea.md"
        ]
    notes = home.notes()
    assert notes["projects/ana-things/facts/tea.md"] == "We drink tea.\n"
    assert notes["projects/ana-things/_project.json"] == KNOWN
    assert (notes[OLD.key], notes["projects/things/_project.json"]) == ("We drink coffee.\n", other)


def test_an_export_does_not_come_home_to_a_project_that_has_left_the_store(home: Home, tmp_path: Path) -> None:
    store = exported_project(home, tmp_path / "out")
    left = {**json.loads(KNOWN), "moved_to_store": "another"}
    store.write(OLD.parent.parent.child("_project.json"), json.dumps(left))
    store.delete(OLD)
    done = Import(home.device(), "markdown", str(tmp_path / "out")).carry_out()
    assert "are in another store" in done.problems[0].reason
    assert OLD.key not in home.notes()
