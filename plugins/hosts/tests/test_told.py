"""What people are told about hosts: by the log, after a failure, and where a connection is remembered."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from agentm_hosts.adapters import claude_code, codex, cursor, gemini
from agentm_hosts.check import run as checking
from agentm_hosts.codex_trust import trust_entry
from agentm_hosts.commands import connect, log
from agentm_hosts.connecting import (
    adapter_named,
    carry_out_all,
    connected_place,
    connected_scopes,
    place_for,
    plan_for,
    undoing_plans,
)
from agentm_hosts.files.json_edit import remove
from agentm_hosts.files.receipts import receipt_path
from agentm_hosts.ledger import append, await_session, given_notes
from agentm_hosts.place import Place
from agentm_hosts.settling import Delivery, _held
from agentm_kernel.plugin import AgentmError


def delivery(number: int, **fields: Any) -> Delivery:
    known: dict[str, Any] = {"agent": "", "event": "prompt", "receipt": "r", "length": 1, "notes": (), "cwd": ""}
    known |= {"session": f"session-{number}", "transcript": "", "size": 0, "status": "delivered"}
    return Delivery("claude-code", float(number), **{**known, **fields})


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[Delivery]:
    lines: list[Delivery] = []
    monkeypatch.setattr(log, "current_device", lambda: None)
    monkeypatch.setattr(log, "adapters", lambda device: [claude_code.ADAPTER])
    monkeypatch.setattr(log, "adapter_named", lambda device, name: claude_code.ADAPTER)
    monkeypatch.setattr(log, "settle", lambda device, adapter, *, seconds: lines * (seconds == 1.0))
    monkeypatch.setattr(log, "count_damaged", lambda device, host: 0)
    return lines


def shown(*arguments: str) -> list[list[str]]:
    done = CliRunner().invoke(log.command, arguments)
    assert done.exit_code == 0, done.output
    return [line.split() for line in done.stdout.splitlines()]


def test_the_log_has_a_line_for_each_answer_the_newest_last(logged: list[Delivery]) -> None:
    assert shown() == [["no", "agent", "was", "told", "anything", "yet"]]
    logged += [
        delivery(2, notes=("a/1.md", "a/2.md", "a/3.md")),
        delivery(1, notes=tuple(f"a/{number}.md" for number in range(5)), status="cut"),
        delivery(3, notes=("projects/x/1.md", "personal/2.md"), store="team"),
    ]
    rows = [row[2:] for row in shown()]
    assert rows == [
        ["claude-code", "session-", "prompt", "0.md,", "1.md,", "2.md", "and", "2", "more", "cut"],
        ["claude-code", "session-", "prompt", "1.md,", "2.md,", "3.md", "delivered"],
        ["claude-code", "session-", "prompt", "1.md", "(team),", "2.md", "(default)", "delivered"],
    ]
    assert [row[5] for row in shown("--limit", "1")] == ["1.md"]
    assert len(shown("--limit", "0")) == 1
    assert len(shown("--session", "session-3")) == 1
    assert shown("--session", "other") == shown("--host", "claude-code", "--session", "x")
    assert shown("--session", "other") == [["nothing", "like", "that", "was", "told"]]
    answer = json.loads(CliRunner().invoke(log.command, ["--json"]).stdout)
    assert [line["stores"] for line in answer["lines"]][2] == ["team", "default"]
    assert [line["time"] for line in answer["lines"]] == [1.0, 2.0, 3.0]


def test_the_log_shows_fifty_lines_unless_told_otherwise(logged: list[Delivery]) -> None:
    logged += [delivery(number) for number in range(60)]
    assert (len(shown()), len(shown("--limit", "55"))) == (50, 55)


@pytest.mark.parametrize(("hint", "said"), [("do this", "  do this\n"), (None, "")])
def test_a_host_that_cannot_be_connected_is_said_with_what_to_do(
    hint: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer: dict[str, Any] = {"hosts": []}
    code = connect._say_failure(claude_code.ADAPTER, "not connected", AgentmError("broken", hint=hint), answer)
    assert (code, capsys.readouterr().err) == (1, f"Claude Code: not connected: broken\n{said}")
    told = {"host": "claude-code", "outcome": "not connected", "files": [], "error": "broken", "hint": hint}
    assert answer["hosts"] == [told]


def test_a_receipt_is_found_again_by_the_file_that_it_is_of() -> None:
    """Its name must not change: an upgrade would not know what it has connected."""
    name = hashlib.sha256(b"/home/ana/.claude/settings.json").hexdigest()[:16]
    assert receipt_path("/state", "x", "/home/ana/.claude/settings.json") == f"/state/connections/x-{name}.json"


@pytest.mark.parametrize(("hooks", "mcp"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("host", ["claude-code", "copilot"])
def test_with_what_a_host_was_connected_is_known_afterwards(host: str, hooks: bool, mcp: bool, laptop: Any) -> None:
    device = laptop.device
    adapter = adapter_named(device, host)
    place = place_for(device, hooks=hooks, mcp=mcp)
    assert connected_scopes(device.state_dir, host) == {}
    carry_out_all(place, host, plan_for(adapter, place))
    known = connected_place(device, host)
    assert (known.scope, known.with_hooks, known.with_mcp) == ("user", hooks, mcp)
    assert list(connected_scopes(device.state_dir, host)) == ["user"]
    assert (laptop.state / "connections" / f"{host}.mcp").exists() is mcp


@pytest.mark.parametrize(
    ("found", "code", "is_alone"), [("/bin/unshare", 0, True), ("/bin/unshare", 1, False), (None, 0, False)]
)
def test_a_check_is_without_a_network_where_the_system_lets_it(
    found: str | None, code: int, is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def which(name: str) -> str | None:
        assert name == "unshare"
        return found

    def run(command: list[str], **options: Any) -> Any:
        assert command == ["unshare", "--user", "--map-root-user", "--net", "--", "true"]
        assert (options["timeout"], options["capture_output"]) == (10, True), "what it says is nobody's business"
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(checking, "shutil", SimpleNamespace(which=which))
    monkeypatch.setattr(checking, "subprocess", SimpleNamespace(run=run))
    assert checking._can_be_alone() is is_alone


@pytest.mark.parametrize(
    ("done", "cannot"),
    [
        (subprocess.TimeoutExpired("x", 150), "it did not end within 150 s"),
        (SimpleNamespace(stdout=b"", stderr=b"first\nlast\n"), "last"),
        (SimpleNamespace(stdout=b"", stderr=b""), "it ended without a word"),
    ],
)
def test_a_check_that_cannot_be_made_says_why(done: Any, cannot: str, laptop: Any, monkeypatch: Any) -> None:
    given: list[list[str]] = []

    def run(command: list[str], **options: Any) -> Any:
        given.append(command)
        assert (options["timeout"], options["check"], options["capture_output"]) == (150, False, True)
        if isinstance(done, Exception):
            raise done
        return done

    program = laptop.home / "bin" / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(checking, "_can_be_alone", lambda: True)
    monkeypatch.setattr(checking.subprocess, "run", run)
    found = checking.check_host(laptop.device, claude_code.ADAPTER)
    assert (found.cannot, found.is_alone, found.has_arrived) == (cannot, True, False)
    assert given[0][:5] == ["unshare", "--user", "--map-root-user", "--net", "--"]
    task = json.loads(given[0][-1])
    assert (task["host"], task["program"], task["launcher"]) == ("claude-code", str(program), str(laptop.agentm))
    assert not Path(task["folder"]).exists()


def test_a_check_is_answered_although_its_folder_cannot_be_removed(
    laptop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of the host that still runs may go on writing there."""
    answer = {"places": ["a message"], "receipt": "r1", "seconds": 1.0, "status": "delivered", "cannot": ""}
    tried: list[str] = []

    def is_not_empty(path: str, **_: Any) -> None:
        tried.append(path)
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    program = laptop.home / "bin" / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with monkeypatch.context() as patched:

        def run(_command: list[str], **_: Any) -> Any:
            patched.setattr(os, "rmdir", is_not_empty)
            return SimpleNamespace(stdout=json.dumps(answer).encode())

        patched.setattr(tempfile, "tempdir", str(tmp_path))
        patched.setattr(checking, "_can_be_alone", lambda: False)
        patched.setattr(checking.subprocess, "run", run)
        found = checking.check_host(laptop.device, claude_code.ADAPTER)
    assert tried
    assert (found.places, found.status) == (("a message",), "delivered")


def test_a_text_that_a_session_holds_is_delivered_when_it_is_said_again() -> None:
    lines = [
        delivery(1, session="s", status="delivered"),
        delivery(2, session="s", status="pending"),
        delivery(3, session="other", status="pending"),
        delivery(4, session="s", receipt="q", status="pending"),
        delivery(5, session="s", event="pre-compact", receipt="", status="unknown"),
        delivery(6, session="s", status="pending"),
    ]
    assert _held(lines, {}) == {lines[1].name: "delivered"}
    assert _held(lines, {lines[3].name: "delivered", lines[5].name: "dropped"}) == {lines[1].name: "delivered"}
    assert _held(lines[1:], {lines[1].name: "cut"}) == {}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": [1, 2, 3]}', '{"a": [1, 3]}'),
        ('{"a": [2, 3]}', '{"a": [3]}'),
        ('{"a": [1, 2]}', '{"a": [1]}'),
        ('{"a": [2]}', '{"a": []}'),
        ('{"a": [1, /* two */ 2, 3]}', '{"a": [1 /* two */ , 3]}'),
        ('{"a": [2 /* , */, 3]}', '{"a": [ /* , */ 3]}'),
        ('{"a": [1, // one, two\n 2]}', '{"a": [1 // one, two\n ]}'),
        ('{"a": [/* x */ 2]}', '{"a": [/* x */ ]}'),
        ('{"a": [/* x */ 2], "b": 1}', '{"a": [/* x */ ], "b": 1}'),
    ],
)
def test_what_is_taken_out_of_a_list_takes_one_comma_and_no_comment(text: str, left: str) -> None:
    assert remove(text, ("a",), lambda value: value == 2, comments=True) == (left, True)


@pytest.mark.parametrize(
    ("event", "looks"), [("turn-end", 1), ("session-end", 1), ("prompt", 0), ("session-start", 0)]
)
def test_whether_it_arrived_is_looked_for_at_the_end_of_a_turn_or_session(
    event: str, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr("agentm_hosts.settling.settle", lambda device, adapter: seen.append((device, adapter.name)))
    call: Any = SimpleNamespace(event=event, device="this device")
    claude_code.ADAPTER.afterwards(call)
    assert seen == [("this device", "claude-code")] * looks


def test_a_first_prompt_looks_often_for_the_start_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            append(str(tmp_path), "x", '{"session": "s1", "event": "session-start"}\n')

    monkeypatch.setattr("agentm_hosts.ledger.time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    await_session(str(tmp_path), "x", "s1", 60)
    assert len(waits) == 3
    assert max(waits) <= 0.1, "a person waits for it"


def test_a_comment_that_a_user_put_beside_our_entries_stays_and_nothing_of_us_does(
    tmp_path: Path,
) -> None:
    place = Place(str(tmp_path), {}, "/opt/agentm", str(tmp_path / "state"))
    file = tmp_path / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "theme": "dark"\n}\n')
    carry_out_all(place, "gemini", plan_for(gemini.ADAPTER, place))
    file.write_text(file.read_text().replace('"theme"', '/* mine */ "theme"').replace('"dark"', '"light"'))
    carry_out_all(place, "gemini", undoing_plans(place, "gemini"))
    assert file.read_text() == '{\n  /* mine */ "theme": "light"\n}\n'


@pytest.mark.parametrize("command", [connect.connect, connect.disconnect])
def test_a_scope_is_the_user_s_or_the_project_s(command: Any) -> None:
    done = CliRunner().invoke(command, ["--scope", "everything"])
    assert done.exit_code == 2
    assert "'everything' is not one of 'user', 'project'" in done.stderr


def test_a_version_that_is_there_is_right_and_a_server_of_our_name_is_not_ours_to_change(tmp_path: Path) -> None:
    place = Place(str(tmp_path), {}, "/opt/agentm", str(tmp_path / "state"))
    hooks, servers = tmp_path / ".cursor" / "hooks.json", tmp_path / ".cursor" / "mcp.json"
    hooks.parent.mkdir()
    hooks.write_text('{"version": 2}')
    plans = plan_for(cursor.ADAPTER, place)
    assert json.loads(plans[0].new or "")["version"] == 2
    servers.write_text('{"mcpServers": {"agentm": {"command": "somebody-else"}}}')
    with pytest.raises(AgentmError, match="agentm") as refused:
        plan_for(cursor.ADAPTER, place)
    assert refused.value.hint == "nothing was changed; what stands there is not agentm's"


def test_where_no_host_is_connected_that_is_said(laptop: Any) -> None:
    assert laptop.must("disconnect") == "no agent host is connected\n"


def test_the_hash_by_which_codex_trusts_a_hook_is_the_one_that_codex_makes() -> None:
    place = Place("/home/ana", {}, "/opt/agentm", "/state")
    handler = '{"async":false,"command":"/opt/agentm hook session-start --host codex","timeout":5,"type":"command"}'
    text = f'{{"event_name":"session_start","hooks":[{handler}]}}'
    assert trust_entry(codex.ADAPTER, place, "session-start") == (
        "/home/ana/.codex/hooks.json:session_start:0:0",
        f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
    )


def test_the_end_of_a_long_ledger_is_what_is_known_of_a_session(tmp_path: Path) -> None:
    for number in range(300):
        append(
            str(tmp_path),
            "x",
            json.dumps({"session": f"other-{number}", "event": "prompt", "cwd": "x" * 1_000}) + "\n",
        )
    append(str(tmp_path), "x", '{"session": "s1", "event": "prompt", "notes": ["a.md"]}\n')
    assert tuple(given_notes(str(tmp_path), "x", "s1")) == ("a.md",)
