"""`agentm connect`, `disconnect`, `setup` and `hosts` in this process: what they change, say, ask and answer."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentm_hosts.adapter import HostAdapter
from agentm_hosts.commands import connect, hosts, setup
from agentm_hosts.commands.connect import planned_changes, say, show
from agentm_hosts.files.connections import Plan
from agentm_hosts.files.receipts import Receipt
from agentm_hosts.place import SET, Change, Entry, Place
from agentm_kernel.plugin import AgentmError

HOOK = Entry(("hooks", "Stop"), {"hooks": [{"type": "command", "command": "/bin/agentm hook turn-end --host x"}]})
SERVER = Entry(("mcpServers", "agentm"), {"command": "/bin/agentm", "args": ["mcp"]}, SET)


class Host(HostAdapter):
    """A host with one file of settings; a test says what is wrong with it."""

    def __init__(
        self, name: str, home: Path, entries: tuple[Entry, ...] = (HOOK, SERVER), is_here: bool = True
    ) -> None:
        self.name, self.title, self._home, self._entries, self._is_here = name, name.upper(), home, entries, is_here

    def is_present(self, place: Place) -> bool:
        return self._is_here

    def folder(self, place: Place) -> str:
        return str(self._home)

    def changes(self, place: Place) -> list[Change]:
        file = str(self._home / f"{self.name}.json")
        return [Change(file, "json", self._entries)] if self._entries else []

    def open_steps(self, place: Place) -> list[str]:
        return ["trust us"]

    def advice(self, place: Place) -> list[str]:
        return ["look at it"]


class Desk:
    """The commands, for hosts that a test brings."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.found = home, [Host("one", home)]
        self.place = Place(str(home), {}, "/bin/agentm", str(home / "state"))
        self.asked: list[Any] = []
        device = SimpleNamespace(state_dir=self.place.state_dir)
        for module in (connect, setup, hosts):
            monkeypatch.setattr(module, "current_device", lambda: device)
        for module in (connect, setup):
            monkeypatch.setattr(module, "place_for", self._place_for)
        monkeypatch.setattr(connect, "adapters", lambda _device: self.found)
        monkeypatch.setattr(connect, "adapter_named", self.named)
        monkeypatch.setattr(connect, "hooks_of_the_project", lambda _adapter, _place: ["it brings hooks"])

    def _place_for(self, _device: object, scope: str = "user", **parts: bool) -> Place:
        self.asked.append((scope, parts))
        return self.place

    def named(self, _device: object, name: str) -> Host:
        return next(host for host in self.found if host.name == name)

    def run(self, command: Any, *arguments: str) -> Result:
        return CliRunner().invoke(command, arguments, standalone_mode=False)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_what_is_here_is_connected_and_disconnected_again_with_a_word_on_each(desk: Desk) -> None:
    desk.found = [Host("one", desk.home), Host("two", desk.home, is_here=False), Host("three", desk.home, ())]
    first = desk.run(connect.connect)
    assert first.return_value == 0
    assert first.stdout.splitlines() == [
        f"  makes {desk.home}/one.json",
        "ONE: connected",
        "  still to do: trust us",
        "  note: look at it",
        "  note: it brings hooks",
        "THREE: has nothing to connect here",
    ]
    assert not (desk.home / "two.json").exists()
    again = json.loads(desk.run(connect.connect, "one", "one", "--json").stdout)
    assert again["hosts"] == [
        {
            "host": "one",
            "outcome": "is connected already",
            "files": [],
            "still_to_do": ["trust us"],
            "notes": ["look at it", "it brings hooks"],
        }
    ]
    gone = desk.run(connect.disconnect)
    assert gone.stdout == f"  removes {desk.home}/one.json\nONE: disconnected\n"
    assert not (desk.home / "one.json").exists()
    assert desk.run(connect.disconnect).stdout == "no agent host is connected\n"
    assert desk.run(connect.disconnect, "one").stdout == "ONE: not connected\n"


def test_a_dry_run_shows_each_line_and_changes_nothing(desk: Desk) -> None:
    (desk.home / "one.json").write_text('{\n  "x": 1\n}\n')
    answer = json.loads(desk.run(connect.connect, "--dry-run", "--json").stdout)
    assert answer["dry_run"] is True
    assert answer["hosts"] == [
        {
            "host": "one",
            "outcome": "would be connected",
            "files": [f"{desk.home}/one.json"],
            "still_to_do": [],
            "notes": [],
        }
    ]
    shown = desk.run(connect.connect, "--dry-run").stdout.splitlines()
    assert shown[0] == f"  changes {desk.home}/one.json"
    assert '    +  "hooks": {' in shown
    assert shown[-1] == "ONE: would be connected"
    assert (desk.home / "one.json").read_text() == '{\n  "x": 1\n}\n'
    desk.run(connect.connect)
    connected = (desk.home / "one.json").read_text()
    would = json.loads(desk.run(connect.disconnect, "--dry-run", "--json").stdout)
    assert would["dry_run"] is True
    assert [one["outcome"] for one in would["hosts"]] == ["would be disconnected"]
    assert (desk.home / "one.json").read_text() == connected


def test_what_is_wrong_with_one_host_is_said_and_the_others_are_connected(desk: Desk) -> None:
    desk.found = [Host("bad", desk.home), Host("one", desk.home)]
    (desk.home / "bad.json").write_text("{")
    done = desk.run(connect.connect)
    assert done.return_value == 1
    assert done.stderr.startswith(f"BAD: not connected: {desk.home}/bad.json is not what its program can read: ")
    assert done.stderr.endswith("\n  nothing was changed; repair the file first\n")
    assert "ONE: connected" in done.stdout
    answer = json.loads(desk.run(connect.connect, "--json").stdout)
    assert (answer["hosts"][0]["outcome"], answer["hosts"][0]["files"]) == ("not connected", [])
    assert answer["hosts"][0]["hint"] == "nothing was changed; repair the file first"
    (desk.home / "one.json").write_text('{"hooks": ')
    left = desk.run(connect.disconnect)
    assert left.return_value == 1
    assert left.stderr.startswith("ONE: still connected: ")


def test_where_no_host_is_here_one_has_to_be_named(desk: Desk) -> None:
    desk.found = []
    error = desk.run(connect.connect).exception
    assert isinstance(error, AgentmError)
    assert (error.message, error.hint) == (
        "no agent host is installed here",
        "name one: `agentm connect claude-code`",
    )


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ((), ("user", {"hooks": True, "mcp": True})),
        (("--scope", "project", "--no-hooks"), ("project", {"hooks": False, "mcp": True})),
        (("--no-mcp", "--yes"), ("user", {"hooks": True, "mcp": False})),
    ],
)
def test_what_is_left_out_is_left_out(desk: Desk, arguments: tuple[str, ...], asked: Any) -> None:
    desk.run(connect.connect, *arguments)
    assert desk.asked == [asked]


def test_another_install_is_replaced_only_when_that_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []

    def plan(_adapter: object, _place: object, *, replace: bool) -> list[Plan]:
        given.append(replace)
        return []

    monkeypatch.setattr(connect, "plan_for", plan)
    desk.run(connect.connect)
    desk.run(connect.connect, "--replace")
    assert given == [False, True]


@pytest.mark.parametrize(
    ("arguments", "is_terminal", "is_asked"),
    [((), True, True), ((), False, False), (("one",), True, False), (("--dry-run",), True, False)],
)
def test_a_person_is_asked_before_everything_is_disconnected(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], is_terminal: bool, is_asked: bool
) -> None:
    desk.run(connect.connect)
    asked: list[Any] = []
    monkeypatch.setattr(connect, "confirm", lambda question, *, yes: asked.append((question, yes)))
    terminal = SimpleNamespace(isatty=lambda: is_terminal)
    monkeypatch.setattr(connect, "sys", SimpleNamespace(stdin=terminal, stdout=SimpleNamespace(isatty=lambda: False)))
    desk.run(connect.disconnect, *arguments)
    assert asked == [("Disconnect 1 agent host?", False)] * is_asked


def test_what_would_be_put_into_files_is_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    both, text = Host("both", desk.home, (HOOK, SERVER)), Host("text", desk.home)
    version = Host("version", desk.home, (Entry(("version",), 1, SET), HOOK))
    own = [Change(str(desk.home / "own.json"), "text", text="ours\n")]
    monkeypatch.setattr(text, "changes", lambda _place: own)
    broken = Host("broken", desk.home)
    (desk.home / "broken.json").write_text("{")
    said = planned_changes([both, version, text, broken], desk.place)
    assert said == "2 hooks, 1 MCP server, 1 setting, 1 own file"
    desk.found = [both]
    desk.run(connect.connect)
    assert planned_changes([both], desk.place) == ""
    both._entries = ()
    assert planned_changes([both], desk.place) == "1 restored file"


def test_a_terminal_gets_lines_that_end_with_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(connect, "sys", SimpleNamespace(stdout=terminal))
    monkeypatch.setattr(connect, "terminal_width", lambda: 20)
    monkeypatch.setattr(connect, "wrapped", lambda text, width: [f"{width}", text])
    say("a sentence", "  ")
    assert capsys.readouterr().out == "  16\n    a sentence\n"


def test_the_files_are_shown_with_what_happens_to_each(capsys: pytest.CaptureFixture[str]) -> None:
    receipt = Receipt("x", "/f", "json", "user", None)
    for old, new in ((None, "a\n"), ("a\n", "b\n"), ("a\n", None), ("a\n", "a\n")):
        show([Plan("/f", old, new, receipt, ["a note"])], dry_run=False)
    assert capsys.readouterr().out.splitlines() == [
        *("  a note", "  makes /f"),
        *("  a note", "  changes /f"),
        *("  a note", "  removes /f"),
        "  a note",
    ]
    show([Plan("/f", "1\n2\n3\na\n5\n6\n", "1\n2\n3\nb\n5\n6\n", receipt)], dry_run=True)
    shown = ["--- /f", "+++ /f", "@@ -3,3 +3,3 @@", " 3", "-a", "+b", " 5"]
    assert capsys.readouterr().out.splitlines() == ["  changes /f", *(f"    {line}" for line in shown)]


# -- setup ------------------------------------------------------------------------------------------------------


@pytest.fixture
def first_run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Any:
    done: list[Any] = []
    state = SimpleNamespace(status="ok", line="a folder", found=desk.found)
    monkeypatch.setattr(setup, "storage_preview", lambda: state)
    monkeypatch.setattr(setup, "chosen_hosts", lambda _device, names, _place: state.found if names == () else None)
    monkeypatch.setattr(setup, "_make_store", lambda _device: done.append("store made"))
    monkeypatch.setattr(setup, "_offer_imports", lambda _device: ["an offer"])
    monkeypatch.setattr(setup, "confirm", lambda question, *, yes, hint: done.append((question, yes, hint)))
    return SimpleNamespace(done=done, state=state, run=lambda *given: desk.run(setup.command, *given))


def test_a_first_run_lists_everything_asks_and_does_it(desk: Desk, first_run: Any) -> None:
    done = first_run.run()
    lines = done.stdout.splitlines()
    assert lines[:2] == ["store: a folder", f"ONE: entries in {desk.home}/one.json"]
    assert lines[-2:] == [
        'to try it: `agentm save "Payments use SQLite"` in a project, then start an agent there',
        "to see that it arrives: `agentm hosts list`",
    ]
    hint = "add --yes to do it without asking; --dry-run shows each line"
    assert first_run.done == [("Make these changes (1 hook, 1 MCP server)?", False, hint), "store made"]
    assert (desk.home / "one.json").exists()
    first_run.done.clear()
    answer = json.loads(first_run.run("--yes", "--json").stdout)
    assert first_run.done == ["store made"], "nothing is asked where nothing changes"
    assert (answer["store"], answer["imports"], answer["dry_run"]) == ("a folder", ["an offer"], False)


def test_a_dry_run_of_setup_does_nothing(desk: Desk, first_run: Any) -> None:
    answer = json.loads(first_run.run("--dry-run", "--json").stdout)
    assert (answer["dry_run"], answer["imports"], first_run.done) == (True, ["an offer"], [])
    assert not (desk.home / "one.json").exists()


def test_setup_says_where_there_is_no_host_and_ends_where_there_is_no_store(first_run: Any) -> None:
    first_run.state.found = []
    assert "no agent host was found: install one, or name it: `agentm connect claude-code`" in first_run.run().stdout
    first_run.done.clear()
    first_run.state.status = "fail"
    error = first_run.run("--yes").exception
    assert isinstance(error, AgentmError)
    assert (error.message, error.hint) == (
        "the store cannot be had",
        "`agentm doctor` says why; nothing was changed",
    )
    assert first_run.done == []


def test_setup_replaces_no_other_install(first_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def connect_all(chosen: object, _place: object, _answer: object, **how: bool) -> int:
        given.append(how)
        return 0

    monkeypatch.setattr(setup, "connect_all", connect_all)
    first_run.run("--yes")
    first_run.run("--dry-run")
    assert given == [{"replace": False, "dry_run": False}, {"replace": False, "dry_run": True}]
