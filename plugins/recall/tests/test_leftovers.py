"""What a write replaced is settled also in folders that nobody writes to again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.files import displaced
from agentm_kernel.plugin import Device
from agentm_recall import upkeep
from agentm_recall.leftovers import settle_leftovers

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Home

NOTE = Locator("projects/widgets/facts/port.md")


@pytest.fixture
def replaced(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which a note was just replaced, by a process that has ended; its folder."""
    monkeypatch.setattr(displaced, "LEASED_GRACE", 0.0)
    monkeypatch.setattr(displaced, "UNLEASED_GRACE", 0.0)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    home.run("save", "--kind", "fact", "--slug", "port", input="8080\n")
    home.run("save", "--kind", "fact", "--slug", "port", "--update", input="8081\n")
    folder = home.root / NOTE.parent.key
    if not list(folder.glob(".agentm-*.swap")):
        pytest.skip("this file system cannot exchange two names, so nothing is left")
    return folder


def test_what_is_young_is_left_to_whoever_may_hold_it_open(replaced: Path, home: Home) -> None:
    assert settle_leftovers(Device.now(home.environ).store(read_only=False)) == 0
    assert list(replaced.glob(".agentm-*.swap"))


def test_what_is_old_is_dropped_and_the_note_stays(replaced: Path, home: Home) -> None:
    store = Device.now(home.environ).store(read_only=False)
    assert settle_leftovers(store, age=0.0) == 1
    assert [file.name for file in replaced.iterdir()] == ["port.md"]
    assert "8081" in store.read(NOTE)


def test_lines_that_a_program_added_to_it_come_into_the_note(replaced: Path, home: Home) -> None:
    (swap,) = replaced.glob(".agentm-*.swap")
    with swap.open("a") as program:
        program.write("said by a program that had it open\n")
    store = Device.now(home.environ).store(read_only=False)
    settle_leftovers(store, age=0.0)
    assert "said by a program that had it open" in store.read(NOTE)


def test_the_process_in_the_background_sees_to_it(
    replaced: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentm_recall.leftovers.settle_leftovers.__kwdefaults__", {"age": 0.0})
    monkeypatch.chdir(home.project)
    home.run("reindex")
    (index,) = (home.path / ".cache").rglob("notes-*.sqlite3")
    upkeep.main(str(index), str(home.project))
    assert [file.name for file in replaced.iterdir()] == ["port.md"]
