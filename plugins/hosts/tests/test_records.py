"""What connecting leaves behind on this device, and what is known from it again: in this process, without a host."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_hosts import connecting
from agentm_hosts.adapters import claude_code, codex
from agentm_hosts.codex_trust import trust_entry, untrusted_hooks
from agentm_hosts.files.connections import carry_out, plan_connection, plan_disconnection
from agentm_hosts.files.reading import SettingsError
from agentm_hosts.files.receipts import read_receipt, receipt_path, receipts
from agentm_hosts.files.recognition import command_of, is_like, program_of
from agentm_hosts.place import SET, Change, Entry, Place
from agentm_kernel.plugin import AgentmError, PluginError

LAUNCHER = "/home/ana/bin/agentm"
HOOK = Entry(("hooks", "Stop"), {"hooks": [{"type": "command", "command": f"{LAUNCHER} hook turn-end --host x"}]})
TABLE = Entry(("mcp_servers", "agentm"), {"command": LAUNCHER, "args": ["mcp"]}, SET)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path), {"PATH": str(tmp_path / "bin")}, LAUNCHER, str(tmp_path / "state"))


# -- whether Codex trusts us ------------------------------------------------------------------------------------


def answering(place: Place, *lines: str) -> Path:
    """A program `codex` that writes down what it is asked, and answers so."""
    program = Path(place.home) / "bin" / "codex"
    program.parent.mkdir(exist_ok=True)
    said = "\n".join(f"echo '{line}'" for line in lines)
    listening = f'for n in 1 2 3; do read -r line; echo "$line" >> {place.home}/asked; done'
    program.write_text(f'#!/bin/sh\necho "$@" > {place.home}/asked\n{listening}\n{said}\n')
    program.chmod(0o755)
    return Path(place.home) / "asked"


def listed(**statuses: str) -> str:
    hooks = [
        {"eventName": name, "command": f"{LAUNCHER} hook x --host codex", "trustStatus": status}
        for name, status in statuses.items()
    ]
    others = [
        {"eventName": "theirs", "command": "lint hook x", "trustStatus": "untrusted"},
        {"eventName": "claude", "command": f"{LAUNCHER} hook x --host claude-code", "trustStatus": "untrusted"},
        {"eventName": "unsaid", "command": f"{LAUNCHER} hook x --host codex"},
    ]
    return json.dumps({"id": 2, "result": {"data": [{"hooks": others + hooks}]}})


def test_codex_is_asked_which_of_our_hooks_it_trusts(place: Place) -> None:
    asked = answering(place, "no JSON", '{"id": 1, "result": {}}', "[2]", listed(start="trusted", stop="modified"))
    assert untrusted_hooks(codex.ADAPTER, place) == ["stop"]
    words, *requests = asked.read_text().splitlines()
    assert words == "app-server"
    assert [json.loads(line) for line in requests] == [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "agentm", "version": "0"}},
        },
        {"jsonrpc": "2.0", "method": "initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "hooks/list", "params": {"cwds": [place.home]}},
    ]


@pytest.mark.parametrize("answer", ["", '{"id": 2, "result": {}}', listed(), '{"id": 3, "result": {}}'])
def test_where_codex_says_nothing_of_our_hooks_its_file_does(place: Place, answer: str) -> None:
    answering(place, answer)
    assert untrusted_hooks(codex.ADAPTER, place) == list(codex.ADAPTER.hooks)
    folder = Path(place.home) / ".codex"
    folder.mkdir()
    text = ""
    for event in codex.ADAPTER.hooks:
        key, digest = trust_entry(codex.ADAPTER, place, event)
        text += f'[hooks.state."{key}"]\ntrusted_hash = "{digest if event != "prompt" else "another"}"\n'
    (folder / "config.toml").write_text(text)
    assert untrusted_hooks(codex.ADAPTER, place) == ["prompt"]


@pytest.mark.parametrize("text", ["hooks = 1\n", "[hooks]\nstate = 1\n", "[hooks.state]\nx = 1\n", "no toml"])
def test_an_odd_file_of_codex_trusts_nothing(place: Place, text: str) -> None:
    (Path(place.home) / ".codex").mkdir()
    (Path(place.home) / ".codex" / "config.toml").write_text(text)
    assert untrusted_hooks(codex.ADAPTER, place) == list(codex.ADAPTER.hooks)


def test_codex_is_not_asked_where_nobody_waits_for_it(place: Place) -> None:
    asked = answering(place, listed(start="trusted"))
    patient = Place(place.home, place.environ, LAUNCHER, place.state_dir, patience=0)
    assert untrusted_hooks(codex.ADAPTER, patient) == list(codex.ADAPTER.hooks)
    assert not asked.exists()


# -- files of hosts ---------------------------------------------------------------------------------------------


def test_what_was_put_where_is_in_the_receipt(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "settings.json"
    change = Change(str(file), "json", (HOOK,))
    carry_out(plan_connection(change, place, "x", replace=False), place)
    ((path, found),) = receipts(place.state_dir)
    assert path == receipt_path(place.state_dir, "x", str(file))
    assert (found.host, found.path, found.format, found.scope) == ("x", str(file), "json", "user")
    assert (found.before, found.program) == (None, LAUNCHER)
    assert found.folders == [str(file.parent), str(file.parent.parent)]
    assert found.entries == [{"path": ["hooks", "Stop"], "value": HOOK.value, "how": "append"}]
    assert found.made == [["hooks"]]
    again = plan_connection(change, place, "x", replace=False)
    assert (again.is_change, again.receipt.folders) == (False, found.folders)
    assert list(receipts(place.state_dir, "y")) == []
    carry_out(plan_disconnection(found), place)
    assert not (tmp_path / "deep").exists()
    assert list(receipts(place.state_dir)) == []


def test_a_folder_with_files_of_others_stays_and_so_do_those_above_it(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "settings.json"
    carry_out(plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False), place)
    (file.parent / "mine").touch()
    ((_, found),) = receipts(place.state_dir)
    carry_out(plan_disconnection(found), place)
    assert [path.name for path in file.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("was_connected", [True, False])
def test_a_connection_that_fails_leaves_the_receipt_of_before(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_connected: bool
) -> None:
    file = tmp_path / "settings.json"
    file.write_text("{}")
    if was_connected:
        carry_out(plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False), place)
    before = read_receipt(receipt_path(place.state_dir, "x", str(file)))
    plan = plan_connection(Change(str(file), "json", (HOOK, TABLE)), place, "x", replace=False)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentm_hosts.files.connections.write_unless_changed", full)
    with pytest.raises(OSError, match="No space left"):
        carry_out(plan, place)
    assert read_receipt(receipt_path(place.state_dir, "x", str(file))) == before
    assert (before is None) is not was_connected


@pytest.mark.parametrize(("call", "word"), [("mkstemp", "written"), ("replace", "written"), ("unlink", "removed")])
def test_a_file_that_cannot_be_written_is_refused_and_what_was_done_before_it_is_said(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, word: str
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    plans = [
        plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False) for file in (first, second)
    ]
    if word == "removed":
        connecting.carry_out_all(place, "x", plans)
        plans = sorted(connecting.undoing_plans(place, "x"), key=lambda plan: plan.path)
    real = {"mkstemp": tempfile.mkstemp, "replace": os.replace, "unlink": os.unlink}[call]

    def refuse(*given: Any, **named: Any) -> Any:
        is_second = named.get("dir") == str(tmp_path) and first.exists()
        if not is_second and str(second) not in given:
            return real(*given, **named)  # type: ignore[operator]
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(tempfile if call == "mkstemp" else os, call, refuse)
    with pytest.raises(SettingsError) as refused:
        connecting.carry_out_all(place, "x", plans)
    assert refused.value.message == f"{second} cannot be {word}: Operation not permitted"
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("nothing was changed in it")
    assert refused.value.hint.endswith(f"; before it, {first} was changed: run this again")
    assert first.exists() is (word == "written")
    assert second.exists() is (word == "removed")


@pytest.mark.parametrize("before", ["{}", None])
def test_a_file_that_came_or_went_meanwhile_was_changed(place: Place, tmp_path: Path, before: str | None) -> None:
    file = tmp_path / "settings.json"
    if before is not None:
        file.write_text(before)
    plan = plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False)
    file.write_text('{"theirs": 1}') if before is None else file.unlink()
    with pytest.raises(SettingsError) as refused:
        carry_out(plan, place)
    assert refused.value.message == f"{file} was changed meanwhile"
    assert refused.value.hint == "nothing was changed in it; run this again"
    assert not file.exists() or file.read_text() == '{"theirs": 1}'
    assert list(receipts(place.state_dir)) == []


def test_a_file_is_whole_on_the_disk_before_it_takes_its_place_and_the_umask_stays(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: sizes.append(os.fstat(file).st_size))
    file = tmp_path / "settings.json"
    umask = os.umask(0o027)
    try:
        carry_out(plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False), place)
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert file.stat().st_size in sizes


def test_an_entry_of_ours_that_is_gone_is_said_when_we_go(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"x": 1}')
    carry_out(plan_connection(Change(str(file), "json", (HOOK,)), place, "x", replace=False), place)
    file.write_text('{"x": 2}')
    ((_, found),) = receipts(place.state_dir)
    plan = plan_disconnection(found)
    assert plan.notes == [f"{file}: hooks.Stop no longer has our entry"]
    assert (plan.is_change, plan.connects) == (False, False)
    file.write_text('{"x":')
    with pytest.raises(SettingsError) as refused:
        plan_disconnection(found)
    assert refused.value.message.startswith(f"{file} cannot be taken apart: line 1, column 6: ")
    assert refused.value.hint == "nothing was changed; repair it and run this again"


def test_a_file_of_ours_that_was_changed_is_left_and_said(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "hooks" / "agentm.json"
    carry_out(plan_connection(Change(str(file), "text", text="ours\n"), place, "x", replace=False), place)
    file.write_text("theirs\n")
    ((_, found),) = receipts(place.state_dir)
    plan = plan_disconnection(found)
    assert plan.notes == [f"{file} was changed by somebody and is left: remove it yourself if you like"]
    carry_out(plan, place)
    assert file.read_text() == "theirs\n"
    assert len(list(receipts(place.state_dir))) == 1


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"host": "x"}', '{"odd": 1}'])
def test_a_receipt_that_cannot_be_read_is_none(place: Place, tmp_path: Path, text: str) -> None:
    (tmp_path / "receipt.json").write_text(text)
    assert read_receipt(str(tmp_path / "receipt.json")) is None


@pytest.mark.parametrize(
    ("value", "program", "command"),
    [
        ("agentm hook stop", "agentm", "hook stop"),
        ("agentm hook", "", ""),
        ("/x/agentm.exe mcp", "/x/agentm.exe", "mcp"),
        ("agentm event turn-start", "agentm", "hook prompt"),
        ("agentm 'hook", "", ""),
        ("agentm hook 'x", "agentm", "hook 'x"),
        (["agentm", 3, "mcp"], "agentm", "mcp"),
        ({"command": "my agentm", "args": ["mcp"]}, "", ""),
        ({"command": "/my dir/agentm", "args": ["mcp"]}, "/my dir/agentm", "mcp"),
        ({"bash": "agentm hook stop"}, "agentm", "hook stop"),
        ({"hooks": [{"command": "agentm mcp"}, {"command": "lint"}]}, "", ""),
        ({"hooks": [{"command": "a/agentm mcp"}, {"command": "b/agentm mcp"}]}, "", "mcp"),
        ({"hooks": []}, "", ""),
        ({"hooks": "agentm mcp"}, "", ""),
        (3, "", ""),
    ],
)
def test_what_an_entry_starts_is_known(value: Any, program: str, command: str) -> None:
    assert (program_of(value), command_of(value)) == (program, command)


def test_an_entry_is_ours_if_it_is_the_same_or_starts_us_for_the_same() -> None:
    assert is_like({"version": 1})({"version": 1})
    assert not is_like({"version": 1})({"version": 2})
    assert is_like("agentm mcp")({"command": "/other/agentm", "args": ["mcp"]})
    assert not is_like("agentm mcp")("agentm hook stop")


# -- what is connected ------------------------------------------------------------------------------------------


def device(tmp_path: Path, *hosts: str, **more: Any) -> Any:
    records = {"agentm.hosts": hosts, "agentm.commands": ("mcp",)}
    plugins = SimpleNamespace(of=lambda group: [SimpleNamespace(name=name) for name in records.get(group, ())])
    known = {"plugins": plugins, "home": str(tmp_path), "environ": {}, "state_dir": str(tmp_path / "state")}
    return SimpleNamespace(**{**known, "config": {}, **more})


def test_the_best_proven_hosts_come_first_and_one_that_cannot_be_loaded_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proofs = {"d": "promised", "c": "best effort", "b": "unproven", "a": "hoped for", "e": "promised"}

    def load(_device: object, group: str, name: str) -> Any:
        assert group == "agentm.hosts"
        if name == "odd":
            return "no adapter"
        adapter = claude_code.ClaudeCode()
        adapter.name, adapter.proof = name, proofs[name]
        return adapter

    monkeypatch.setattr(connecting, "load_plugin", load)
    found = connecting.adapters(device(tmp_path, "odd", *proofs))
    assert [adapter.name for adapter in found] == ["d", "e", "c", "b", "a"]
    assert capsys.readouterr().err == "agentm: the adapter 'odd' is not a HostAdapter\n"
    with pytest.raises(PluginError) as near:
        connecting.adapter_named(device(tmp_path, "codex", "cursor"), "coddex")
    assert near.value.message == "there is no agent host 'coddex': did you mean codex?"
    assert near.value.hint == "`agentm hosts list` shows all of them"


def test_the_command_is_the_one_that_was_called_or_is_on_the_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "agentm"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setattr("sys.argv", [str(program)])
    elsewhere = device(tmp_path, environ={"PATH": str(tmp_path)})
    with pytest.raises(AgentmError, match="not on the search path") as missing:
        connecting.launcher(elsewhere)
    assert missing.value.hint == "install it with `uv tool install agentm-memory` or pipx, and open a new shell"
    program.chmod(0o755)
    assert connecting.launcher(elsewhere) == str(program)
    monkeypatch.setattr("sys.argv", ["/usr/bin/python"])
    assert connecting.launcher(device(tmp_path, environ={"PATH": str(program.parent)})) == str(program)


@pytest.mark.parametrize(
    ("path", "folder", "is_below"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a", "/a/b", False)],
)
def test_a_path_is_in_a_folder_or_is_it(path: str, folder: str, is_below: bool) -> None:
    assert connecting.is_below(path, folder) is is_below


@pytest.mark.parametrize(
    ("with_mcp", "connects", "project", "is_marked"),
    [(True, True, None, True), (False, True, None, False), (True, False, None, False), (False, True, "/p", True)],
)
def test_hooks_know_whether_our_tools_are_connected_for_the_user(
    tmp_path: Path, with_mcp: bool, connects: bool, project: str | None, is_marked: bool
) -> None:
    place = Place(str(tmp_path), {}, LAUNCHER, str(tmp_path / "state"), project=project, with_mcp=with_mcp)
    mark = tmp_path / "state" / "connections" / "x.mcp"
    mark.parent.mkdir(parents=True)
    mark.touch()
    plan = plan_connection(Change(str(tmp_path / "s.json"), "json", (HOOK,)), place, "x", replace=False)
    plan.connects = connects
    connecting.carry_out_all(place, "x", [plan])
    assert mark.exists() is is_marked
    connecting.carry_out_all(place, "x", [])
    assert mark.exists() is (project is not None)
