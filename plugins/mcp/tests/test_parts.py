"""The parts of the server, each by itself: messages, calls, roots, tools, and what a session answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel.plugin import AgentmError, Device, Tool
from agentm_mcp import calls as calls_module, resources, roots as roots_module, session as session_module, toolbox
from agentm_mcp.calls import Calls, Cancelled, Work
from agentm_mcp.messages import Message, ProtocolFault, answer, check_era, parse
from agentm_mcp.roots import Roots
from agentm_mcp.session import Session
from agentm_mcp.shown import shown

VERSION = "io.modelcontextprotocol/protocolVersion"
SERVER = "io.modelcontextprotocol/serverInfo"


class Sent:
    """A channel that keeps what was sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: Mapping[str, Any]) -> None:
        self.messages.append(dict(message))


# ------------------------------------------------------------------------------------------------ messages


@pytest.mark.parametrize(
    ("line", "id", "method", "result"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, 1, "ping", None),
        ({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}}, "a", "ping", None),
        ({"jsonrpc": "2.0", "method": "notifications/x"}, None, "notifications/x", None),
        ({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}, 1, "", {"a": 1}),
        ({"jsonrpc": "2.0", "id": 1, "error": {}}, 1, "", None),
    ],
)
def test_a_line_is_a_request_a_notification_or_an_answer(
    line: dict[str, Any], id: object, method: str, result: object
) -> None:
    message = parse(json.dumps(line).encode())
    assert (message.id, message.method, message.params, message.result) == (
        id,
        method,
        line.get("params", {}),
        result,
    )


@pytest.mark.parametrize(
    ("line", "code", "text", "id"),
    [
        (b"{", -32700, "not JSON: JSONDecodeError", None),
        (b"[]", -32600, "a message is one JSON object a line; there are no batches", None),
        (b'{"id": 1, "method": "x"}', -32600, 'a message says "jsonrpc": "2.0"', 1),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "x"}', -32600, "an id is a text or a whole number", None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "x"}', -32600, "an id is a text or a whole number", None),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600, "a request has a method", 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": ""}', -32600, "a request has a method", 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": []}', -32602, "params is an object", 1),
    ],
)
def test_what_is_no_message_is_told_with_its_id(line: bytes, code: int, text: str, id: object) -> None:
    with pytest.raises(ProtocolFault) as fault:
        parse(line)
    assert fault.value.message() == {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def modern(method: str, version: object = "2026-07-28") -> Message:
    return Message(1, method, {"_meta": {VERSION: version}})


def test_a_version_that_is_not_spoken_is_told_with_those_that_are() -> None:
    check_era(modern("tools/list"))
    check_era(modern("initialize", "2030-01-01"))
    check_era(Message(1, "tools/list", {}))
    with pytest.raises(ProtocolFault) as fault:
        check_era(modern("tools/list", "2030-01-01"))
    assert fault.value.message()["id"] == 1
    assert fault.value.message()["error"] == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2030-01-01"},
    }
    with pytest.raises(ProtocolFault, match="is a text") as fault:
        check_era(modern("tools/list", 3))
    assert (fault.value.code, fault.value.id) == (-32602, 1)


def test_an_answer_of_the_later_era_says_what_every_one_says_there() -> None:
    stamp = {"name": "x"}
    assert answer(Message(1, "ping", {}), {"a": 1}, stamp) == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    told = {"a": 1, "resultType": "complete", "_meta": {SERVER: stamp}}
    for method in ("ping", "tools/call"):
        assert answer(modern(method), {"a": 1}, stamp)["result"] == told
    listed = answer(modern("tools/list"), {"a": 1}, stamp)["result"]
    assert listed == {**told, "ttlMs": 0, "cacheScope": "private"}


def test_a_token_for_progress_is_an_id() -> None:
    assert Message(1, "x", {"_meta": {"progressToken": 3}}).progress_token == 3
    assert Message(1, "x", {"_meta": {"progressToken": True}}).progress_token is None
    assert Message(1, "x", {"_meta": []}).progress_token is None


# ------------------------------------------------------------------------------------------------ calls


class Held:
    """Requests that run until they are let go."""

    def __init__(self) -> None:
        self.given: list[object] = []
        self.go_on = threading.Event()
        self.begun = threading.Event()
        self.calls = Calls(lambda work: self.given.append((work.message.id, "late")))

    def run(self, work: Work) -> dict[str, object]:
        self.begun.set()
        self.go_on.wait(20)
        return {}

    def ask(self, id: Any, seconds: float = 20.0) -> None:
        self.calls.add(
            Work(Message(id, "x", {}), self.run, lambda message, _: self.given.append(message.id), seconds)
        )


def test_no_more_requests_wait_than_there_is_room_for_and_an_id_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "MOST_WAITING", 2)
    held = Held()
    held.ask(0)
    assert held.begun.wait(10)
    held.ask(1)
    with pytest.raises(ProtocolFault, match="a request with this id is still being worked on") as fault:
        held.ask(1)
    assert (fault.value.code, fault.value.id) == (-32600, 1)
    held.ask(2)
    with pytest.raises(ProtocolFault, match="2 requests are waiting already") as fault:
        held.ask(3)
    assert (fault.value.code, fault.value.id) == (-32600, 3)
    held.calls.cancel(1)
    held.calls.cancel(["no id"])
    held.calls.cancel("never asked")
    assert not held.calls.finish(0.01)
    held.go_on.set()
    assert held.calls.finish(10)
    assert held.given == [0, 2], "what was cancelled is not answered"


def test_a_store_that_hangs_is_said_to_be_once_so_many_calls_were_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls_module, "MOST_LEFT_BEHIND", 2)
    held = Held()
    for id in (1, 2):
        held.ask(id, seconds=0.01)
        while len(held.given) < id:
            time.sleep(0.005)
    with pytest.raises(ProtocolFault, match=r"2 earlier calls hang: .* Run `agentm doctor`") as fault:
        held.ask(3)
    assert (fault.value.code, fault.value.id) == (-32600, 3)
    assert not held.calls.finish(0.05)
    held.go_on.set()
    while not held.calls.finish(1):
        pass
    held.ask(3)
    assert held.calls.finish(10)
    assert held.given == [(1, "late"), (2, "late"), 3]


def test_a_call_is_late_after_its_seconds_and_not_before() -> None:
    held = Held()
    begun = time.monotonic()
    held.ask(1, seconds=0.4)
    while not held.given:
        time.sleep(0.005)
    assert 0.4 <= time.monotonic() - begun < 5
    held.go_on.set()


def test_a_call_that_runs_hears_that_it_was_cancelled() -> None:
    held = Held()
    held.ask(1)
    assert held.begun.wait(10)
    work = held.calls._by_id[1]
    work.check()
    held.calls.cancel(1)
    with pytest.raises(Cancelled, match="the agent host has cancelled this call"):
        work.check()
    assert not work.is_settled()
    held.go_on.set()
    assert held.calls.finish(10)
    assert (held.given, work.is_settled()) == ([], True)


# ------------------------------------------------------------------------------------------------ roots


def test_folders_are_those_of_the_last_question_that_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sent = Sent()
    roots: Any = Roots(sent)  # type: ignore[arg-type]
    assert roots.folders({}) == (str(tmp_path),)
    for _ in range(2):
        roots.ask()
    assert [message["id"] for message in sent.messages] == ["agentm-roots-1", "agentm-roots-2"]
    assert sent.messages[0] == {"jsonrpc": "2.0", "id": "agentm-roots-1", "method": "roots/list"}
    (tmp_path / "a b").mkdir()
    here = f"file://{tmp_path}/a%20b"
    listed = [{"uri": here}, {"uri": f"file://localhost{tmp_path}"}, {"uri": here}, {"uri": "file:///none"}, {}, "x"]
    roots.take(Message("agentm-roots-1", "", {}, {"roots": [{"uri": f"file://{tmp_path}"}]}))
    roots.take(Message("agentm-roots-2", "", {}, {"roots": listed}))
    begun = time.monotonic()
    assert roots.folders({}) == (f"{tmp_path}/a b", str(tmp_path))
    assert time.monotonic() - begun < 0.5, "what was answered is not waited for"
    assert roots.folders({"CLAUDE_PROJECT_DIR": str(tmp_path)}) == (str(tmp_path),)
    assert roots.folders({"CLAUDE_PROJECT_DIR": "/none"}) == (f"{tmp_path}/a b", str(tmp_path))
    for result in ({"roots": "x"}, None, {"roots": []}):
        roots.ask()
        roots.take(Message(f"agentm-roots-{roots._asked}", "", {}, result))
        assert roots.folders({}) == (str(tmp_path),)
    roots.ask()
    roots.take(Message(f"agentm-roots-{roots._asked}", "", {}, {"roots": [{"uri": "vscode-remote://x"}]}))
    assert roots.folders({}) == ("vscode-remote://x",), "another machine's folder is not taken for one of here"
    roots.ask()
    roots.take(Message(f"agentm-roots-{roots._asked}", "", {}, {"roots": [{"uri": 3}]}))
    assert roots.folders({}) == ("3",)


def test_a_host_that_does_not_answer_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots_module, "_PATIENCE", 0.2)
    roots: Any = Roots(Sent())  # type: ignore[arg-type]
    roots.ask()
    begun = time.monotonic()
    roots.folders({})
    assert 0.2 <= time.monotonic() - begun < 5
    begun = time.monotonic()
    roots.folders({})
    assert time.monotonic() - begun < 0.15


# ------------------------------------------------------------------------------------------------ tools


SCHEMAS: dict[str, Any] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 5},
    "free": {"type": "string"},
    "count": {"type": "integer", "minimum": 1, "maximum": 3},
    "flag": {"type": "boolean"},
    "kind": {"type": "string", "enum": ["a", "b"]},
}


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("text", "12345", None),
        ("text", "123456", "has at most 5 characters, not 6"),
        ("text", " ", "is empty"),
        ("text", "\ud800", "is not valid Unicode"),
        ("text", 3, "is a string"),
        ("free", "", None),
        ("free", "x" * 1_000_000, None),
        ("free", "x" * 1_000_001, "has at most 1,000,000 characters, not 1,000,001"),
        ("count", 1, None),
        ("count", 3, None),
        ("count", 0, "is at least 1"),
        ("count", 4, "is at most 3"),
        ("count", True, "is a integer"),
        ("count", "1", "is a integer"),
        ("flag", True, None),
        ("flag", 1, "is a boolean"),
        ("kind", "a", None),
        ("kind", "c", "is one of: a, b"),
    ],
)
def test_an_argument_is_what_its_schema_says(name: str, value: object, wrong: str | None) -> None:
    assert toolbox._wrong(SCHEMAS[name], value) == wrong


def tool(function: Any = lambda call, **given: given, **fields: Any) -> Tool:
    return Tool("x", "What it does.", function, SCHEMAS, **fields)


def called(given: Tool, **arguments: object) -> dict[str, Any]:
    return toolbox.call_tool("tool 'x'", given, None, arguments)  # type: ignore[arg-type]


def test_a_call_with_wrong_arguments_is_told_what_the_tool_takes() -> None:
    needing = tool(required=("text",))
    for arguments, said in (
        ({"colour": 1}, "error: x has no argument 'colour'\nhint: it takes: text, free, count, flag, kind"),
        ({}, "error: x needs the argument 'text'"),
        ({"text": 3}, "error: the argument 'text' of x is a string"),
    ):
        assert called(needing, **arguments) == {"content": [{"type": "text", "text": said}], "isError": True}


def test_what_a_tool_answers_is_fields_or_a_text_below_them() -> None:
    plain = called(tool(lambda call: {"status": "saved", "keys": ["a", "b"], "none": None, "empty": []}))
    assert plain == {
        "content": [{"type": "text", "text": "status: saved\nkeys: a, b"}],
        "structuredContent": {"status": "saved", "keys": ["a", "b"], "none": None, "empty": []},
    }
    assert called(tool(lambda call: {"key": "a", "text": "Said."})) == {
        "content": [{"type": "text", "text": "key: a\n\nSaid."}]
    }
    assert called(tool(lambda call: {"text": "Said."})) == {"content": [{"type": "text", "text": "Said."}]}


def test_a_tool_that_fails_says_why_what_to_do_and_what_it_knows() -> None:
    def fails(call: object) -> dict[str, object]:
        error = AgentmError("it is taken", hint="take another")
        error.details = {"key": "a", "text": "Theirs."}
        raise error

    said = "error: it is taken\nhint: take another\nkey: a\n\nTheirs."
    assert called(tool(fails)) == {"content": [{"type": "text", "text": said}], "isError": True}
    assert toolbox.failure("why") == {"content": [{"type": "text", "text": "error: why"}], "isError": True}


def test_a_tool_is_described_with_what_a_model_needs_and_no_more() -> None:
    described = toolbox._described(tool(required=("text",)))
    assert described == {
        "name": "x",
        "description": "What it does.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "free": {"type": "string"},
                "count": {"type": "integer", "maximum": 3},
                "flag": {"type": "boolean"},
                "kind": {"type": "string", "enum": ["a", "b"]},
            },
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": True},
    }
    writing = toolbox._described(tool(only_reads=False))
    assert writing["annotations"] == {"destructiveHint": False, "openWorldHint": False}
    assert "required" not in writing["inputSchema"]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb\r\nc\rd", "a\tb\nc\nd"),
        ("a\u2028b\x0bc\x85d", "a\nb\nc\nd"),
        ("a\u00a0b\u3000c", "a b c"),
        ("a\u202eb\u200bc\x07d", "abcd"),
        ("a\u180bb\u180fc\ufe00d\ufe0fe\U000e0000f\U000e0fffg", "abcdefg"),
        ("a\u180ab\ufe10c", "a\u180ab\ufe10c"),
        ("\u3164a\u2800", "a"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u200db", "ab"),
        ("👩\u200da", "👩a"),
        ("👩\u200d", "👩"),
        ("\u200d👩", "👩"),
        ("é\u200c\u200cé", "éé"),
        ("é\u200cé", "é\u200cé"),
        ("xé\u200céx", "xé\u200céx"),
    ],
)
def test_a_model_sees_what_a_person_sees(text: str, seen: str) -> None:
    assert shown(text) == seen


# ------------------------------------------------------------------------------------------------ a session


@pytest.fixture
def session(tmp_path: Path) -> Any:
    device = Device.now({"HOME": str(tmp_path), "PATH": ""})
    return Session(Sent(), device)  # type: ignore[arg-type]


def asked(session: Any, method: str, id: object = 1, **params: Any) -> dict[str, Any]:
    """What one request is answered with."""
    session.receive(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
    assert session.calls.finish(20)
    answered: dict[str, Any] = session._channel.messages[-1]
    return answered


def test_what_a_host_asks_first_is_answered_at_once(session: Any) -> None:
    told = asked(session, "initialize", protocolVersion="2025-03-26", clientInfo={"name": "x" * 70})["result"]
    assert told["protocolVersion"] == "2025-03-26"
    assert told["capabilities"] == {"tools": {}, "resources": {}}
    assert told["serverInfo"]["name"] == "agentm"
    assert told["instructions"].startswith("Memory that outlasts this session")
    assert session._client == "x" * 60
    for odd in ({"name": "a\x07b"}, {"name": ""}, {"name": 3}, "x"):
        session._meet(odd)
    assert session._client == "x" * 60
    assert asked(session, "ping")["result"] == {}
    assert asked(session, "server/discover")["result"] == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "resources": {}},
        "instructions": told["instructions"],
    }
    assert asked(session, "none")["error"] == {"code": -32601, "message": "Method not found"}
    (template,) = asked(session, "resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "agentm://{+key}"


@pytest.mark.parametrize(
    ("capabilities", "is_asked"), [({"roots": {}}, True), ({"roots": None}, False), (None, False)]
)
def test_only_a_host_that_has_roots_is_asked_for_them(capabilities: object, is_asked: bool, session: Any) -> None:
    asked(session, "initialize", capabilities=capabilities)
    for method in ("notifications/initialized", "notifications/roots/list_changed", "notifications/other"):
        session.receive(json.dumps({"jsonrpc": "2.0", "method": method}).encode())
    questions = [message for message in session._channel.messages if message.get("method") == "roots/list"]
    assert len(questions) == 2 * is_asked


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"name": "none"}, "Unknown tool: none"),
        ({"name": "x" * 90}, f"Unknown tool: {'x' * 80}"),
        ({"name": 3}, "a call has a name and arguments"),
        ({"name": "plan_read", "arguments": []}, "a call has a name and arguments"),
    ],
)
def test_a_call_that_nobody_can_answer_is_a_fault(params: dict[str, Any], said: str, session: Any) -> None:
    assert asked(session, "tools/call", **params)["error"] == {"code": -32602, "message": said}
    assert session._channel.messages[-1]["id"] == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ProtocolFault(-32602, "not so"), -32602, "not so"),
        (AgentmError("no store", hint="look"), -32603, "no store (hint: look)"),
        (ValueError("odd"), -32603, "ValueError: odd"),
        (SystemExit(3), -32603, "it called sys.exit(3)"),
    ],
)
def test_whatever_goes_wrong_the_host_gets_an_answer(
    error: BaseException, code: int, said: str, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(device: object) -> list[object]:
        raise error

    monkeypatch.setattr(toolbox, "listed", fails)
    told = asked(session, "tools/list", id="a")
    assert (told["id"], told["error"]) == ("a", {"code": code, "message": said})


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_late_answer_says_that_it_may_yet_happen(method: str, session: Any) -> None:
    session._late(SimpleNamespace(message=Message(1, method, {}), seconds=2.5))
    (told,) = session._channel.messages
    text = "this took more than 2.5 s and may yet happen"
    if method == "tools/list":
        assert told["error"] == {"code": -32603, "message": text}
    else:
        (content,) = told["result"]["content"]
        assert content["text"].startswith(f"error: {text}\nhint: look whether it did before you repeat it")


@pytest.mark.parametrize(
    ("method", "seconds"),
    [
        ("tools/list", 10.0),
        ("resources/templates/list", 10.0),
        ("resources/list", 20.0),
        ("resources/read", 20.0),
        ("tools/call", 60.0),
    ],
)
def test_each_request_has_its_time(method: str, seconds: float, session: Any) -> None:
    _, given = session._in_turn[method](Message(1, method, {"name": "plan_read"}))
    assert given == seconds
    assert session_module._CALL_SECONDS == 60.0


def test_a_note_that_is_none_is_not_found_and_one_that_is_too_long_is_read_in_pages(
    session: Any, tmp_path: Path
) -> None:
    folder = tmp_path / ".agentm" / "memory" / "personal" / "facts"
    folder.mkdir(parents=True)
    (folder / "tea é.md").write_text("We drink\u202e tea.\n")
    (folder / "long.md").write_text("x" * 400_001)
    (folder / "just.md").write_text("x" * 400_000)
    uri = "agentm://personal/facts/tea%20%C3%A9.md"
    assert asked(session, "resources/read", uri=uri)["result"] == {
        "contents": [{"uri": uri, "mimeType": "text/markdown", "text": "We drink tea.\n"}]
    }
    assert "result" in asked(session, "resources/read", uri="agentm://personal/facts/just.md")
    long = asked(session, "resources/read", uri="agentm://personal/facts/long.md")["error"]
    assert long == {"code": -32602, "message": "the note has 400,001 characters: read it with memory_read"}
    for wrong in (
        "agentm://personal/facts/none.md",
        "agentm://_meta/store.json",
        "agentm://../x.md",
        "agentm://%ff.md",
    ):
        error = asked(session, "resources/read", uri=wrong)["error"]
        assert error["message"].startswith("Resource not found: ")
        assert error["data"] == {"uri": wrong}
    for wrong in ("file:///etc/passwd", 3):
        assert asked(session, "resources/read", uri=wrong)["error"]["message"] == "a note is agentm://<key>"
    assert asked(session, "resources/list", cursor=3)["error"]["message"] == "a cursor is what nextCursor was"
    assert asked(session, "resources/list")["result"]["resources"][-1] == {
        "uri": uri,
        "name": "personal/facts/tea é",
        "mimeType": "text/markdown",
    }


def test_notes_are_listed_in_pages_and_records_are_no_notes(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "_PAGE", 2)
    folder = tmp_path / ".agentm" / "memory" / "personal"
    (folder / "_harness").mkdir(parents=True)
    for name in ("a.md", "b.md", "c.md", "d.md", "e.txt", "_harness/PLAN.md"):
        (folder / name).write_text("x")
    first = asked(session, "resources/list")["result"]
    assert [one["name"] for one in first["resources"]] == ["personal/a", "personal/b"]
    second = asked(session, "resources/list", cursor=first["nextCursor"])["result"]
    assert [one["name"] for one in second["resources"]] == ["personal/c", "personal/d"]
    assert "nextCursor" not in second
