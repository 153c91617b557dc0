"""Style only for people, and questions only to people."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import AgentmError
from agentm_kernel.cli import app, exit_code_of, main, patience
from agentm_kernel.cli.output import confirm, counted, echo_table
from agentm_kernel.plugin import DeclinedError
from agentm_kernel.state import Device

if TYPE_CHECKING:
    from tests.kernel.cli.conftest import Machine

pty = pytest.importorskip("pty")

BOLD = "\x1b[1m"
GREEN = "\x1b[32m"


def on_terminal(machine: Machine, *arguments: str) -> str:
    """What a person sees who runs the command."""
    master, slave = pty.openpty()
    with machine.start(*arguments, stdout=slave) as process:
        os.close(slave)
        shown = b""
        while chunk := _read(master):
            shown += chunk
    os.close(master)
    assert process.returncode == 0
    return shown.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 1 << 16)
    except OSError:  # how Linux says that nobody has the other end any more
        return b""


def test_a_terminal_gets_headings_and_style(machine: Machine) -> None:
    assert on_terminal(machine, "plugins", "list").startswith(f"{BOLD}PLUGIN")
    assert on_terminal(machine, "doctor").startswith(f"{GREEN}OK")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_style_gets_none(machine: Machine, name: str, value: str) -> None:
    machine.environ[name] = value

    assert on_terminal(machine, "plugins", "list").startswith("PLUGIN")
    assert on_terminal(machine, "doctor").startswith("OK")


def test_the_rows_of_doctor_are_aligned_and_a_long_name_has_a_line_of_its_own(machine: Machine) -> None:
    machine.install(
        "wordy",
        "from agentm_kernel.plugin import DoctorRow, hookimpl\n"
        "@hookimpl\n"
        "def agentm_doctor_checks(context):\n"
        "    return [DoctorRow('ok', 'a check with a long name', 'HERE', 'HINT')]\n",
        "[agentm.plugins]\nwordy = plugin_wordy\n",
    )

    *others, name, row, hint = machine.execute("doctor").out.splitlines()

    column = hint.index("hint: HINT")
    assert all(line[column - 2 : column] == "  " and line[column] != " " for line in others)
    assert name == "OK    a check with a long name"
    assert row.index("HERE") == column


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_nothing_that_is_listed_is_wider_than_the_terminal(machine: Machine, columns: int) -> None:
    machine.environ.update(COLUMNS=str(columns), NO_COLOR="1")
    listing = (["doctor"], ["plugins", "list"], ["store", "list"], ["config", "list"], ["store", "show"])
    for words in (*listing, ["--help"], ["config", "--help"]):
        for line in on_terminal(machine, *words).splitlines():
            assert len(line) <= columns, (words, line)


def test_what_has_no_headings_or_no_rows_begins_with_no_line_for_them(machine: Machine) -> None:
    assert on_terminal(machine, "store", "show").startswith("name")
    assert on_terminal(machine, "config", "list").rstrip() == "nothing is set: the defaults apply"


def test_a_row_that_cannot_be_made_so_narrow_has_a_line_for_each_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [("a-long-enough-name", "here", "not connected"), ("b", "gone", "and a few words more")]
    monkeypatch.setenv("COLUMNS", "40")
    echo_table(("host", "installed", "connected"), rows)
    narrow = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "30")
    echo_table(("host", "installed", "connected"), rows)

    assert max(map(len, narrow.splitlines())) <= 40
    assert "HOST" in narrow.splitlines()[0]
    assert capsys.readouterr().out.splitlines()[:3] == [
        "HOST       a-long-enough-name",
        "INSTALLED  here",
        "CONNECTED  not connected",
    ]


def test_one_is_not_many() -> None:
    assert [counted(number, "note") for number in (0, 1, 2, 1200)] == ["0 notes", "1 note", "2 notes", "1,200 notes"]


def test_yes_is_not_asked() -> None:
    confirm("Really?", yes=True)


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    with pytest.raises(AgentmError, match=r"Really\? There is no terminal"):
        confirm("Really?", yes=False)


def test_whoever_does_not_confirm_is_told_that_nothing_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Person("n\n"))

    with pytest.raises(DeclinedError, match="not confirmed; nothing was changed"):
        confirm("Really?", yes=False)


def test_a_question_that_is_declined_or_left_is_no_error(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever said no knows why: one plain line, and exit code 1 so that a script does not go on."""

    class Person(io.StringIO):
        def isatty(self) -> bool:
            return True

    for answer in ("n\n", ""):  # the second is Ctrl-D
        monkeypatch.setattr(sys, "stdin", Person(answer))
        assert exit_code_of(lambda: confirm("Really?", yes=False) or 0) == 1
        printed, said = capsys.readouterr()
        assert (printed, said.startswith("Really?")) == ("", True), "what is printed is the answer, which others read"
        assert said.splitlines()[-1].endswith("not confirmed; nothing was changed")
        assert "error:" not in said


def test_a_terminal_gets_control_characters_spelled_out_and_a_pipe_every_byte(machine: Machine) -> None:
    text = "caf\u00e9 \x1b]52;c;eA==\x07 \u202edne\r\n\tdone\n"
    machine.harness.mkdir()
    (machine.harness / "PLAN.md").write_bytes(text.encode())

    with machine.start("state", "read", "PLAN.md", stdout=subprocess.PIPE) as process:
        assert process.stdout.read() in (text, text.encode())
    sent = on_terminal(machine, "state", "read", "PLAN.md")
    assert "caf\u00e9 \\x1b]52;c;eA==\\x07 \\u202edne\\r" in sent
    assert "\x1b" not in sent


@pytest.mark.parametrize(("columns", "width"), [(20, 30), (32, 30), (33, 31), (80, 78), (100, 98), (300, 98)])
def test_help_fits_a_narrow_terminal_and_does_not_fill_a_wide_one(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int
) -> None:
    asked: list[int] = []

    def main(*, terminal_width: int, **_: object) -> int:
        asked.append(terminal_width)
        return 0

    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(app.app, "main", main)
    assert app.run(Device.now(), ["--help"]) == 0
    assert asked == [width]


@pytest.mark.parametrize(
    ("value", "seconds"), [("0", 0.1), ("-5", 0.1), ("0.3", 0.3), ("600", 600.0), ("soon", 7.0), ("", 7.0)]
)
def test_patience_is_what_the_environment_says_and_never_none_at_all(value: str, seconds: float) -> None:
    assert patience({"AGENTM_PATIENCE": value}, 7.0) == seconds
    assert patience({}, 7.0) == 7.0


@pytest.mark.parametrize(
    ("words", "is_ours"),
    [
        ([], False),
        (["--version"], True),
        (["--store", "x"], False),
        (["doctor"], True),
        (["doctor", "x"], True),
        (["config"], True),
        (["config", "set"], True),
        (["config", "--help"], True),
        (["config", "added-by-a-plugin"], False),
        (["recall"], False),
    ],
)
def test_a_process_ends_at_once_only_after_a_command_of_the_kernel(words: list[str], is_ours: bool) -> None:
    assert main._is_of_kernel(words) is is_ours


def test_whoever_writes_a_plan_at_the_terminal_is_told_how_to_end_it(machine: Machine) -> None:
    master, slave = pty.openpty()
    with machine.start("state", "write", "PLAN.md", stdin=slave) as process:
        os.close(slave)
        os.write(master, b"# Plan\n\x04")
        _, told = process.communicate(timeout=30)
    os.close(master)
    assert process.returncode == 0
    assert b"end with Ctrl-D" in told
    assert (machine.harness / "PLAN.md").read_text() == "# Plan\n"
    assert "Ctrl-D" not in machine.run("state", "append", "PLAN.md", input="- [ ] more\n").err
