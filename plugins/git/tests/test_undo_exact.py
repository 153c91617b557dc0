"""`agentm git undo` brings a note back bit for bit, whatever its bytes are, and loses nothing on the way."""

from __future__ import annotations

import os
import subprocess

import pytest
from clones import AGENTM, device

CONTENTS = {
    "CRLF": b"one\r\ntwo\r\n",
    "bare CR": b"one\rtwo\r",
    "mixed line ends": b"one\r\ntwo\nthree\r",
    "BOM": b"\xef\xbb\xbf# Title\n",
    "empty": b"",
    "no final newline": b"text",
    "only newlines": b"\n\n\n",
    "not NFC": "cafe\u0301 A\u030a\n".encode(),
    "zero byte": b"a\0b\n",
    "trailing spaces": b"text  \n \t\n",
    "git's own markers": b"$Id$\n<<<<<<< HEAD\n=======\n>>>>>>> x\n",
    "large": b"a long line of a long note\n" * 40_000,
    "last lines of Unicode": "\u2028\u2029\x85\x0c\U0001f9e0".encode(),
}


@pytest.fixture
def laptop(tmp_path):
    home = tmp_path / "home"
    home.mkdir()

    def run(*arguments):
        command = [AGENTM, *arguments]
        done = subprocess.run(command, cwd=home, env=device(str(home)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("git", "init", "notes", "--use")
    run.notes = home / "notes"
    return run


def test_undo_restores_every_byte_and_undoing_again_brings_the_other_back(laptop):
    """Line ends are no business of git's here, even where the repository says that they are."""
    (laptop.notes / ".gitattributes").write_bytes(b"* text=auto eol=crlf ident working-tree-encoding=UTF-16\n")
    names = {what: f"{what.replace(' ', '-')}.md" for what in CONTENTS}
    for what, content in CONTENTS.items():
        (laptop.notes / names[what]).write_bytes(content)
    laptop("git", "sync")
    for what in CONTENTS:
        (laptop.notes / names[what]).write_bytes(b"a mistake\n")
    laptop("git", "sync")
    for what, content in CONTENTS.items():
        laptop("git", "undo", names[what])
        assert (laptop.notes / names[what]).read_bytes() == content, what
    for what in ("CRLF", "empty"):
        laptop("git", "undo", names[what])
        assert (laptop.notes / names[what]).read_bytes() == b"a mistake\n"


def test_undo_brings_a_deleted_note_back(laptop):
    note = laptop.notes / "deep" / "note.md"
    note.parent.mkdir()
    note.write_bytes(CONTENTS["CRLF"])
    laptop("git", "sync")
    os.unlink(note)
    laptop("git", "sync")
    laptop("git", "undo", "deep/note.md")
    assert note.read_bytes() == CONTENTS["CRLF"]


def test_an_edit_that_was_not_committed_is_undone_and_kept_in_history(laptop):
    note = laptop.notes / "note.md"
    note.write_bytes(b"\xef\xbb\xbfone\r\n")
    laptop("git", "sync")
    note.write_bytes(b"two\r\n")
    laptop("git", "undo", "note.md")
    assert note.read_bytes() == b"\xef\xbb\xbfone\r\n"
    laptop("git", "undo", "note.md")
    assert note.read_bytes() == b"two\r\n"
