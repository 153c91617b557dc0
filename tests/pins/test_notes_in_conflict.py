"""A sync tool that renames both versions of a note, as rclone does, leaves no note, but nobody is told that."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.pins.laptop import Laptop

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE, PLAN = "projects/widgets/facts/ports.md", "projects/widgets/_harness/PLAN.md"
NAME = ("--kind", "fact", "--slug", "ports")


def _rename(vault: Path, *endings: str) -> None:
    for key in (NOTE, PLAN):
        text = (vault / key).read_text()
        for ending in endings:
            (vault / f"{key}{ending}").write_text(f"{text}as {ending[-1]} has it\n")
        (vault / key).unlink()


def _with_rclone(vault: Path) -> None:
    """Let the real program bring two changed folders together."""
    other, memory = vault.with_name("other vault"), vault.with_name("rclone")
    command = ["rclone", "bisync", str(vault), str(other), "--workdir", str(memory), "--config", "/dev/null"]
    other.mkdir()
    subprocess.run([*command, "--resync"], check=True, capture_output=True)
    for folder, number in ((vault, "1"), (other, "2")):
        for key in (NOTE, PLAN):
            with open(folder / key, "a") as file:
                file.write(f"as {number} has it\n" * int(number))
    subprocess.run([*command, "--force"], check=True, capture_output=True)


TOOLS: dict[str, Callable[[Path], None]] = {
    "rclone's names": lambda vault: _rename(vault, "..path1", "..path2"),
    "rclone's newer names": lambda vault: _rename(vault, ".conflict1", ".conflict2"),
    "rclone": _with_rclone,
}


@pytest.fixture(params=TOOLS)
def laptop(request: pytest.FixtureRequest, tmp_path: Path) -> Laptop:
    if request.param == "rclone" and shutil.which("rclone") is None:
        pytest.skip("rclone is not installed")
    laptop = Laptop(tmp_path)
    vault = tmp_path / "vault"
    laptop.must("vault", "init", str(vault), "--create", "--use")
    laptop.must("save", *NAME, input="The port is 8080.\n")
    laptop.must("state", "write", "PLAN.md", input="# Plan\n")
    TOOLS[request.param](vault)
    assert not (vault / NOTE).exists()
    return laptop


def test_a_plan_is_not_absent(laptop: Laptop) -> None:
    said = laptop.run("state", "read", "PLAN.md")
    assert (said.code, said.out) == (1, "")
    assert f"error: '{PLAN}' is in conflict: 2 versions of it wait to be settled" in said.err
    assert "`agentm vault resolve`" in said.err
    for command in (("state", "list"), ("plan", "list")):
        err = laptop.run(*command).err
        assert err.count("is another version, and waits to be settled") == 2
        assert "makes a plan" not in err


@pytest.mark.parametrize(
    "command", [("notes", "show", "ports"), ("forget", "ports"), ("save", "--update", *NAME)], ids=lambda c: c[0]
)
def test_a_note_is_not_absent_by_its_name(laptop: Laptop, command: tuple[str, ...]) -> None:
    said = laptop.run(*command, input="The port is 9090.\n")
    assert said.code == 1
    assert f"'{NOTE}' is in conflict" in said.err
    assert "[storage_conflict]" in said.err


def test_a_note_is_not_taken_for_another_that_has_its_name_as_a_part(laptop: Laptop) -> None:
    laptop.must("save", "--slug", "ports-of-call", input="Lisbon.\n")
    said = laptop.run("forget", "ports")
    assert (said.code, f"'{NOTE}' is in conflict" in said.err) == (1, True)
    assert "Lisbon." in laptop.must("recall-here")


def test_lists_and_searches_that_have_nothing_to_show_say_what_waits(laptop: Laptop) -> None:
    waits = "is in conflict: only other versions of it are there, and wait to be settled"
    assert laptop.run("notes", "list").err == f"{NOTE}: {waits}\n"
    assert json.loads(laptop.must("notes", "list", "--json"))["problems"] == {NOTE: waits}
    assert "One note waits to be settled" in laptop.run("search", "port").err


def test_a_session_is_not_told_that_memory_is_empty(laptop: Laptop) -> None:
    told = laptop.must("hook", "session-start")
    assert "Memory is empty" not in told
    assert "One note waits to be settled, because a sync tool left only conflict copies: projects/widgets/" in told
    assert "Conflict copies of a plan or its progress wait to be settled" in told


def test_once_settled_the_note_is_there_and_the_other_version_too(laptop: Laptop) -> None:
    for copy in json.loads(laptop.must("vault", "conflicts", "--json"))["conflicts"]:
        laptop.must("vault", "resolve", copy["copy"], "--take", "mine", "--yes")
    assert "The port is 8080." in laptop.must("notes", "show", "ports")
    assert laptop.run("notes", "list").err == ""
    vault = laptop.folder / "vault"
    texts = [path.read_text() for path in vault.rglob("*.md") if "ports" in str(path) and path.is_file()]
    assert all(any(f"as {number} has it" in text for text in texts) for number in "12")
