"""A bar shows how far long work is: to people, on standard error, and only where it is worth it."""

from __future__ import annotations

import io
import sys

import pytest
from click.testing import CliRunner
from import_home import write_source

from agentm_import import command_export, command_import


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("bar", "label"), [(command_import._bar, "importing"), (command_export._bar, "exporting")], ids=["in", "out"]
)
@pytest.mark.parametrize(
    ("stream", "length", "is_shown"),
    [(Terminal, 200, True), (Terminal, 199, False), (io.StringIO, 200, False)],
    ids=["a person, much", "a person, little", "a program"],
)
def test_a_bar_is_for_people_who_wait(bar, label, stream, length, is_shown, monkeypatch, capsys):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    steps = [str(number) for number in range(length)]
    assert list(bar(steps)) == steps
    assert (label in err.getvalue()) is is_shown
    assert bool(err.getvalue()) is is_shown
    assert capsys.readouterr().out == ""


def test_a_person_sees_how_far_an_export_is(home, tmp_path, monkeypatch):
    files = {f"personal/facts/n{number}.md": "Tea.\n" for number in range(3)}
    write_source(home.root, files)
    shown = []
    monkeypatch.setattr(command_export, "_bar", lambda paths: shown.extend(paths) or paths)
    assert CliRunner().invoke(command_export.command, ["markdown", str(tmp_path / "out")]).exit_code == 0
    assert shown == sorted(files)
