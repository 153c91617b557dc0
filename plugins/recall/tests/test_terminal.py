"""A terminal obeys what it is sent, so no command sends it what a note says as it is; a pipe gets every byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty")

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"
"""Written to a terminal, it puts `rm -rf ~` on the clipboard."""
RIGHT_TO_LEFT = "\u202e"
MAIN = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


def on_terminal(home, *arguments, typed=b""):
    """What a person's terminal is sent, who has typed something already."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home.project)
        os.execve(sys.executable, [sys.executable, "-c", MAIN, *arguments], {**home.environ, "LC_ALL": "C.UTF-8"})
    os.write(terminal, typed)
    sent = b""
    try:
        while chunk := os.read(terminal, 1 << 16):
            sent += chunk
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return sent.decode(errors="replace")


@pytest.fixture
def planted(home, store):
    text = f"# Title {CLIPBOARD}{RIGHT_TO_LEFT}\n\nquokka {CLIPBOARD} body\n"
    home.note("projects/widgets/decisions/bad.md", f'---\nkind: "{CLIPBOARD}x"\n---\n{text}')
    home.note("projects/widgets/wiki-style/bad-style.md", text)
    home.note("projects/widgets/_index.md", text)
    home.note("projects/widgets/broken.md", f"---\ntitle: '{CLIPBOARD}\n---\n{text}")
    home.note("projects/widgets/_harness/PLAN.md", text)
    (home.project / ".harness").mkdir()
    (home.project / ".harness" / "PLAN.md").write_text(text)
    return home


@pytest.mark.parametrize(
    "command",
    [
        "notes list",
        "notes show bad",
        "search quokka",
        "search --explain quokka",
        "documenter-context",
        "recall-here",
        "recall-here --query quokka",
        "state read PLAN.md",
        "state list",
        "doctor",
    ],
)
def test_no_command_lets_a_note_steer_the_terminal(planted, command):
    sent = on_terminal(planted, *command.split())

    assert sent.strip()
    assert "\x1b]52" not in sent
    assert "\x07" not in sent
    assert RIGHT_TO_LEFT not in sent


@pytest.mark.parametrize("command", ["notes show bad", "state read PLAN.md"])
def test_what_is_hidden_is_spelled_out_on_a_terminal_and_whole_in_a_pipe(planted, command):
    assert "\\x1b]52;c;" in on_terminal(planted, *command.split())
    assert f"quokka {CLIPBOARD} body\n" in planted.run(*command.split()).stdout


def test_a_person_is_told_that_the_text_is_waited_for(home, store):
    sent = on_terminal(home, "save", "--kind", "fact", "--slug", "a", typed=b"Typed.\n\x04")

    assert "The text; end with Ctrl-D" in sent
    assert "created projects/widgets/facts/a.md" in sent
    assert (home.root / "projects/widgets/facts/a.md").read_text().endswith("\nTyped.\n")


def test_what_a_person_is_told_is_not_in_the_answer_for_a_program(home, store):
    command = [sys.executable, "-c", MAIN, "save", "--kind", "fact", "--slug", "a", "--json"]
    typing, terminal = pty.openpty()
    os.write(typing, b"Typed.\n\x04")
    done = subprocess.run(
        command, stdin=terminal, capture_output=True, cwd=home.project, env=home.environ, check=True, timeout=60
    )
    os.close(terminal)
    os.close(typing)

    assert b"end with Ctrl-D" in done.stderr
    assert json.loads(done.stdout)["saved"][0]["key"] == "projects/widgets/facts/a.md"


def test_a_person_who_gives_words_is_asked_nothing(home, store):
    sent = on_terminal(home, "save", "Payments use SQLite")

    assert sent.split() == ["created", "projects/widgets/facts/payments-use-sqlite.md"]
    assert "source: operator\n" in (home.root / "projects/widgets/facts/payments-use-sqlite.md").read_text()


def test_a_person_who_gives_nothing_is_asked(home, store):
    sent = on_terminal(home, "save", typed=b"decision\n# Use files\n\x04files\n")

    assert "Kind" in sent
    assert "Name [use-files]: " in sent
    assert "created projects/widgets/decisions/files.md" in sent


def test_this_terminal_would_have_been_steered(planted):
    """The control: what the commands do not do reaches the terminal here."""
    code = f"import sys; sys.stdout.write({CLIPBOARD!r})"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    assert "\x1b]52" in os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    os.waitpid(child, 0)
