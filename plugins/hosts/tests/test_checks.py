"""The inside of a check, the folder that hosts install from, and the list of hosts: in this process."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from agentm_hosts import connecting
from agentm_hosts.adapters import claude_code
from agentm_hosts.check import inside
from agentm_hosts.check.scratch import Ran
from agentm_hosts.check.stub import ModelStub
from agentm_hosts.commands import hosts
from agentm_hosts.folder import plugin_files, write_folder
from agentm_hosts.place import Place
from agentm_hosts.report import HostReport
from agentm_kernel.plugin import AgentmError

TASK = {"host": "claude-code", "program": "/bin/claude", "launcher": "/bin/agentm"}


class Question:
    def __init__(self, moment: float, *places: str) -> None:
        self.moment, self._places = moment, list(places)

    def places_of(self, text: str) -> list[str]:
        assert text == inside.CANARY
        return self._places


class Inside:
    """What is around a check: a stub with questions, a program that ran, and what `agentm` answered."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.questions: list[Question] = []
        self.ran = Ran(0, "", 1.0)
        self.codes = {"save": 0, "connect": 0}
        self.lines: list[list[dict[str, str]]] = [[{"receipt": "r1", "status": "delivered"}]]
        self.done: list[Any] = []
        self.slept: list[float] = []
        runner = SimpleNamespace(
            prepare=lambda scratch: self.done.append(("prepared", scratch.home, scratch.stub)),
            grant=lambda _scratch, place: self.done.append(("granted", place.home, place.launcher, place.state_dir)),
        )
        stub = SimpleNamespace(url="http://stub", questions=lambda: self.questions)
        monkeypatch.setattr(inside, "_start_loopback", lambda: self.done.append("loopback"))
        monkeypatch.setattr(inside, "ModelStub", lambda: _Entered(stub))
        monkeypatch.setattr(inside, "runner_of", lambda host: runner if host == "claude-code" else None)
        monkeypatch.setattr(inside, "run", self._run)
        monkeypatch.setattr(inside, "time", SimpleNamespace(monotonic=lambda: 10.0, sleep=self.slept.append))
        monkeypatch.setattr(subprocess, "run", self._agentm)

    def _run(self, _runner: object, program: str, scratch: Any, question: str) -> Ran:
        self.done.append(("ran", program, scratch.project, question))
        return self.ran

    def _agentm(self, words: list[str], **options: Any) -> Any:
        assert (words[0], options["timeout"]) == ("/bin/agentm", 60)
        assert (options["cwd"], options["env"]["HOME"]) == (f"{self.folder}/project", f"{self.folder}/home")
        if words[1] == "log":
            code = 0 if self.lines else 1
            lines = self.lines.pop(0) if self.lines else []
            return SimpleNamespace(returncode=code, stdout=json.dumps({"lines": lines}), stderr="")
        self.done.append((*words[1:], options["input"]))
        return SimpleNamespace(returncode=self.codes[words[1]], stdout="", stderr=" it failed\nhere ")

    def checked(self) -> dict[str, Any]:
        return inside.main({**TASK, "folder": str(self.folder)})


class _Entered:
    def __init__(self, stub: object) -> None:
        self._stub = stub

    def __enter__(self) -> object:
        return self._stub

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inside:
    return Inside(tmp_path, monkeypatch)


def test_a_check_saves_a_note_connects_the_host_and_runs_it_once(check: Inside) -> None:
    check.questions = [Question(11.0), Question(12.346, "a", "b"), Question(13.0, "b", "c")]
    assert check.checked() == {
        "places": ["a", "b", "c"],
        "receipt": "r1",
        "seconds": 2.35,
        "status": "delivered",
        "cannot": "",
    }
    home = f"{check.folder}/home"
    assert check.done == [
        "loopback",
        ("prepared", home, "http://stub"),
        ("save", "--kind", "fact", "--slug", "heron", "The heron pond is served by canary-7c1e-heron.\n"),
        ("connect", "claude-code", ""),
        ("granted", home, "/bin/agentm", f"{home}/.local/state/agentm"),
        ("ran", "/bin/claude", f"{check.folder}/project", "What serves the heron pond?"),
    ]
    assert (check.folder / "project" / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


def test_a_model_that_was_asked_without_the_note_is_no_arrival(check: Inside) -> None:
    check.questions = [Question(11.0)]
    found = check.checked()
    assert (found["places"], found["seconds"], found["cannot"]) == ([], 0.0, "")


@pytest.mark.parametrize(
    ("ran", "why"),
    [
        (Ran(3, "first\nlast words\n", 1.0), "ended with code 3 and asked no model; it said: last words"),
        (Ran(None, "", 1.0), "took too long and asked no model; it said: nothing"),
        (Ran(0, "x" * 300, 1.0), f"ended with code 0 and asked no model; it said: {'x' * 200}"),
    ],
)
def test_a_program_that_asks_no_model_is_said_with_its_last_words(check: Inside, ran: Ran, why: str) -> None:
    check.ran = ran
    assert check.checked() == {
        "places": [],
        "receipt": "",
        "seconds": 0.0,
        "status": "",
        "cannot": f"the program {why}",
    }


@pytest.mark.parametrize("verb", ["save", "connect"])
def test_what_agentm_cannot_do_in_the_scratch_home_is_said(check: Inside, verb: str) -> None:
    check.codes[verb] = 1
    assert check.checked()["cannot"] == f"`agentm {verb}` failed in the scratch home: it failed"
    assert not any(done[0] == "ran" for done in check.done)


def test_what_the_transcript_says_is_waited_for(check: Inside) -> None:
    check.questions = [Question(11.0, "a")]
    silent, waiting = {"receipt": "", "status": "silent"}, {"receipt": "r1", "status": "pending"}
    check.lines = [[], [silent], [silent, waiting], [silent, {**waiting, "status": "cut"}, waiting]]
    found = check.checked()
    assert (found["receipt"], found["status"]) == ("r1", "cut")
    assert check.slept == [0.3] * 3
    check.folder = check.folder / "again"
    check.folder.mkdir()
    check.lines = [[waiting]] * 11
    assert check.checked()["status"] == "pending"
    assert len(check.lines) == 1, "ten looks are enough"


def test_where_no_hook_has_run_that_is_said(check: Inside) -> None:
    check.questions = [Question(11.0, "a")]
    check.lines = []
    found = check.checked()
    assert (found["receipt"], found["status"]) == ("", "no hook has run")
    assert check.slept == [0.3] * 10


@pytest.mark.parametrize(
    ("path", "is_streamed", "count"),
    [
        ("/v1/messages", True, 3),
        ("/v1beta/models/x:generateContent", False, 1),
        ("/v1/chat/completions", False, 1),
        ("/v1/chat/completions", True, 3),
    ],
)
def test_every_part_of_an_answer_belongs_to_the_first_and_only_one(path: str, is_streamed: bool, count: int) -> None:
    with ModelStub() as stub:
        asked = json.dumps({"stream": is_streamed, "messages": []}).encode()
        with urllib.request.urlopen(urllib.request.Request(stub.url + path, asked)) as answer:
            said = answer.read().decode()
    assert re.findall(r'"index": (\d+)', said) == ["0"] * count


# -- the folder -------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_empty_is_written_to_only_if_it_is_ours(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(AgentmError) as refused:
        write_folder(str(tmp_path / "mine"))
    assert refused.value.message == f"{tmp_path / 'mine'} is not empty"
    assert refused.value.hint == "nothing was written; name a new folder"
    (tmp_path / "empty").mkdir()
    for place in ("new", "empty"):
        written = write_folder(str(tmp_path / place))
        assert write_folder(str(tmp_path / place)) == written
        assert written == sorted(written)
        assert all(Path(path).is_file() for path in written)


def test_hooks_and_tools_of_a_plugin_folder_can_each_be_left_out(tmp_path: Path) -> None:
    both = plugin_files("agentm", "claude-code")
    assert set(both) - set(plugin_files("agentm", "claude-code", hooks=False)) == {"hooks/hooks.json"}
    assert set(both) - set(plugin_files("agentm", "claude-code", mcp=False)) == {"mcp.json", ".mcp.json"}
    assert json.loads(both[".mcp.json"]) == {"mcpServers": {"agentm": {"command": "agentm", "args": ["mcp"]}}}
    assert json.loads(both["mcp.json"])["mcpServers"]["agentm"] == {
        "type": "stdio",
        "command": "agentm",
        "args": ["mcp"],
        "env": {},
    }
    write_folder(str(tmp_path / "with"))
    write_folder(str(tmp_path / "without"), mcp=False)
    gemini = [
        json.loads((tmp_path / name / "gemini/gemini-extension.json").read_text()) for name in ("with", "without")
    ]
    assert ["mcpServers" in one for one in gemini] == [True, False]
    assert not (tmp_path / "without" / "plugins/agentm/mcp.json").exists()
    assert (tmp_path / "with" / "plugins/agentm/plugin.json").read_text().startswith('{\n  "$schema": ')


# -- the list ---------------------------------------------------------------------------------------------------


def report(**fields: Any) -> HostReport:
    known: dict[str, Any] = {"host": "x", "title": "X", "proof": "promised", "program": None, "is_present": True}
    known |= {"connected": (), "told": 0, "delivered": 0, "cut": 0, "dropped": 0, "unseen": 0, "last": None}
    return HostReport(**{**known, "open_steps": (), "advice": (), **fields})


def test_each_host_is_listed_with_what_is_known_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        report(connected=("project", "user"), open_steps=("trust us",), advice=("look",)),
        report(host="y", proof="unproven", is_present=False),
        report(host="z", proof="best effort"),
    ]
    monkeypatch.setattr(hosts, "current_device", lambda: None)
    monkeypatch.setattr(hosts, "reports", lambda _device: found)
    shown = CliRunner().invoke(hosts.command, ["list"]).stdout.splitlines()
    assert [" ".join(line.split()) for line in shown] == [
        "x here project, user nothing told yet tested",
        "y not found not connected - not tested",
        "z here not connected - best effort",
        "x: still to do: trust us",
        "x: note: look",
    ]
    answer = json.loads(CliRunner().invoke(hosts.command, ["list", "--json"]).stdout)
    assert [one["host"] for one in answer["hosts"]] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("commands", "project", "said"),
    [
        ([], None, []),
        (["lint"], None, ["brings hooks of its own"]),
        (["agentm hook stop"], None, ["connects agentm itself"]),
        (["agentm hook stop"], "/project", []),
        (["agentm hook stop", "lint"], None, ["brings hooks of its own", "connects agentm itself"]),
    ],
)
def test_hooks_that_a_project_brings_are_told_by_whose_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: list[str], project: str | None, said: list[str]
) -> None:
    root = tmp_path / "project"
    (root / ".claude").mkdir(parents=True)
    groups = [{"hooks": [{"type": "command", "command": command}]} for command in commands]
    (root / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"Stop": groups, "odd": 1}}))
    monkeypatch.setattr(connecting, "find_project_root", lambda _cwd: str(root))
    place = Place(str(tmp_path), {}, "/bin/agentm", str(tmp_path / "state"), project=project)
    found = connecting.hooks_of_the_project(claude_code.ADAPTER, place)
    assert len(found) == len(said)
    assert all(words in line for words, line in zip(said, found, strict=True))
    assert all(str(root / ".claude" / "settings.json") in line for line in found)
    at_home = Place(str(root), {}, "/bin/agentm", str(tmp_path / "state"), project=project)
    assert connecting.hooks_of_the_project(claude_code.ADAPTER, at_home) == []
