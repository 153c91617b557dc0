"""What the server says to a host, well-behaved or not."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from mcp_host import COMMAND, ENVELOPE, Home, Host

SLOW = """
import os, subprocess, sys, time
from agentm_kernel.plugin import Tool

def slow(call, seconds="9"):
    for step in range(int(float(seconds) * 20)):
        call.progress(step, 20, "working")
        time.sleep(0.05)
    return {"status": "done"}

def hang(call):
    time.sleep(3)
    return {"status": "done"}

def noisy(call):
    print("hello from print")
    sys.__stdout__.write("hello from the real stdout\\n"); sys.__stdout__.flush()
    os.write(1, b"hello from the descriptor\\n")
    subprocess.run(["echo", "hello from a program"])
    taken = subprocess.run(["cat"], capture_output=True).stdout
    return {"status": "done", "taken": len(taken)}

def broken(call):
    raise KeyError("no such thing")

def leaves(call):
    sys.exit(3)

def wrong(call):
    return 7

SLOW = Tool("slow", "slow", slow, {"seconds": {"type": "string"}}, seconds=20.0)
HANG = Tool("hang", "hangs", hang, seconds=0.3)
NOISY = Tool("noisy", "prints", noisy)
BROKEN = Tool("broken", "raises", broken)
LEAVES = Tool("leaves", "exits", leaves)
WRONG = Tool("wrong", "answers wrongly", wrong)
print("hello from the import")
"""
READING = {"memory_read", "memory_recall", "memory_search", "plan_read", "restore_memory"}
WRITING = {"checkpoint_memory", "memory_append", "memory_feedback", "memory_save", "progress_append"}
TOOLS = {"slow": "SLOW", "hang": "HANG", "noisy": "NOISY", "broken": "BROKEN", "leaves": "LEAVES", "wrong": "WRONG"}


@pytest.fixture
def with_plugin(home: Home) -> Home:
    home.plugin("oddtools", SLOW, **TOOLS)
    return home


# ------------------------------------------------------------------------------------------------ two eras


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_known_version_of_the_handshake_is_echoed(home: Home, version: str) -> None:
    with Host(home) as host:
        result = host.initialize(version)
        assert result["protocolVersion"] == version
        assert result["serverInfo"]["name"] == "agentm"
        assert result["instructions"].count(". ") == 2  # three sentences
        assert "resultType" not in host.request("tools/list")["result"]


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "", 7, None])
def test_any_other_is_answered_with_the_newest_of_that_era(home: Home, version: object) -> None:
    with Host(home) as host:
        answer = host.request("initialize", protocolVersion=version, capabilities={}, clientInfo={})
        assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_the_later_era_needs_no_handshake_and_stamps_its_results(home: Home) -> None:
    with Host(home) as host:
        found = host.request("server/discover", _modern=True)["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        assert found["resultType"] == "complete"
        assert found["ttlMs"] == 0
        assert found["cacheScope"] == "private"
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "agentm"
        listed = host.request("tools/list", _modern=True)["result"]
        assert listed["resultType"] == "complete"
        called = host.request("tools/call", _modern=True, name="memory_recall", arguments={})["result"]
        assert called["resultType"] == "complete"
        assert "ttlMs" not in called


def test_a_later_version_still_is_named_with_what_is_spoken(home: Home) -> None:
    with Host(home) as host:
        meta = {**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        error = host.request("server/discover", _meta=meta)["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}
        handshake = host.request("initialize", _meta=meta, protocolVersion="2031-01-01", capabilities={})
        assert handshake["result"]["protocolVersion"] == "2025-11-25"


# ------------------------------------------------------------------------------------------------ bad messages


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (b"[" * 100_000, -32700),
        (b"9" * 10_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"agentm://../x"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"agentm://_meta/store.json"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"agentm://no-such-note.md"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":[1]}}', -32602),
    ],
)
def test_what_is_no_request_is_an_error_and_the_next_one_works(host: Host, line: bytes, code: int) -> None:
    host.send_raw(line + b"\n")
    answer = host.read()
    assert answer is not None
    assert answer["error"]["code"] == code
    assert host.request("ping")["result"] == {}


def test_a_message_that_is_too_long_is_read_over(host: Host) -> None:
    host.send_raw(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"' + b"a" * 9_000_000 + b'"}}\n')
    answer = host.read()
    assert answer is not None
    assert "at most" in answer["error"]["message"]
    assert host.request("ping")["result"] == {}


def test_answers_and_notifications_that_nobody_waits_for_are_let_be(host: Host) -> None:
    host.send({"jsonrpc": "2.0", "id": "agentm-roots-99", "result": {"roots": 7}})
    host.send({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}})
    host.notify("notifications/of/something")
    host.notify("notifications/cancelled", requestId=12345)
    host.notify("notifications/cancelled", requestId=[1])
    host.send_raw(b"\n   \n")
    assert host.request("ping")["result"] == {}


def test_half_a_surrogate_pair_comes_back_as_it_went(host: Host) -> None:
    host.send_raw(b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n')
    assert host.answer_to("\ud800")["result"] == {}
    assert "not valid Unicode" in host.failure("memory_search", query="\ud800")


def test_a_last_line_without_its_end_is_answered_too(home: Home) -> None:
    with Host(home) as host:
        host.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert host.process.stdin is not None
        host.process.stdin.close()
        assert host.answer_to(1)["result"] == {}


# ------------------------------------------------------------------------------------------------ misbehaving tools


def test_nothing_but_protocol_is_on_standard_output_whatever_a_plugin_prints(with_plugin: Home) -> None:
    with Host(with_plugin) as host:
        host.initialize()
        assert "noisy" in {tool["name"] for tool in host.request("tools/list")["result"]["tools"]}
        answer = host.fields("noisy")  # every line that comes is parsed as a message
        assert answer == {"status": "done", "taken": 0}  # the program got nothing of ours on its standard input
        assert host.request("ping")["result"] == {}
        assert host.close() == 0
        said = "".join(host.errors)
        for what in ("print", "the real stdout", "the descriptor", "a program", "the import"):
            assert f"hello from {what}" in said


def test_a_failing_tool_is_a_tool_error_that_names_the_plugin(with_plugin: Home) -> None:
    with Host(with_plugin) as host:
        assert "'broken' of oddtools 1.0 failed in a call: KeyError: 'no such thing'" in host.failure("broken")
        assert "sys.exit(3)" in host.failure("leaves")
        assert "error: the tool 'wrong' of oddtools" in host.failure("wrong")
        assert "has no argument 'x'" in host.failure("noisy", x=1)
        assert host.request("ping")["result"] == {}


def test_a_tool_that_cannot_be_imported_costs_nobody_else_anything(home: Home) -> None:
    home.plugin("halftools", "raise ImportError('no such library')", half="HALF")
    with Host(home) as host:
        host.initialize()
        names = {tool["name"] for tool in host.request("tools/list")["result"]["tools"]}
        assert "half" not in names
        assert "memory_save" in names
        assert "no such library" in host.failure("half")
        assert any("no such library" in line for line in host.errors)


def test_a_tool_whose_module_hangs_is_named_and_costs_the_others_nothing(home: Home) -> None:
    home.plugin("rogue", "import time\ntime.sleep(60)\n", rogue="TOOL")
    with Host(home) as host:
        host.initialize()
        listed = {tool["name"] for tool in host.request("tools/list")["result"]["tools"]}
        assert "plan_read" in listed
        assert "rogue" not in listed
        assert "the tool 'rogue' of rogue 1.0 is late: its import took more than 1.5 s" in host.failure("rogue")
        assert "project: widgets" in host.call("plan_read")
        assert "'rogue' of rogue 1.0 is late" in "".join(host.errors)


def test_a_tool_that_hangs_does_not_keep_the_server_from_ending(home: Home) -> None:
    code = (
        "import time\nfrom agentm_kernel.plugin import Tool\n"
        "TOOL = Tool('rogue', 'hangs', lambda call: time.sleep(60), seconds=0.3)\n"
    )
    home.plugin("rogue", code, rogue="TOOL")
    with Host(home) as host:
        host.initialize()
        assert "took more than 0.3 s" in host.failure("rogue")
        assert host.close() == 0
        assert host.errors == []


def test_a_late_tool_is_answered_and_does_not_hold_up_the_next(with_plugin: Home) -> None:
    with Host(with_plugin) as host:
        started = time.monotonic()
        assert "took more than 0.3 s" in host.failure("hang")
        assert host.fields("noisy")["status"] == "done"
        assert time.monotonic() - started < 2.9
        for _ in range(7):
            host.failure("hang")
        refused = host.request("tools/call", name="hang", arguments={})
        assert "8 earlier calls hang" in str(refused)


def test_a_cancelled_call_stops_and_is_not_answered(with_plugin: Home) -> None:
    with Host(with_plugin) as host:
        host.send({"jsonrpc": "2.0", "id": 91, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
        host.send({"jsonrpc": "2.0", "id": 92, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
        duplicate = {"jsonrpc": "2.0", "id": 92, "method": "tools/list", "params": {}}
        time.sleep(0.3)
        host.send(duplicate)
        answer = host.read()
        assert answer is not None
        assert "still being worked on" in answer["error"]["message"]
        started = time.monotonic()
        host.notify("notifications/cancelled", requestId=92, reason="changed my mind")
        host.notify("notifications/cancelled", requestId=91)
        assert host.fields("noisy")["status"] == "done"
        assert time.monotonic() - started < 3
        assert host._kept == {}  # neither of the two was answered


def test_progress_is_told_to_whoever_asks_for_it(with_plugin: Home) -> None:
    with Host(with_plugin) as host:
        arguments = {"seconds": "0.2"}
        host.request("tools/call", name="slow", arguments=arguments, _meta={"progressToken": "p1"})
        told = [message["params"] for message in host.asked if message["method"] == "notifications/progress"]
        assert [step["progress"] for step in told] == [0, 1, 2, 3]
        assert {step["progressToken"] for step in told} == {"p1"}
        host.asked.clear()
        host.call("slow", **arguments)
        assert host.asked == []


def test_two_plugins_with_one_tool_are_both_named(home: Home) -> None:
    home.plugin("oddtools", SLOW, slow="SLOW")
    home.plugin("eventools", SLOW, slow="SLOW")
    with Host(home) as host:
        assert "claimed by eventools and oddtools" in host.failure("slow")


def test_a_tool_that_the_policy_keeps_out_is_not_there(with_plugin: Home) -> None:
    assert with_plugin.agentm("config", "set", "plugin_policy.disabled", "oddtools").returncode == 0
    with Host(with_plugin) as host:
        assert "slow" not in str(host.request("tools/list"))
        assert "plugin_policy" in host.failure("slow")


# ------------------------------------------------------------------------------------------------ its life


def test_the_server_ends_when_its_host_does(home: Home) -> None:
    with Host(home) as host:
        host.initialize()
        started = time.monotonic()
        assert host.close() == 0
        assert time.monotonic() - started < 2


@pytest.mark.skipif(os.name == "nt", reason="a pipe without a reader is told differently there")
def test_a_host_that_stops_reading_ends_it(home: Home) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE, cwd=home.project, env=home.environ
    )
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        for _ in range(2):  # the first answer finds nobody there, and the next line is not waited for
            process.stdin.write(b'{"jsonrpc":"2.0","id":5,"method":"ping"}\n')
            process.stdin.flush()
            time.sleep(0.2)
    except BrokenPipeError:
        pass
    assert process.wait(timeout=10) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    try:
        process.stdin.close()
    except BrokenPipeError:
        pass


def test_a_store_that_vanishes_is_noticed_and_its_return_too(host: Host, home: Home) -> None:
    host.fields("memory_save", title="Kept", body="before it went")
    away = home.root.rename(home.path / "away")
    home.root.mkdir()
    assert "error:" in host.failure("memory_search", query="kept")
    assert "error:" in host.failure("memory_save", title="Lost", body="into another store")
    assert list(home.root.rglob("*.md")) == []
    home.root.rmdir()
    away.rename(home.root)
    assert "facts/kept" in host.call("memory_search", query="kept")


def test_help_is_there_for_people(home: Home) -> None:
    done = home.agentm("mcp", "--help")
    assert done.returncode == 0
    assert "agent host" in done.stdout


def test_the_list_of_tools_is_small_and_honest(home: Home) -> None:
    with Host(home) as host:
        host.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}})
        answer = host.answer_to(1)
        assert len(json.dumps(answer, separators=(",", ":")).encode()) <= 4800
        tools = {tool["name"]: tool for tool in answer["result"]["tools"]}
        assert set(tools) == READING | WRITING
        for name, tool in tools.items():
            is_writing = name in WRITING
            hints = {"destructiveHint": False, "openWorldHint": False} if is_writing else {"readOnlyHint": True}
            assert tool["annotations"] == hints, name
            assert len(tool["description"]) > 40


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not say what is resident")
def test_a_server_that_has_listed_its_tools_is_small(home: Home) -> None:
    with Host(home) as host:
        host.initialize()
        host.request("tools/list")
        lines = Path(f"/proc/{host.process.pid}/status").read_text().splitlines()
    assert next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) <= 20 * 1024


def test_no_framework_is_imported_to_serve(home: Home, tmp_path: Path) -> None:
    """`pip install agentm-mcp` alone brings none; here they are installed, and must not be touched all the same."""
    home.plugin(
        "modules",
        "import sys\nfrom agentm_kernel.plugin import Tool\n"
        "MODULES = Tool('modules', 'lists', lambda call: {'text': ' '.join(sorted(sys.modules))})\n",
        modules="MODULES",
    )
    with Host(home) as host:
        host.initialize()
        host.request("tools/list")
        loaded = set(host.call("modules").split())
    assert not loaded & {
        "mcp",
        "anthropic",
        "fsspec",
        "pydantic",
        "langgraph",
        "agents",
        "click",
        "asyncio",
        "typing",
    }
