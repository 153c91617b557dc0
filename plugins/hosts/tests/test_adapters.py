"""What is known about each host: what it is given where, and where it writes down what its model got."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentm_hosts.adapter import HostAdapter, newest
from agentm_hosts.adapters import claude_code, codex, copilot, cursor, gemini, opencode, qwen, vscode
from agentm_hosts.place import APPEND, SET, Place
from agentm_kernel.plugin import EVENTS

ADAPTERS = {
    module.ADAPTER.name: module.ADAPTER
    for module in (claude_code, codex, copilot, cursor, gemini, opencode, qwen, vscode)
}
HOME, PROGRAM, REPOSITORY = "/home/ana", "/opt/my agentm/agentm", "/code/widgets"
QUOTED = "'/opt/my agentm/agentm'"
USER = Place(HOME, {}, PROGRAM, "/state")
PROJECT = Place(HOME, {}, "agentm", "/state", project=REPOSITORY)


def changed(host: str, place: Place) -> dict[str, dict[str, Any]]:
    """What a host is given, by file and by the path in it."""
    found: dict[str, dict[str, Any]] = {}
    for change in ADAPTERS[host].changes(place):
        entries = {".".join(entry.path): entry.value for entry in change.entries}
        assert all(entry.how == (APPEND if entry.path[0] == "hooks" else SET) for entry in change.entries)
        found[f"{change.path} ({change.format})"] = entries
    return found


def grouped(handler: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": [{"type": "command", **handler}]}


@pytest.mark.parametrize("host", sorted({*ADAPTERS} - {"opencode"}))  # whose words are functions of a plugin of ours
def test_the_kernels_list_of_events_has_the_name_that_each_host_gives_one(host: str) -> None:
    known = {event.name: event.reported_as.lower().split(", ") for event in EVENTS}
    for event, native in ADAPTERS[host].hooks.items():
        assert native.lower() in known[event], event


def test_claude_code_starts_us_without_a_shell_and_has_our_tools_at_once() -> None:
    native = {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "pre-compact": "PreCompact",
        "turn-end": "Stop",
        "session-end": "SessionEnd",
    }
    server = {"type": "stdio", "args": ["mcp"], "alwaysLoad": True}

    def hooks(program: str) -> dict[str, Any]:
        return {
            f"hooks.{name}": grouped(
                {"command": program, "args": ["hook", event, "--host", "claude-code"], "timeout": 5}
            )
            for event, name in native.items()
        }

    assert changed("claude-code", USER) == {
        f"{HOME}/.claude/settings.json (json)": hooks(PROGRAM),
        f"{HOME}/.claude.json (json)": {"mcpServers.agentm": {**server, "command": PROGRAM}},
    }
    assert changed("claude-code", PROJECT) == {
        f"{REPOSITORY}/.claude/settings.json (json)": hooks("agentm"),
        f"{REPOSITORY}/.mcp.json (json)": {"mcpServers.agentm": {**server, "command": "agentm"}},
    }
    moved = replace(USER, environ={"CLAUDE_CONFIG_DIR": "/moved"})
    assert list(changed("claude-code", moved)) == ["/moved/settings.json (json)", "/moved/.claude.json (json)"]
    relative = replace(USER, environ={"CLAUDE_CONFIG_DIR": "moved"})
    assert list(changed("claude-code", relative)) == list(changed("claude-code", USER))
    assert "all of its hooks are off" in ADAPTERS["claude-code"].changes(USER)[0].comments_disable


def test_codex_gives_less_time_to_the_end_of_a_session() -> None:
    events = ("session-start", "prompt", "pre-compact", "turn-end", "session-end")
    native = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
    hooks = {
        f"hooks.{name}": grouped(
            {"command": f"{QUOTED} hook {event} --host codex", "timeout": 3 if event == "session-end" else 5}
        )
        for event, name in zip(events, native, strict=True)
    }
    assert changed("codex", USER) == {
        f"{HOME}/.codex/hooks.json (json)": hooks,
        f"{HOME}/.codex/config.toml (toml)": {"mcp_servers.agentm": {"command": PROGRAM, "args": ["mcp"]}},
    }
    assert list(changed("codex", PROJECT)) == [
        f"{REPOSITORY}/.codex/hooks.json (json)",
        f"{REPOSITORY}/.codex/config.toml (toml)",
    ]
    assert next(iter(changed("codex", replace(USER, environ={"CODEX_HOME": "/moved"})))) == "/moved/hooks.json (json)"


def test_gemini_looks_whether_we_are_there_before_it_starts_us() -> None:
    native = {
        "session-start": "SessionStart",
        "prompt": "BeforeAgent",
        "turn-end": "AfterAgent",
        "session-end": "SessionEnd",
    }

    def settings(there: str, program: str, quoted: str) -> dict[str, Any]:
        hooks = {
            f"hooks.{name}": grouped(
                {"command": f"{there} && {quoted} hook {event} --host gemini || exit 0", "timeout": 5_000}
            )
            for event, name in native.items()
        }
        return {**hooks, "mcpServers.agentm": {"command": program, "args": ["mcp"], "trust": True}}

    assert changed("gemini", USER) == {
        f"{HOME}/.gemini/settings.json (jsonc)": settings(f"test -x {QUOTED}", PROGRAM, QUOTED)
    }
    assert changed("gemini", PROJECT) == {
        f"{REPOSITORY}/.gemini/settings.json (jsonc)": settings("command -v agentm >/dev/null", "agentm", "agentm")
    }


def test_copilot_has_a_file_of_hooks_and_our_tools_for_the_user_only() -> None:
    (hooks, server) = ADAPTERS["copilot"].changes(USER)
    native = {
        "session-start": "sessionStart",
        "prompt": "userPromptSubmitted",
        "turn-end": "agentStop",
        "session-end": "sessionEnd",
    }
    assert (hooks.path, hooks.format) == (f"{HOME}/.copilot/hooks/agentm.json", "text")
    assert json.loads(hooks.text) == {
        "version": 1,
        "hooks": {
            name: [{"type": "command", "bash": f"{QUOTED} hook {event} --host copilot", "timeoutSec": 5}]
            for event, name in native.items()
        },
    }
    assert hooks.text.startswith('{\n  "version": 1,\n')
    assert changed("copilot", USER)[f"{server.path} (json)"] == {
        "mcpServers.agentm": {"type": "local", "command": PROGRAM, "args": ["mcp"], "tools": ["*"]}
    }
    assert server.path == f"{HOME}/.copilot/mcp-config.json"
    assert list(changed("copilot", PROJECT)) == [f"{REPOSITORY}/.github/hooks/agentm.json (text)"]


def test_cursor_qwen_opencode_and_vs_code_are_given_what_each_understands(tmp_path: Path) -> None:
    assert changed("cursor", USER) == {
        f"{HOME}/.cursor/hooks.json (json)": {
            "version": 1,
            **{
                f"hooks.{name}": {"command": f"{QUOTED} hook {event} --host cursor", "timeout": 5}
                for event, name in ADAPTERS["cursor"].hooks.items()
            },
        },
        f"{HOME}/.cursor/mcp.json (json)": {"mcpServers.agentm": {"command": PROGRAM, "args": ["mcp"]}},
    }
    assert changed("qwen", USER) == {
        f"{HOME}/.qwen/settings.json (jsonc)": {
            **{
                f"hooks.{name}": grouped({"command": f"{QUOTED} hook {event} --host qwen"})
                for event, name in ADAPTERS["qwen"].hooks.items()
            },
            "mcpServers.agentm": {"command": PROGRAM, "args": ["mcp"], "trust": True},
        }
    }
    (plugin, _) = ADAPTERS["opencode"].changes(USER)
    assert f"const PROGRAM = {json.dumps(PROGRAM)}\n" in plugin.text
    server = {"mcp.agentm": {"type": "local", "command": [PROGRAM, "mcp"], "enabled": True}}
    assert changed("opencode", USER) == {
        f"{HOME}/.config/opencode/plugins/agentm.js (text)": {},
        f"{HOME}/.config/opencode/opencode.json (jsonc)": server,
    }
    moved = replace(USER, environ={"XDG_CONFIG_HOME": str(tmp_path)})
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode" / "opencode.jsonc").write_text("{}")
    assert list(changed("opencode", moved))[1] == f"{tmp_path}/opencode/opencode.jsonc (jsonc)"
    assert list(changed("opencode", PROJECT)) == [
        f"{REPOSITORY}/.opencode/plugins/agentm.js (text)",
        f"{REPOSITORY}/opencode.json (jsonc)",
    ]
    settings = changed("vscode", USER)
    assert settings.popitem()[1] == {"chat.pluginLocations./state/vscode-plugin": True}
    assert "/state/vscode-plugin/plugin.json (text)" in settings
    assert changed("vscode", PROJECT) == {}


@pytest.mark.parametrize("host", sorted(ADAPTERS))
def test_hooks_and_tools_can_each_be_left_out(host: str) -> None:
    def texts(place: Place) -> str:
        changes = ADAPTERS[host].changes(place)
        return "".join(f"{change.path}{change.text}{[entry.value for entry in change.entries]}" for change in changes)

    for place in (USER, PROJECT):
        assert " hook " not in texts(replace(place, with_hooks=False)).replace("'hook', ", " hook ")
        assert "mcp" not in texts(replace(place, with_mcp=False)).replace(".mcp.json", "")
    if host != "vscode":  # its folder is ours in any case
        assert ADAPTERS[host].changes(replace(USER, with_hooks=False, with_mcp=False)) == []


@pytest.mark.parametrize("adapter", ADAPTERS.values(), ids=list(ADAPTERS))
def test_a_host_is_here_if_its_program_or_its_folder_is(adapter: HostAdapter, tmp_path: Path) -> None:
    home, programs = tmp_path / "home", tmp_path / "bin"
    programs.mkdir()
    place = Place(str(home), {"PATH": str(programs)}, PROGRAM, "/state")
    assert (adapter.program(place), adapter.is_present(place)) == (None, False)
    for name in reversed(adapter.programs):
        program = programs / name
        program.write_text("")
        assert adapter.program(place) != str(program), "what cannot be started is no program"
        program.chmod(0o755)
        assert (adapter.program(place), adapter.is_present(place)) == (str(program), True)
    os.makedirs(adapter.folder(place))
    assert adapter.is_present(replace(place, environ={"PATH": ""}))


def write(path: Path, at: float, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))


def test_the_newest_transcript_is_found_at_its_depth_only(tmp_path: Path) -> None:
    write(tmp_path / "a" / "old.jsonl", 100)
    write(tmp_path / "b" / "new.jsonl", 300)
    write(tmp_path / "b" / "newer.txt", 400)
    write(tmp_path / "above.jsonl", 500)
    write(tmp_path / "b" / "c" / "below.jsonl", 600)
    assert newest(str(tmp_path), 1) == (300, str(tmp_path / "b" / "new.jsonl"))
    assert newest(str(tmp_path), 0) == (500, str(tmp_path / "above.jsonl"))
    assert newest(str(tmp_path), 1, "old.jsonl") == (100, str(tmp_path / "a" / "old.jsonl"))
    assert newest(str(tmp_path / "none"), 1) == (0.0, "")
    (tmp_path / "link").symlink_to(tmp_path / "b" / "c")
    assert newest(str(tmp_path), 1)[0] == 300


def test_each_host_s_last_session_is_told_by_its_transcripts(tmp_path: Path) -> None:
    for name, host in (
        ("projects/w/s.jsonl", "claude-code"),
        ("sessions/2026/08/01/rollout-s1.jsonl", "codex"),
        ("session-state/s1/events.jsonl", "copilot"),
        ("tmp/w/chats/s.jsonl", "gemini"),
    ):
        folder = tmp_path / host
        assert ADAPTERS[host].last_session(str(folder)) == 0.0
        write(folder / name, 700)
        assert ADAPTERS[host].last_session(str(folder)) == 700
    assert ADAPTERS["cursor"].last_session(str(tmp_path)) == 0.0
    (tmp_path / "gemini" / "tmp" / "w" / "chats" / "s.jsonl").unlink()
    (tmp_path / "gemini" / "tmp" / "w" / "chats").rmdir()
    assert ADAPTERS["gemini"].last_session(str(tmp_path / "gemini")) == 0.0


def test_a_transcript_is_found_by_the_session_that_it_is_of(tmp_path: Path) -> None:
    write(tmp_path / "sessions/2026/08/01/rollout-s1.jsonl", 100)
    write(tmp_path / "sessions/2026/08/01/rollout-s2.jsonl", 200)
    find = ADAPTERS["codex"].find_transcript
    assert find(str(tmp_path), "s1") == str(tmp_path / "sessions/2026/08/01/rollout-s1.jsonl")
    assert find(str(tmp_path), "") == find(str(tmp_path), "s3") == ""
    find = ADAPTERS["copilot"].find_transcript
    assert find("/c", "s1") == "/c/session-state/s1/events.jsonl"
    assert find("/c", "") == find("/c", "../s1") == "", "what a host calls a session leads nowhere else"


@pytest.mark.parametrize(
    ("host", "entry", "texts"),
    [
        (
            "claude-code",
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["a", 3]}},
            ["a"],
        ),
        ("claude-code", {"type": "user", "attachment": {"type": "hook_additional_context", "content": ["a"]}}, []),
        ("claude-code", {"type": "attachment", "attachment": {"type": "hook_success", "content": ["a"]}}, []),
        (
            "claude-code",
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": "a"}},
            [],
        ),
        ("claude-code", {"type": "attachment", "attachment": "hook_additional_context"}, []),
        (
            "codex",
            {"type": "response_item", "payload": {"role": "developer", "content": [{"text": "a"}, {"text": 3}, "b"]}},
            ["a"],
        ),
        ("codex", {"type": "event_msg", "payload": {"role": "developer", "content": [{"text": "a"}]}}, []),
        ("codex", {"type": "response_item", "payload": {"role": "user", "content": [{"text": "a"}]}}, []),
        ("codex", {"type": "response_item", "payload": {"role": "developer", "content": "a"}}, []),
        ("codex", {"type": "response_item", "payload": "developer"}, []),
        (
            "copilot",
            {"type": "user.message", "data": {"content": "hi", "transformedContent": "x hi <system_reminder>a"}},
            ["a"],
        ),
        (
            "copilot",
            {
                "type": "user.message",
                "data": {"content": "<system_reminder>b", "transformedContent": "<system_reminder>b"},
            },
            [""],
        ),
        ("copilot", {"type": "other", "data": {"content": "hi", "transformedContent": "hi<system_reminder>a"}}, []),
        ("copilot", {"type": "user.message", "data": {"content": "hi"}}, []),
        ("copilot", {"type": "user.message", "data": []}, []),
        ("gemini", {"type": "user", "content": "<hook_context>a &lt;b&gt; &amp;amp;"}, ["a <b> &amp;"]),
        (
            "gemini",
            {
                "type": "user",
                "content": [{"text": "<hook_context>a"}, "<hook_context>b", 3, {"text": "c<hook_context>"}],
            },
            ["a", "b"],
        ),
        ("gemini", {"type": "model", "content": "<hook_context>a"}, []),
        ("gemini", {"type": "user", "content": 3}, []),
        ("cursor", {"type": "user", "content": "a"}, []),
    ],
)
def test_only_what_a_host_calls_context_is_context(host: str, entry: dict[str, Any], texts: list[str]) -> None:
    assert list(ADAPTERS[host].contexts(entry)) == texts


@pytest.mark.parametrize(
    ("host", "mark"),
    [
        ("claude-code", b"hook_additional_context"),
        ("codex", b'"developer"'),
        ("copilot", b"transformedContent"),
        ("gemini", b"hook_context"),
        ("cursor", b""),
    ],
)
def test_a_line_is_taken_apart_only_if_it_may_hold_our_context(host: str, mark: bytes) -> None:
    is_about = ADAPTERS[host].is_about_context
    assert is_about(mark + b" [agentm 0123456789]")
    assert not is_about(mark)
    assert not mark or not is_about(b"[agentm 0123456789]")


def test_what_a_host_sends_is_understood_under_each_of_its_names() -> None:
    adapter = ADAPTERS["claude-code"]
    assert adapter.session({"session_id": "a", "sessionId": "b"}) == "a"
    assert (adapter.session({"sessionId": "b"}), adapter.session({})) == ("b", "")
    assert (adapter.prompt({"prompt": "why"}), adapter.prompt({})) == ("why", "")
    assert adapter.transcript({"transcript_path": "/a", "transcriptPath": "/b"}) == "/a"
    assert (adapter.transcript({"transcriptPath": "/b"}), adapter.transcript({"transcript_path": 3})) == ("/b", "")
    assert ADAPTERS["cursor"].session({"conversation_id": "c", "session_id": "a"}) == "c"
    assert ADAPTERS["cursor"].session({"session_id": "a"}) == "a"
    told = "<hook_context>told</hook_context> why <hook_context>more</hook_context>?"
    assert ADAPTERS["gemini"].prompt({"prompt": told}) == " why ?"


TOLD_AT = {
    "claude-code": "session-start prompt pre-compact turn-end",
    "codex": "session-start prompt turn-end",
    "copilot": "session-start prompt post-compact",
    "cursor": "session-start turn-end",
    "gemini": "session-start prompt turn-end",
    "opencode": "session-start prompt pre-compact",
    "qwen": "session-start prompt post-compact",
    "vscode": "session-start prompt post-compact",
}


@pytest.mark.parametrize("host", sorted(ADAPTERS))
def test_each_host_passes_on_what_it_is_known_to(host: str) -> None:
    events = ("session-start", "prompt", "pre-compact", "post-compact", "turn-end", "session-end")
    assert [event for event in events if ADAPTERS[host].passes_on(event)] == TOLD_AT[host].split()


def test_each_envelope_is_the_one_that_its_host_takes() -> None:
    block = {"decision": "block", "reason": 'a "b"\n'}
    text = 'a "b"\n'
    for host in ("claude-code", "codex", "gemini"):
        assert json.loads(ADAPTERS[host].wrap("turn-end", text)) == block
        assert json.loads(ADAPTERS[host].wrap("session-start", text)) == {
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
        }
    assert ADAPTERS["claude-code"].wrap("pre-compact", text) == f"{text}\n"
    assert ADAPTERS["opencode"].wrap("prompt", text) == f"{text}\n"
    assert json.loads(ADAPTERS["copilot"].wrap("prompt", text)) == {"additionalContext": text}
    assert json.loads(ADAPTERS["cursor"].wrap("turn-end", text)) == {"followup_message": text}
    assert json.loads(ADAPTERS["cursor"].wrap("session-start", text)) == {"additional_context": text}


# ------------------------------------------------------------------------------------------------ left to the user


def settings(tmp_path: Path, name: str, text: str) -> Place:
    write(tmp_path / name, 100, text)
    return Place(str(tmp_path), {"PATH": str(tmp_path / "bin")}, PROGRAM, "/state")


def test_hooks_that_are_switched_off_in_claude_code_are_told(tmp_path: Path) -> None:
    adapter = ADAPTERS["claude-code"]
    off = settings(tmp_path, ".claude/settings.json", '{"disableAllHooks": true}')
    assert adapter.open_steps(off) == ["its settings have disableAllHooks: no hook runs until you remove that"]
    assert adapter.open_steps(settings(tmp_path, ".claude/settings.json", '{"disableAllHooks": false}')) == []


@pytest.mark.parametrize(
    ("text", "with_mcp", "is_said"),
    [
        ("{}", True, True),
        ('{"permissions": {"allow": ["mcp__agentm__memory_save"]}}', True, False),
        ('{"permissions": {"allow": ["mcp__other"]}}', True, True),
        ('{"permissions": []}', True, True),
        ("{}", False, False),
    ],
)
def test_that_claude_code_asks_before_it_uses_a_tool_is_said_once_it_matters(
    text: str, with_mcp: bool, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "_MANAGED", (str(tmp_path / "managed.json"), str(tmp_path / "none.json")))
    place = replace(settings(tmp_path, ".claude/settings.json", text), with_mcp=with_mcp)
    advice = ADAPTERS["claude-code"].advice(place)
    assert len(advice) == is_said
    write(tmp_path / "managed.json", 100)
    managed = f"{tmp_path}/managed.json is your organisation's and may switch hooks or servers off"
    assert ADAPTERS["claude-code"].advice(place) == [managed, *advice]


def test_codex_names_what_it_does_not_trust_and_what_its_sandbox_forbids(tmp_path: Path) -> None:
    adapter = ADAPTERS["codex"]
    place = replace(settings(tmp_path, ".codex/config.toml", ""), with_hooks=False)
    assert adapter.open_steps(place) == []
    assert "trust the agentm lines" in adapter.open_steps(replace(place, with_hooks=True))[0]
    (step,) = adapter.open_steps(replace(place, with_mcp=False))
    assert f'writable_roots = ["{tmp_path}/.agentm"]' in step
    for roots, steps in ((f'["{tmp_path}/.agentm/memory"]', 0), ('["/elsewhere"]', 1), ('"x"', 1)):
        allowed = settings(tmp_path, ".codex/config.toml", f"[sandbox_workspace_write]\nwritable_roots = {roots}\n")
        assert len(adapter.open_steps(replace(allowed, with_hooks=False, with_mcp=False))) == steps
    (step,) = adapter.open_steps(replace(place, project=REPOSITORY, with_mcp=False))
    assert "its shell may not find a bare `agentm`" in step


def test_gemini_names_a_folder_that_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = ADAPTERS["gemini"]
    project = tmp_path / "work" / "widgets"
    project.mkdir(parents=True)

    def steps(trusted: dict[str, str], root: str | None) -> list[str]:
        place = settings(tmp_path, ".gemini/trustedFolders.json", json.dumps(trusted))
        return adapter.open_steps(replace(place, project=root))

    untrusted = [f"it runs nothing in a folder that you have not trusted: start `gemini` in {project} and trust it"]
    assert steps({}, str(project)) == untrusted
    for folder, trust in ((project, "TRUST_FOLDER"), (tmp_path / "work", "TRUST_PARENT")):
        assert steps({str(folder): trust}, str(project)) == []
    assert steps({str(project): "DO_NOT_TRUST"}, str(project)) == untrusted
    assert steps({str(tmp_path / "work" / "wid"): "TRUST_FOLDER"}, str(project)) == untrusted
    monkeypatch.chdir(project)
    assert steps({}, None) == untrusted
    assert steps({str(project): "TRUST_FOLDER"}, None) == []
