"""How much of a source's front matter is read, to the letter, and what is said of a file that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from import_home import CHANGED, Home, read_source, write_source

from agentm_import.command_export import command
from agentm_import.contract import known_format, note_format
from agentm_import.exports.manifest import manifest_text
from agentm_import.importing import Import
from agentm_import.items import Item, Skipped
from agentm_import.source_files import is_in_store, walk
from agentm_import.sources._common import moment
from agentm_import.yaml_text import NotYaml, mapping
from agentm_kernel.plugin import AgentmError, FileStore, Locator, PluginError


def test_front_matter_of_exactly_the_longest_kind_is_read() -> None:
    yaml = "x: ['1']\n# "
    assert mapping(yaml + "y" * (16_384 - len(yaml))) == {"x": ["1"]}
    with pytest.raises(NotYaml, match="^it is too large$"):
        mapping(yaml + "y" * (16_385 - len(yaml)))


@pytest.mark.parametrize(("one", "made"), [("[]", []), ("{}", {})])
def test_front_matter_may_have_five_hundred_brackets(one: str, made: object) -> None:
    lists = f"a: [{', '.join([one] * 499)}]"
    assert mapping(lists) == {"a": [made] * 499}


def test_front_matter_may_have_five_thousand_values() -> None:
    assert mapping(f"a: [{'x,' * 4_999}]") == {"a": ["x"] * 4_999}
    with pytest.raises(NotYaml):
        mapping(f"a: [{'x,' * 5_000}]")


def test_of_two_fields_of_one_name_the_last_one_counts() -> None:
    assert mapping("a: b\na: c\n") == mapping("a: 'b'\na: c\n") == {"a": "c"}


def test_what_is_wrong_with_front_matter_is_said_in_one_short_line() -> None:
    with pytest.raises(NotYaml) as told:
        mapping("a: [" + "b\n  " * 40 + "\nc: d\n")
    assert len(str(told.value)) == 120
    assert "\n" not in str(told.value)


def test_from_one_hundred_thousand_million_on_a_moment_is_in_milliseconds() -> None:
    assert moment(100_000_000_001) == "1973-03-03T09:46:40+00:00"


def test_a_file_whose_front_matter_cannot_be_read_is_taken_as_a_whole(home: Home) -> None:
    text = "---\nname: [\n---\nTea.\n"
    root = write_source(home.path / "memory", {"tea.md": text})
    assert read_source(home, "claude-code", root) == {
        "tea.md": Item("tea.md", text, title="tea", slug="tea", updated=CHANGED)
    }


def test_instructions_that_cannot_be_read_are_named_as_they_would_have_been(home: Home) -> None:
    for folder in (home.path / ".claude", home.project):
        folder.mkdir(exist_ok=True)
        (folder / "CLAUDE.md").write_bytes(b"\xff")
    place, why = f"{home.project}/CLAUDE.md", "not UTF-8 (line 1)"
    assert read_source(home, "claude-code") == {"CLAUDE.md": Skipped("CLAUDE.md", why)}
    assert read_source(home, "claude-code", home.project) == {place: Skipped(place, why)}


@pytest.mark.parametrize(("more", "project"), [(0, "/gadgets"), (1, None)])
def test_the_beginning_of_a_transcript_says_which_folder_its_project_is(
    home: Home, more: int, project: str | None
) -> None:
    said = '{"cwd": "/gadgets"}'
    text = "x" * (262_144 - len(said) - 1 + more) + "\n" + said
    root = write_source(home.path / "w", {"s.jsonl": text, "memory/tea.md": "Tea.\n"})
    (item,) = read_source(home, "claude-code", root / "memory").values()
    assert isinstance(item, Item)
    assert item.project == project


def test_the_newest_transcripts_are_asked_and_no_more_than_five(home: Home) -> None:
    files = {f"{number}.jsonl": "{}\n" for number in range(5)}
    root = write_source(home.path / "w", {**files, "old.jsonl": '{"cwd": "/old"}\n', "memory/tea.md": "Tea.\n"})
    os.utime(root / "old.jsonl", (1, 1))

    def project() -> str | None:
        (item,) = read_source(home, "claude-code", root / "memory").values()
        assert isinstance(item, Item)
        return item.project

    assert project() is None
    (root / "4.jsonl").unlink()
    assert project() == "/old"
    (root / "0.jsonl").write_text('{"cwd": "relative"}\n{"cwd": 3}\n["cwd"]\n{"cwd": "/new"}\n')
    assert project() == "/new"


@pytest.mark.parametrize(
    ("path", "is_in"),
    [
        ("store/personal/facts/tea.md", True),
        ("store/personal", True),
        ("store/projects/widgets", True),
        ("store/_meta", True),
        ("store/other/tea.md", False),
        ("store", False),
        ("personal/facts", False),
    ],
)
def test_what_lies_in_a_store_is_known_by_the_folders_above_it(tmp_path: Path, path: str, is_in: bool) -> None:
    FileStore(tmp_path / "store", create_root=True).write(Locator("_meta/store.json"), "{}")
    assert is_in_store(str(tmp_path / path)) is is_in


def test_without_a_plugin_that_knows_notes_nothing_is_imported(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    device = home.device()
    monkeypatch.setattr(type(device.plugins), "of", lambda self, group: [])
    with pytest.raises(PluginError, match="^no plugin says what a note looks like"):
        note_format(device)
    assert known_format(device) is None


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("markdown", "there is no such folder"),
        ("okf", "there is no such folder"),
        ("obsidian", "it is no Obsidian vault: it has no folder .obsidian"),
        ("server-memory", "no file was found"),
    ],
)
def test_a_source_that_is_nowhere_is_called_by_its_name_and_one_that_was_given_by_its_path(
    home: Home, source: str, why: str
) -> None:
    with pytest.raises(AgentmError) as told:
        read_source(home, source)
    assert told.value.message == f"{source}: {why}"
    missing = str(home.path / "none")
    with pytest.raises(AgentmError) as told:
        read_source(home, source, missing)
    assert told.value.message.startswith(f"{missing}: ")


def test_a_project_that_nobody_knows_keeps_its_name_only_if_that_is_said(home: Home) -> None:
    root = write_source(home.path / "w", {"s.jsonl": '{"cwd": "/gadgets"}', "memory/tea.md": "Tea.\n"})
    device = home.device()
    (unknown,) = Import(device, "claude-code", str(root / "memory")).plan.steps
    assert (unknown.action, unknown.is_problem) == ("skip", True)
    (kept,) = Import(device, "claude-code", str(root / "memory"), keep_names=True).plan.steps
    assert (kept.action, kept.key) == ("create", "projects/gadgets/facts/tea.md")


@pytest.mark.parametrize(("form", "is_refused"), [("okf", True), ("markdown", True), ("codex", False)])
def test_only_a_folder_that_another_program_writes_too_may_hold_something_else(
    home: Home, tmp_path: Path, form: str, is_refused: bool
) -> None:
    folder = write_source(tmp_path / "out", {"theirs.txt": "x"})
    done = CliRunner().invoke(command, [form, str(folder)])
    assert (done.exit_code == 0) is not is_refused
    if is_refused:
        assert "is not empty and holds no export of agentm; nothing was written" in str(done.exception)


def test_a_folder_is_looked_into_sixty_folders_deep(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"d" * 60)
    deep.mkdir(parents=True)
    (deep / "last.md").write_text("x")
    (deep / "e").mkdir()
    (deep / "e" / "lost.md").write_text("x")
    folder = "/".join("d" * 60)
    assert list(walk(str(tmp_path))) == [f"{folder}/last.md", Skipped(folder, "nested deeper than 60 folders")]


def test_the_records_of_another_store_do_not_come_home(home: Home, tmp_path: Path) -> None:
    listed = manifest_text("markdown", {"_meta/x.json": ["0"]})
    folder = write_source(tmp_path / "out", {".agentm-export.json": listed, "_meta/x.json": "{}"})
    (step,) = Import(home.device(), "markdown", str(folder)).carry_out().steps
    assert (step.action, step.reason) == ("skip", "'_meta/x.json' is a record of a store, and this store has its own")
    assert not (home.root / "_meta" / "x.json").exists()
