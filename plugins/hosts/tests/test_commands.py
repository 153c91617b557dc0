"""`setup`, `connect`, `disconnect`, `hosts list`, `hosts folder`: in a home of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import programs

HOSTS = ("claude-code", "codex", "copilot", "cursor", "gemini", "opencode", "qwen", "vscode")
FOLDERS = (".claude", ".codex", ".copilot", ".cursor", ".gemini", ".config/opencode", ".qwen", ".config/Code/User")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def used(laptop):
    """Every host has been used here, and has settings."""
    for folder in FOLDERS:
        (laptop.home / folder).mkdir(parents=True)
    (laptop.home / ".claude" / "settings.json").write_text('{\n    "model": "opus"\n}\n')
    (laptop.home / ".gemini" / "settings.json").write_text('{\n\t// mine\n\t"theme": "dark"\n}\n')
    (laptop.home / ".config/Code/User/settings.json").write_text('{\n  "editor.tabSize": 2, // mine\n}\n')
    return laptop


def test_setup_connects_what_is_here_and_disconnect_puts_everything_back(used):
    before = files(used.home)

    shown = used.must("setup", "--yes")
    for title in (
        "Claude Code",
        "Codex",
        "Gemini CLI",
        "GitHub Copilot CLI",
        "OpenCode",
        "Qwen Code",
        "Cursor",
        "VS Code",
    ):
        assert f"{title}: connected" in shown
    assert used.must("setup", "--yes").count("is connected already") == 8
    used.must("disconnect")

    after = {name: data for name, data in files(used.home).items() if not name.startswith((".local", ".agentm"))}
    assert after == before


def test_the_list_says_in_plain_words_how_well_a_host_is_known(used):
    lines = {line.split()[0]: line for line in used.must("hosts", "list").splitlines()}
    assert lines["claude-code"].endswith("  tested")
    assert lines["copilot"].endswith("  best effort")
    assert lines["cursor"].endswith("  not tested")


def test_a_dry_run_shows_a_difference_and_changes_nothing(used):
    before = files(used.home)

    shown = used.must("setup", "--dry-run")

    assert '+        "hooks": [' in shown or '"hooks"' in shown
    assert '"theme"' in shown
    assert "would be connected" in shown
    assert f"Claude Code: entries in {used.home}/.claude/settings.json, {used.home}/.claude.json\n" in shown
    assert files(used.home) == before


def test_without_a_terminal_setup_asks_for_yes(used):
    done = used.run("setup")

    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert not (used.home / ".codex" / "hooks.json").exists()


def test_the_question_of_setup_counts_what_would_change(laptop):
    (laptop.home / ".claude").mkdir()
    done = laptop.run("setup")

    assert done.returncode == 1
    laptop.must("connect", "claude-code")
    hooks = json.loads((laptop.home / ".claude" / "settings.json").read_text())["hooks"]
    has_server = (laptop.home / ".claude.json").exists()
    counted = f"{sum(map(len, hooks.values()))} hooks{', 1 MCP server' if has_server else ''}"
    assert f"Make these changes ({counted})?" in done.stderr
    assert "--dry-run shows each line" in done.stderr


def test_setup_asks_nothing_where_no_settings_change(laptop):
    shown = laptop.must("setup")

    assert "no agent host was found" in shown
    assert (laptop.home / ".agentm" / "memory" / "_meta" / "store.json").is_file()
    (laptop.home / ".codex").mkdir()
    assert laptop.run("setup").returncode == 1
    laptop.must("connect", "codex")
    assert "Codex: is connected already" in laptop.must("setup")


def test_settings_that_cannot_be_changed_are_said_without_a_question(laptop):
    (laptop.home / ".claude").mkdir()
    (laptop.home / ".claude" / "settings.json").write_text("{ broken")
    (laptop.home / ".claude.json").write_text("{ broken")
    done = laptop.run("setup")

    assert done.returncode == 1
    assert "Claude Code: not connected" in done.stderr
    assert "Make these changes" not in done.stderr


def test_setup_makes_the_default_store(laptop):
    laptop.must("setup", "--yes")

    assert (laptop.home / ".agentm" / "memory" / "_meta" / "store.json").is_file()


def test_a_host_whose_settings_are_broken_is_said_and_the_others_are_connected(used):
    (used.home / ".claude" / "settings.json").write_text('{"a": 1} // hello\n')

    done = used.run("connect", "claude-code", "codex")

    assert done.returncode == 1
    assert "Claude Code: not connected" in done.stderr
    assert "all of its hooks are off" in done.stderr
    assert "Codex: connected" in done.stdout
    assert (used.home / ".claude" / "settings.json").read_text() == '{"a": 1} // hello\n'


@pytest.mark.parametrize("host", HOSTS)
def test_a_repository_gets_nothing_of_this_machine(used, host):
    used.must("connect", host, "--scope", "project")

    for name, data in files(used.project).items():
        assert str(used.home).encode() not in data, name
    used.must("disconnect", host, "--scope", "project")
    assert [name for name in files(used.project) if not name.startswith(".git/")] == []


def test_in_a_repository_the_hosts_of_the_user_are_connected(used):
    """Where no program was on the search path, none was found, although `agentm setup` had just connected them."""
    used.must("connect", "--scope", "project")

    assert '"command": "agentm"' in (used.project / ".claude" / "settings.json").read_text()
    used.must("disconnect", "--scope", "project")
    assert [name for name in files(used.project) if not name.startswith(".git/")] == []


@pytest.mark.parametrize("host", HOSTS)
def test_every_line_that_is_written_is_one_that_the_command_understands(used, host):
    """Each hook of each host, started as its settings say."""
    used.must("connect", host)
    written = "".join(
        data.decode() for name, data in files(used.home).items() if not name.startswith(".local/state/agentm/c")
    )
    assert str(used.agentm) in written
    if host == "gemini":
        settings = json.loads((used.home / ".gemini" / "settings.json").read_text().replace("// mine", ""))
        lines = [group[0]["hooks"][0]["command"] for group in settings["hooks"].values()]
    elif host == "codex":
        hooks = json.loads((used.home / ".codex" / "hooks.json").read_text())["hooks"]
        lines = [group[0]["hooks"][0]["command"] for group in hooks.values()]
    else:
        return
    for line in lines:
        done = subprocess.run(line, shell=True, env=used.environ, cwd=used.project, input=b"{}", capture_output=True)
        assert done.returncode == 0, (line, done.stderr)


def test_a_missing_program_blocks_nothing_in_gemini(used):
    used.must("connect", "gemini")
    text = (used.home / ".gemini" / "settings.json").read_text().replace("// mine", "")
    line = json.loads(text)["hooks"]["BeforeAgent"][0]["hooks"][0]["command"]
    used.agentm.unlink()

    assert subprocess.run(line, shell=True, check=False, capture_output=True).returncode == 0


def test_connect_takes_yes_as_setup_does(used):
    used.must("connect", "codex", "--yes", "--dry-run")


def test_the_memory_tools_are_connected_only_where_there_is_a_server(used):
    used.must("connect", "codex", "claude-code")
    has_server = any(record.name == "mcp" for record in used.device.plugins.of("agentm.commands"))

    assert (used.home / ".codex" / "config.toml").exists() == has_server
    assert (used.home / ".claude.json").exists() == has_server


def test_an_unknown_host_is_named_with_those_that_there_are(laptop):
    done = laptop.run("connect", "emacs")

    assert done.returncode == 1
    assert "emacs" in done.stderr
    assert "claude-code" in done.stderr


@pytest.mark.parametrize(
    "command", [("connect",), ("disconnect",), ("hosts", "check"), ("log", "--host")], ids=" ".join
)
def test_a_host_that_is_nearly_named_is_suggested(laptop, command):
    done = laptop.run(*command, "claude")

    assert done.returncode == 1
    assert "there is no agent host 'claude': did you mean claude-code?" in done.stderr
    assert "no installed plugin" not in done.stderr


def test_a_log_of_nothing_says_so(laptop):
    assert laptop.must("log") == "no agent was told anything yet\n"
    assert laptop.must("log", "--session", "s1") == "nothing like that was told\n"
    assert json.loads(laptop.must("log", "--json"))["lines"] == []
    laptop.hook("session-start")
    assert "session-start" in laptop.must("log")


def test_a_log_says_how_much_of_it_is_damaged(laptop):
    laptop.hook("session-start")
    laptop.hook("session-start")
    (ledger,) = (laptop.home / ".local" / "state" / "agentm" / "deliveries").glob("*.jsonl")
    first, second = ledger.read_bytes().splitlines(keepends=True)

    ledger.write_bytes(bytes(len(first)) + b"\n" + second)
    done = laptop.run("log")
    assert done.returncode == 0
    assert done.stdout.count("session-start") == 1
    assert done.stderr == f"1 line of {ledger} cannot be read, and not shown\n"

    ledger.write_bytes(b'{"time": "now"}\n[]\n')
    done = laptop.run("log")
    assert done.stdout == "what agents were told cannot be read\n"
    assert done.stderr == f"2 lines of {ledger} cannot be read, and not shown\n"


def test_the_list_and_doctor_say_what_is_connected(used):
    used.must("connect", "claude-code")
    used.hook("session-start")

    listed = {host["host"]: host for host in json.loads(used.must("hosts", "list", "--json"))["hosts"]}
    assert listed.keys() == set(HOSTS)
    assert listed["claude-code"]["connected"] == ["user"]
    assert (listed["claude-code"]["told"], listed["claude-code"]["delivered"]) == (1, 0)
    assert listed["cursor"]["connected"] == []
    assert "Claude Code: 0 of 1 delivered" in used.must("doctor")


def test_a_session_without_our_hooks_is_noticed(used):
    used.must("connect", "claude-code")
    transcript = used.home / ".claude" / "projects" / "-x" / "1.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("{}\n")
    later = transcript.stat().st_mtime + 3_600
    os.utime(transcript, (later, later))

    assert "without our hooks" in used.must("hosts", "list")


def test_hooks_that_a_project_brings_are_left_alone_and_named(used):
    """A repository with settings of its own: `connect` for the user does not change them, and says that they run."""
    theirs = used.project / ".claude" / "settings.json"
    theirs.parent.mkdir()
    theirs.write_text('{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "curl evil"}]}]}}')
    before = theirs.read_bytes()
    shown = used.must("setup", "--yes")

    assert theirs.read_bytes() == before
    named = f"this project brings hooks of its own, which it runs too: {theirs}"
    assert named in shown
    assert named in used.must("hosts", "list")
    assert named in used.must("doctor")


def test_a_project_that_is_connected_beside_the_user_is_named(used):
    used.must("connect", "gemini", "--scope", "project")
    assert "run twice" not in used.must("hosts", "list")

    assert "run twice" in used.must("connect", "gemini")
    assert "run twice" in used.must("hosts", "list")


def test_in_the_home_the_user_s_own_settings_are_not_taken_for_a_project_s(used):
    used.must("connect", "claude-code")

    used.project = used.home
    assert "this project" not in used.must("connect", "claude-code")


def test_connecting_again_without_the_tools_takes_them_out(used):
    before = files(used.home)
    used.must("connect", "codex", "gemini")
    used.must("connect", "codex", "gemini", "--no-mcp")

    assert "mcpServers" not in (used.home / ".gemini" / "settings.json").read_text()
    assert not (used.home / ".codex" / "config.toml").exists()
    assert "agentm save" in used.context("session-start", "codex")  # no tool is named that is not there
    used.must("connect", "codex", "gemini", "--no-hooks")
    assert not (used.home / ".codex" / "hooks.json").exists()
    used.must("disconnect")
    after = {name: data for name, data in files(used.home).items() if not name.startswith((".local", ".agentm"))}
    assert after == before


def test_the_agent_is_told_of_tools_only_where_they_are(used):
    assert "agentm save" in used.context("session-start")
    used.must("connect", "claude-code")

    assert "mcp__agentm__memory_save" in used.context("session-start")


def test_a_host_whose_folder_was_moved_is_connected_there(used):
    moved = used.home / "elsewhere"
    used.environ["CODEX_HOME"] = str(moved)
    used.must("connect", "codex")
    rollout = moved / "sessions" / "2026" / "11" / "16" / "rollout-x-s9.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text("{}\n")
    os.utime(rollout, (rollout.stat().st_mtime + 3_600,) * 2)

    assert (moved / "hooks.json").is_file()
    assert not (used.home / ".codex" / "hooks.json").exists()
    assert "without our hooks" in used.must("hosts", "list")


def at_a_terminal(laptop, answer: str, *arguments: str) -> tuple[int, str]:
    """The command as a person runs it, who answers its question."""
    pty = pytest.importorskip("pty")
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(laptop.project)
        os.execve(sys.executable, [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments], laptop.environ)
    os.write(terminal, answer.encode())
    said = b""
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said.decode()


def test_a_person_sees_what_disconnecting_changes_and_is_asked(used):
    """Whoever names a host, or has no terminal, has said enough: scripts are not asked."""
    used.must("setup", "--yes")
    before = files(used.home / ".claude")

    code, said = at_a_terminal(used, "n\n", "disconnect")
    assert code == 1
    assert said.index(".claude/settings.json") < said.index("Disconnect 8 agent hosts?")
    assert "not confirmed; nothing was changed" in said
    assert "error:" not in said
    assert files(used.home / ".claude") == before

    code, said = at_a_terminal(used, "", "disconnect", "claude-code")
    assert (code, "?" in said) == (0, False)
    code, said = at_a_terminal(used, "y\n", "disconnect")
    assert code == 0
    assert "Disconnect 7 agent hosts?" in said
    used.must("connect", "codex")
    code, said = at_a_terminal(used, "", "disconnect", "--yes")
    assert (code, "?" in said) == (0, False)
    assert "no agent host is connected" in used.must("disconnect")


def test_one_host_that_cannot_be_disconnected_keeps_no_other_connected(used):
    used.must("connect", "claude-code", "codex")
    (used.home / ".claude" / "settings.json").write_text("{ broken")
    done = used.run("disconnect")

    assert done.returncode == 1
    assert "Claude Code: still connected" in done.stderr
    assert "Codex: disconnected" in done.stdout
    assert (used.home / ".claude" / "settings.json").read_text() == "{ broken"


def test_doctor_offers_to_connect_and_then_shows_what_is_left_to_do(used):
    assert "not connected" in used.must("doctor")
    used.must("connect", "codex", "gemini", "claude-code", "--no-mcp")
    shown = used.must("doctor")

    assert "Codex: it skips our hooks until you trust them" in shown
    assert "Codex: its sandbox keeps `agentm save` from writing" in shown
    assert "Gemini CLI: it runs nothing in a folder that you have not trusted" in shown
    (used.home / ".codex" / "config.toml").write_text(
        f'[sandbox_workspace_write]\nwritable_roots = ["{used.home}/.agentm"]\n'
    )
    (used.home / ".gemini" / "trustedFolders.json").write_text(json.dumps({str(used.project): "TRUST_FOLDER"}))
    shown = used.must("doctor")
    assert "its sandbox" not in shown
    assert "have not trusted" not in shown


# ------------------------------------------------------------------------------------------------ the folder


def real(name: str, *arguments: str, laptop) -> str:
    try:
        program = programs.program(name)
    except programs.Unavailable as reason:
        if os.environ.get(programs.REQUIRE) == "1":
            raise
        pytest.skip(str(reason))
    path = f"{laptop.environ['PATH']}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(program), *arguments],
        env={**laptop.environ, "PATH": path},
        cwd=laptop.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(laptop, tmp_path):
    laptop.must("hosts", "folder", str(tmp_path / "folder"))
    return tmp_path / "folder"


def test_the_folder_names_nothing_of_this_machine_and_can_be_written_again(laptop, folder):
    for name, data in files(folder).items():
        assert str(laptop.home).encode() not in data, name
        if name.endswith(".json"):
            json.loads(data)
    laptop.must("hosts", "folder", str(folder))
    assert laptop.run("hosts", "folder", str(laptop.home)).returncode == 1


def test_claude_code_accepts_the_folder(laptop, folder):
    real(
        "claude-code",
        "plugin",
        "validate",
        "--profile",
        "directory",
        str(folder / "plugins" / "agentm"),
        laptop=laptop,
    )
    real("claude-code", "plugin", "validate", str(folder), laptop=laptop)


def test_gemini_accepts_the_folder(laptop, folder):
    real("gemini", "extensions", "validate", str(folder / "gemini"), laptop=laptop)


def test_codex_and_copilot_install_from_the_folder(laptop, folder):
    real("codex", "plugin", "marketplace", "add", str(folder), laptop=laptop)
    real("codex", "plugin", "add", "agentm@agentm", laptop=laptop)
    real("copilot", "plugin", "marketplace", "add", str(folder), laptop=laptop)
    real("copilot", "plugin", "install", "agentm@agentm", laptop=laptop)
