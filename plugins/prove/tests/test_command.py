"""`agentm prove` and its trials of hosts, with stand-ins for the run: what is tried, said and answered."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentm_kernel.plugin import AgentmError, StorageIOError
from agentm_prove import command, hosts, run as running
from agentm_prove.report import write_report
from agentm_prove.trial import Finding, NotTried, Trial


def test_a_host_is_asked_first_and_its_program_started_then(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    monkeypatch.setattr(hosts, "project_with_plan", lambda _laboratory: "a home")

    def text(home: object, options: object) -> str:
        done.append((home, options))
        return "a text"

    monkeypatch.setattr(hosts, "session_text", text)
    monkeypatch.setattr(hosts, "check_named", lambda home, text, who: done.append((home, text, who)))
    monkeypatch.setattr(hosts, "_check_program", done.append)
    said = hosts._try_host("codex", None)  # type: ignore[arg-type]
    assert said == "its adapter answers with the project's plan; its program was started, and its model got the text"
    asked = [("a home", ("--host", "codex")), ("a home", "a text", "the answer for codex")]
    assert done == [*asked, "codex"]
    done.clear()
    with pytest.raises(NotTried) as reason:
        hosts._try_adapters(["codex", "cursor"], None)  # type: ignore[arg-type]
    assert str(reason.value) == (
        "not connected here, so no program was started: codex, cursor; what agentm answers them is right"
    )
    assert len(done) == 4


class Run:
    """A run whose findings a test gives."""

    kind, names, remarks = "device-local on ext4", ["one", "two"], ("a remark",)
    found: tuple[Any, ...] = ()
    which: tuple[bool, bool] = (False, False)

    def __init__(self, _device: object, *, with_store: bool, with_hosts: bool) -> None:
        Run.which = (with_store, with_hosts)

    def keep_only(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name not in self.names), None)

    def findings(self) -> Iterator[tuple[Trial, Finding | None]]:
        for found in self.found:
            if isinstance(found, BaseException):
                raise found
            yield Trial(found.name, found.promise, lambda _: ""), found

    def write_report(self, findings: list[Finding], where: str | None) -> str:
        return where or f"/report of {len(findings)}"


def finding(state: Any) -> Finding:
    return Finding("one", "nothing is lost", state, "it was seen", 1.234)


@pytest.fixture
def prove(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(running, "Run", Run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def invoke(*arguments: str, found: tuple[Any, ...] = (finding("kept"),)) -> Result:
        monkeypatch.setattr(Run, "found", found)
        return CliRunner().invoke(command.command, arguments, standalone_mode=False)

    return invoke


@pytest.mark.parametrize(
    ("arguments", "which"),
    [
        ((), (True, True)),
        (("--store",), (True, False)),
        (("--hosts",), (False, True)),
        (("--store", "--hosts"), (True, True)),
    ],
)
def test_everything_is_tried_unless_one_half_is_asked_for(prove: Any, arguments: Any, which: Any) -> None:
    prove(*arguments)
    assert Run.which == which


@pytest.mark.parametrize(
    ("states", "code"),
    [(["kept"], 0), (["kept", "not tried"], 0), (["kept", "broken"], 1), (["not tried"], 1), ([], 1)],
)
def test_it_fails_where_a_promise_is_broken_or_nothing_could_be_tried(prove: Any, states: Any, code: int) -> None:
    done = prove("--json", found=tuple(map(finding, states)))
    assert done.return_value == code
    answer = json.loads(done.stdout)
    assert answer["ok"] is (code == 0)
    assert (answer["store"], answer["remarks"]) == ("device-local on ext4", ["a remark"])
    assert answer["report"] == f"/report of {len(states)}"
    fields = {"name": "one", "promise": "nothing is lost", "saw": "it was seen", "seconds": 1.23}
    assert answer["trials"] == [{**fields, "state": state} for state in states]
    assert 0 <= answer["seconds"] < 60


def test_people_are_shown_each_outcome_and_the_report(prove: Any) -> None:
    lines = prove("--report", "/r.md", found=(finding("kept"), finding("broken"), finding("not tried"))).stdout
    assert lines.splitlines() == [
        "ok     1.2 s  nothing is lost: it was seen",
        "FAIL   1.2 s  nothing is lost: it was seen",
        "SKIP   1.2 s  nothing is lost: it was seen",
        "note: a remark",
        "1 kept, 1 broken, 1 could not be tried here; 0 s; report: /r.md",
    ]


@pytest.mark.parametrize("ended", [KeyboardInterrupt(), command._Ended()])
def test_who_ends_it_is_told_that_nothing_is_left(prove: Any, ended: BaseException) -> None:
    error = prove(found=(ended,)).exception
    assert isinstance(error, AgentmError)
    assert error.message == "ended before all was tried; nothing was left behind"


def test_a_trial_that_there_is_not_is_named_with_those_that_there_are(prove: Any) -> None:
    assert (
        str(prove("--only", "one", "--only", "three").exception) == "no trial is called 'three'; there are one, two"
    )


@pytest.mark.parametrize("where", ["/r.md", None])
def test_a_report_that_nobody_asked_for_and_cannot_be_written_is_a_remark(
    where: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise StorageIOError("the report cannot be written: no room")

    monkeypatch.setattr(running, "write_report", fails)
    made = running.Run.__new__(running.Run)
    made._device, made.kind, made.remarks = None, "none", ()  # type: ignore[assignment]
    if where:
        with pytest.raises(StorageIOError):
            made.write_report([], where)
    else:
        assert made.write_report([], None) is None
    assert made.remarks == (() if where else ("the report cannot be written: no room",))


def test_of_many_reports_the_latest_ten_are_kept_where_only_this_user_looks(tmp_path: Path) -> None:
    device: Any = SimpleNamespace(home=str(tmp_path), state_dir=str(tmp_path), plugins=SimpleNamespace(records=()))
    folder = Path(write_report(device, [], [], "none", None)).parent
    assert (folder, folder.stat().st_mode & 0o777) == (tmp_path / "prove", 0o700)
    for number in range(12):
        (folder / f"2020010{number:02}T000000-1.md").touch()
    path = write_report(device, [], [], "none", None)
    kept = sorted(file.name for file in folder.iterdir())
    assert kept[-1] == Path(path).name
    assert len(kept) <= 10


def test_a_report_goes_where_it_was_asked_for_or_says_why_it_cannot(tmp_path: Path) -> None:
    device: Any = SimpleNamespace(home=str(tmp_path), state_dir=str(tmp_path), plugins=SimpleNamespace(records=()))
    assert write_report(device, [], [], "none", str(tmp_path / "r.md")) == str(tmp_path / "r.md")
    (tmp_path / "file").touch()
    with pytest.raises(StorageIOError) as failed:
        write_report(device, [], [], "none", str(tmp_path / "file" / "r.md"))
    assert failed.value.message.startswith("the report cannot be written: ")
    assert failed.value.hint == "name another file with --report FILE"
