"""Notes and file names made of what terminals obey, shown by every command that shows notes, on a real terminal.

What a terminal is sent must hold no control character and no character that hides or turns text, but for line ends
and the colours that the command itself chose.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.faults.harness import Intensity, Outcome, scratch

if TYPE_CHECKING:
    import random

_PIECES = (
    *("\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]0;title\x07", "\x1b[2J", "\x1b[31m", "\x1b[8m", "\x1bP1$r\x1b\\", "\x1bc"),
    *("\x9b31m", "\x9d52;c;x\x9c", "\x07", "\x08", "\x7f", "\x0b", "\x0c", "\x0e", "\x85", "\x90", "\x00\x1b[5i"),
    *("\u202e", "\u2066", "\u200b", "\u00ad", "\u2028", "\ufeff", "\u180e", "\U000e0041", "\r", "\r\n"),
    *("quokka ", "word ", "\n", "\n\n", "# ", "`", "```", "- ", "| "),
)
_COMMANDS = (
    *(["notes", "list", "--everywhere", "--all"], ["notes", "review"], ["search", "quokka"], ["recall-here"]),
    *(["search", "--explain", "--all", "quokka"], ["documenter-context"], ["hook", "session-start"], ["doctor"]),
    *(["state", "read", "PLAN.md"], ["state", "list"], ["checkpoint", "create"], ["checkpoint", "show", "latest"]),
    *(["project", "list"], ["notes", "show", "note-0"], ["notes", "why", "note-0"], ["checkpoint", "diff"]),
)
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_MAIN = "import sys; from agentm_kernel.cli.main import main; sys.exit(main())"
_OBEYING = "import agentm_kernel.cli; agentm_kernel.cli.shown = lambda text, err=False: text; "
_SECONDS = 60


def campaign(intensity: Intensity) -> Outcome:
    outcome = Outcome("commands that show hostile notes on a terminal")
    try:
        import pty  # noqa: F401
    except ImportError:
        outcome.skips.append("there are no terminals to open on this system")
        return outcome
    for number in range(intensity.pick(short=1, full=25)):
        _show(outcome, intensity.random(f"notes {number}"), _MAIN)
    broken = Outcome("control")
    _show(broken, intensity.random("control"), _OBEYING + _MAIN)
    outcome.control("commands that print what notes say as it is", broken)
    return outcome


def _show(outcome: Outcome, chance: random.Random, program: str) -> None:
    with scratch() as folder:
        home = Path(folder)
        project = home / "widgets"
        (project / ".harness").mkdir(parents=True)
        notes = home / ".agentm" / "memory" / "projects" / "widgets"
        for number in range(6):
            _plant(notes / "decisions", f"note-{number}.md", chance)
            _plant(notes / "wiki-style", f"{_name(chance)}{number}.md", chance)
        _plant(notes, "_index.md", chance)
        (project / ".harness" / "PLAN.md").write_text(_text(chance), encoding="utf-8")
        (project / ".harness" / f"PLAN-{_name(chance)}.md").write_text(_text(chance), encoding="utf-8")
        environ = {"HOME": folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        _on_terminal(project, environ, [sys.executable, "-c", _MAIN, "save", "--slug", "first", "A plain quokka."])
        for command in _COMMANDS:
            outcome.count += 1
            sent = _on_terminal(project, environ, [sys.executable, "-c", program, *command])
            for character in sorted(set(_COLOURS.sub("", sent))):
                if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in "\r\n\t":
                    outcome.violation("steered", f"{' '.join(command)} sent {ascii(character)}")


def _plant(folder: Path, name: str, chance: random.Random) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    fields = "".join(f'{field}: "{_line(chance)}"\n' for field in ("kind", "source", "title", "tags"))
    head = f"---\n{fields}---\n" if chance.random() < 0.7 else ""
    with suppress(OSError):  # the file system does not take that name
        (folder / name).write_text(f"{head}{_text(chance)}", encoding="utf-8")


def _text(chance: random.Random) -> str:
    return "quokka " + "".join(chance.choice(_PIECES) for _ in range(chance.randint(5, 60)))


def _line(chance: random.Random) -> str:
    return "".join(chance.choice(_PIECES) for _ in range(4)).replace("\n", " ").replace("\r", " ")


def _name(chance: random.Random) -> str:
    return _line(chance).replace("/", "").replace("\0", "")


def _on_terminal(folder: Path, environ: dict[str, str], command: list[str]) -> str:
    """What a terminal is sent by the command, which gets the end of its input at once."""
    import pty

    child, terminal = pty.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        os.chdir(folder)
        os.execve(command[0], command, environ)
    sent = b""
    with suppress(OSError):  # the command ended before it was read from, or Linux says that nobody writes any more
        os.write(terminal, b"\x04")
        while chunk := os.read(terminal, 1 << 16):
            sent += chunk
    os.close(terminal)
    os.waitpid(child, 0)
    return sent.decode(errors="replace")
