"""What `agentm import` and `agentm export` say and ask: to programs everything, to people what they need."""

from __future__ import annotations

import io
import json
import re
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from import_home import Home, write_source

from agentm_import import command_export, command_import
from agentm_import.items import Skipped
from agentm_import.planning import Plan, Step
from agentm_kernel.plugin import AgentmError

if TYPE_CHECKING:
    from click.testing import Result

KEY = "AKIA" + "IOSFODNN7EXAMPLZ"
UNKNOWN = "its project 'gadgets' is not known here: add --map 'gadgets=NAME' or --project NAME"


@pytest.fixture
def used(home: Home) -> Home:
    """A home in which Claude Code remembers something of a project that nobody knows here."""
    files = {
        "tea": "---\ntype: feedback\n---\nTea.\n",
        "me": "---\ntype: user\n---\nMe.\n",
        "key": f"---\na: b\n---\nMine:\n{KEY}\n",
        "empty": "",
        "MEMORY": "- [x](y.md)\n",
    }
    memories = {f"projects/-w/memory/{name}.md": text for name, text in files.items()}
    write_source(home.path / ".claude", {**memories, "projects/-w/s.jsonl": '{"cwd": "/gadgets"}\n'})
    return home


def run(*arguments: str, input: str = "") -> Result:
    return CliRunner().invoke(command_import.command, arguments, input=input)


def export(*arguments: str) -> Result:
    return CliRunner().invoke(command_export.command, arguments)


def items(done: Result) -> dict[str, dict[str, Any]]:
    answer: dict[str, Any] = json.loads(done.stdout)
    return {item.pop("origin").rpartition("/")[2]: item for item in answer["items"]}


def test_a_program_is_told_everything_about_every_item(used: Home) -> None:
    done = run("claude-code", "--dry-run", "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert (answer["source"], answer["done"], answer["counts"]) == ("claude-code", False, {"skip": 4, "create": 1})
    plain = {"action": "skip", "key": None, "kind": "fact", "project": "/gadgets", "reason": None}
    told = {"problem": False, "count": 1, "secrets": []}
    index = "the index of the memories, which are imported themselves"
    secret = "line 5 looks like an AWS key id"
    assert items(done) == {
        "MEMORY.md": {**plain, **told, "kind": None, "project": None, "reason": index},
        "empty.md": {**plain, **told, "reason": "empty"},
        "key.md": {
            **plain,
            **told,
            "reason": f"seems to hold a secret: {secret}",
            "problem": True,
            "secrets": [secret],
        },
        "me.md": {**plain, **told, "action": "create", "key": "personal/facts/me.md", "project": None},
        "tea.md": {**plain, **told, "kind": "convention", "reason": UNKNOWN, "problem": True},
    }
    assert json.loads(run("claude-code", "--json").stdout)["done"] is True


def test_a_person_sees_what_would_be_done_then_what_was_and_why_something_stays_behind(used: Home) -> None:
    done = run("claude-code", "--dry-run")
    assert done.exit_code == 0
    rows = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    under = "projects/-w/memory"
    assert rows[1] == [f"{under}/empty.md", "skip", "-", "/gadgets", "empty"]
    assert rows[3] == [f"{under}/me.md", "create", "personal/facts/me.md", "fact"]
    assert done.stdout.splitlines()[-1] == "would import from claude-code: 1 new, 4 left out"
    said = (
        f"{under}/key.md: line 5 looks like an AWS key id\n{under}/tea.md: {UNKNOWN}\n"
        "memories that stay behind, each with its reason above: 2\n"
    )
    assert done.stderr == said
    real = run("claude-code")
    assert (real.exit_code, real.stderr) == (1, said)
    assert real.stdout == "imported from claude-code: 1 new, 4 left out\n"
    again = run("claude-code", "--map", "gadgets=things")
    assert again.stdout == "imported from claude-code: 1 new, 1 unchanged, 3 left out\n"
    tea = used.path / ".claude" / under / "tea.md"
    tea.write_text("---\ntype: feedback\n---\nCoffee.\n")
    changed = run("claude-code", "--map", "gadgets=things")
    assert changed.stdout == "imported from claude-code: 1 changed, 1 unchanged, 3 left out\n"


def test_an_import_that_leaves_no_memory_behind_succeeds(used: Home) -> None:
    (used.path / ".claude/projects/-w/memory/key.md").unlink()
    done = run("claude-code", "--keep-names")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "projects/gadgets/conventions/tea.md" in used.notes()


def test_an_empty_source_has_nothing(home: Home) -> None:
    (home.path / "docs").mkdir()
    assert run("markdown", str(home.path / "docs")).stdout == "imported from markdown: nothing there\n"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (("--map", "gadgets=things"), "projects/things/conventions/tea.md"),
        (("--map", "/gadgets=things"), "projects/things/conventions/tea.md"),
        (("--map", "gadgets="), "personal/conventions/tea.md"),
        (("--map", "gadgets=widgets"), "projects/widgets/conventions/tea.md"),
        (("--map", "other=things", "--keep-names"), "projects/gadgets/conventions/tea.md"),
        (("--project", "things"), "projects/things/conventions/tea.md"),
        (("--project", "things", "--map", "gadgets=other"), "projects/things/conventions/tea.md"),
    ],
)
def test_a_project_of_the_source_is_the_one_that_the_operator_says(
    given: tuple[str, ...], key: str, used: Home
) -> None:
    done = items(run("claude-code", "--dry-run", "--json", *given))
    assert done["tea.md"]["key"] == key
    assert done["me.md"]["key"] == "personal/facts/me.md", "what is of no project stays so"
    run("claude-code", *given)
    assert {key, "personal/facts/me.md"} <= set(used.notes())


def test_a_project_that_the_store_knows_by_that_name_is_that_one(used: Home) -> None:
    write_source(used.root, {"projects/gadgets/facts/x.md": "X.\n"})
    assert items(run("claude-code", "--dry-run", "--json"))["tea.md"]["key"] == "projects/gadgets/conventions/tea.md"


@pytest.mark.parametrize(
    ("given", "unused"),
    [
        (("--map", "gadgets=things"), []),
        (("--map", "gadgets=things", "--map", "gadgits=other"), ["gadgits"]),
        (("--map", "gadgets=other", "--project", "things"), ["gadgets"]),  # it beats what the source says
    ],
)
def test_a_mapping_that_moves_nothing_is_told(given: tuple[str, ...], unused: list[str], used: Home) -> None:
    done = run("claude-code", *given, "--dry-run")

    said = [line for line in done.stderr.splitlines() if line.startswith("nothing in the source is of a project")]
    assert [line.split("'")[1] for line in said] == unused


@pytest.mark.parametrize("wrong", ["gadgets", "=things"])
def test_a_mapping_without_both_sides_is_refused(wrong: str, used: Home) -> None:
    done = run("claude-code", "--map", wrong)
    assert done.exit_code == 2
    assert f"--map needs THEIRS=OURS, not '{wrong}'" in done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """A person before the command; the questions that it asks before it writes."""
    asked: list[tuple[str, bool]] = []
    seen = SimpleNamespace(stdin=Terminal(), stdout=Terminal(), stderr=Terminal(), exit=sys.exit)
    monkeypatch.setattr(command_import, "sys", seen)
    monkeypatch.setattr(command_import, "confirm", lambda question, *, yes: asked.append((question, yes)))
    return asked


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ("things\n", "projects/things/conventions/tea.md"),
        ("-\n", "personal/conventions/tea.md"),
        ("\n", None),
    ],
)
def test_a_person_is_asked_for_the_name_of_a_project_and_before_something_is_written(
    answer: str, key: str | None, used: Home, terminal: list[tuple[str, bool]]
) -> None:
    done = run("claude-code", input=answer)
    assert "The source has memories of '/gadgets', which this store does not know." in done.stderr
    assert "Its name here (- for personal, empty to leave it): " in done.stderr
    assert terminal == [(f"Write {'2 notes' if key else '1 note'}?", False)]
    assert "projects/-w/memory/me.md" in done.stdout, "the plan is shown first"
    assert (key in used.notes()) if key else len(used.notes()) == 1


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_nobody_is_asked_who_said_yes_or_is_a_program(
    option: str, used: Home, terminal: list[tuple[str, bool]]
) -> None:
    done = run("claude-code", option)
    assert terminal == []
    assert "Its name here" not in done.stderr
    assert "personal/facts/me.md" in used.notes()
    if option == "--json":
        assert json.loads(done.stdout)["done"] is True


def test_nobody_is_asked_where_nothing_would_be_written(home: Home, terminal: list[tuple[str, bool]]) -> None:
    (home.path / "docs").mkdir()
    assert run("markdown", str(home.path / "docs")).exit_code == 0
    assert terminal == []


@pytest.mark.parametrize(("count", "more"), [(40, ""), (41, "… and 1 more: --dry-run shows all\n")])
def test_a_long_plan_is_cut_on_a_terminal(
    count: int, more: str, home: Home, terminal: list[tuple[str, bool]]
) -> None:
    root = write_source(home.path / "docs", {f"n{number:02}.md": "x\n" for number in range(count)})
    shown = run("markdown", str(root)).stdout
    assert shown.count(".md") == 80
    assert shown.partition("… and")[1] + shown.partition("… and")[2].partition("\n")[0] == more.rstrip("\n")


def test_a_line_that_stands_for_many_things_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    left = Skipped("prompts", "not remembered", is_problem=False, count=3)
    command_import._table([Step(left.origin, "skip", reason=left.reason, count=left.count), Step("x" * 70, "skip")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["prompts", "(3)", "skip", "-", "not", "remembered"]
    assert lines[1].split()[0] == "x" * 60
    assert Plan([Step("a", "skip", count=3), Step("b", "skip")]).counts() == {"skip": 4}


def test_without_a_source_a_person_sees_what_to_run_and_a_program_what_there_is(used: Home) -> None:
    place = str(used.path / ".claude")
    assert re.split(" {2,}", run().stdout.strip()) == [
        "claude-code",
        "4",
        "memories of 1 project",
        place,
        "agentm import claude-code",
    ]
    answer = json.loads(run("--json").stdout)
    assert answer["found"] == [
        {
            "source": "claude-code",
            "label": "Claude Code",
            "path": place,
            "count": 4,
            "what": "memories of 1 project",
        }
    ]
    assert "markdown" in answer["sources"]


def test_without_a_source_and_any_memory_the_sources_are_named(home: Home) -> None:
    said = run().stdout
    assert said.startswith("No memories of other tools were found in their usual places.\nSources: basic-memory, ")
    assert said.endswith("server-memory. Give one, and the path.\n")


def test_an_export_says_what_it_wrote_and_whether_it_is_still_so(home: Home) -> None:
    note = "projects/widgets/facts/tea.md"
    write_source(home.root, {note: "Tea.\n", "personal/facts/me.md": "Me.\n"})
    folder = home.project / "out"
    assert export("okf", "out").stdout == f"{folder}: 3 written, 0 unchanged, 0 removed\n"
    assert export("okf", "out", "--check").stdout == f"{folder} is the export: 3 files are the same\n"
    answer = json.loads(export("okf", "out", "--json").stdout)
    del answer["schema"]
    lists: dict[str, list[str]] = {"missing": [], "different": [], "extra": [], "invalid": [], "remarks": []}
    plain = {"format": "okf", "folder": str(folder), "store": str(home.root)}
    assert answer == {**plain, "checked": False, "same": 3, **lists}
    (home.root / note).unlink()
    (folder / "index.md").unlink()
    (folder / "personal/facts/me.md").write_text("Mine.\n")
    write_source(home.root, {"personal/facts/new.md": "New.\n"})
    checked = export("okf", "out", "--check")
    assert checked.exit_code == 1
    assert checked.stdout == (
        "missing: personal/facts/new.md\nmissing: index.md\ndifferent: personal/facts/me.md\n"
        f"no longer exported: {note}\nnot valid: personal/facts/me.md: no front matter\n"
        f"{folder} is not the export: 0 files are the same\n"
    )
    assert json.loads(export("okf", "out", "--check", "--json").stdout)["checked"] is True
    assert (folder / note).exists(), "a check changes nothing"


def test_an_export_of_one_project_is_of_this_one_or_the_one_that_is_named(home: Home) -> None:
    write_source(
        home.root,
        {
            "personal/facts/me.md": "Me.\n",
            "projects/things/facts/tea.md": "Tea.\n",
            "projects/things/facts/old.md": "---\nstatus: deleted\n---\nOld.\n",
        },
    )
    assert export("codex", "here").exit_code == 0
    assert [path.name for path in (home.project / "here").rglob("*.md")] == ["2000-01-01T00-00-00-me.md"]
    done = export("claude-code", "other", "--project", "things", "--json")
    answer = json.loads(done.stdout)
    assert (answer["store"], answer["remarks"]) == (None, ["left out, being deleted or superseded: 1 note"])
    assert {path.name for path in (home.project / "other").glob("*.md")} == {"me.md", "tea.md", "MEMORY.md"}


@pytest.mark.parametrize("error", [AgentmError("it is odd"), ValueError("it is odd")])
def test_an_importer_that_cannot_look_is_named_and_the_others_are_shown(
    error: Exception, used: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: object, device: object) -> list[object]:
        raise error

    monkeypatch.setattr("agentm_import.sources.codex.Codex.detect", fails)
    done = run()
    assert done.stderr.startswith("codex: ")
    assert "it is odd" in done.stderr
    assert done.stdout.startswith("claude-code ")
    answer = json.loads(run("--json").stdout)
    assert [failure.partition(":")[0] for failure in answer["failures"]] == ["codex"]
