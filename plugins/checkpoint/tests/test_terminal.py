"""What a checkpoint prints on a terminal cannot steer it, whatever files and notes are called and say."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pty = pytest.importorskip("pty")

CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4=\x07"
MAIN = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"


def on_terminal(home: Path, *arguments: str) -> str:
    """What a person's terminal is sent."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        os.execve(sys.executable, [sys.executable, "-c", MAIN, *arguments], environ)
    sent = b""
    try:
        while chunk := os.read(terminal, 1 << 16):
            sent += chunk
    except OSError:  # how Linux says that nobody has the other end any more
        pass
    os.close(terminal)
    os.waitpid(child, 0)
    return sent.decode(errors="replace")


def test_a_list_shows_as_much_of_each_id_as_tells_it_from_the_others(tmp_path: Path) -> None:
    store = tmp_path / ".agentm" / "memory"
    (store / "_meta").mkdir(parents=True)
    (store / "_meta" / "store.json").write_text('{"id": "4f1c0b52-test", "created": "", "layout": 1}\n')
    ids = []
    for text in ("one\n", "two\n"):
        (store / "note.md").write_text(text)
        ids.append(json.loads(on_terminal(tmp_path, "checkpoint", "create", "--json"))["id"])

    shown = [line.split()[0] for line in on_terminal(tmp_path, "checkpoint", "list").splitlines()[1:]]

    assert all(len(short) < len(whole) and whole.startswith(short) for short, whole in zip(shown, ids, strict=True))
    for short, text in zip(shown, ("one", "two"), strict=True):
        assert text in on_terminal(tmp_path, "checkpoint", "show", short, "--path", "note.md")


def test_neither_names_nor_notes_steer_the_terminal(tmp_path: Path) -> None:
    store = tmp_path / ".agentm" / "memory"
    (store / "_meta").mkdir(parents=True)
    (store / "_meta" / "store.json").write_text('{"id": "4f1c0b52-test", "created": "", "layout": 1}\n')
    (store / "note.md").write_text(f"# Title {CLIPBOARD}\n\ntext {CLIPBOARD}\n")
    (store / f"bad{CLIPBOARD}.md").write_text("x")

    created = on_terminal(tmp_path, "checkpoint", "create")
    shown = on_terminal(tmp_path, "checkpoint", "show", "--path", "note.md")
    (store / "note.md").write_text(f"# Other {CLIPBOARD}\n\nelse\n")
    differs = on_terminal(tmp_path, "checkpoint", "diff")

    assert "not a note, not in the checkpoint" in created
    assert "\\x1b]52;c;" in shown
    assert "note.md" in differs
    for sent in (created, shown, differs):
        assert "\x1b]52" not in sent
        assert "\x07" not in sent
