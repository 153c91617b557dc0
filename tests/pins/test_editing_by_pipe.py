"""`agentm notes show NOTE | sed … | agentm save --update …`: one front matter, one note, on each kind of store."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.checkpoints.device import Device

if TYPE_CHECKING:
    from pathlib import Path

STORES: dict[str, list[str]] = {
    "device-local": [],
    "vault": ["vault", "init", "{home}/vault", "--create", "--use"],
    "git": ["git", "init", "{home}/clone", "--use"],
}
NAME = ("--kind", "decision", "--slug", "use-files")


@pytest.fixture(params=sorted(STORES))
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Device:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = Device(tmp_path)
    if STORES[request.param]:
        made.agentm(*(part.format(home=tmp_path) for part in STORES[request.param]))
    made.agentm("save", *NAME, "--tag", "storage", stdin="# Use files\n\nThey last.\n")
    return made


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte order mark"])
def test_a_note_that_is_printed_edited_and_saved_again_keeps_one_front_matter(
    device: Device, ends: str, mark: str
) -> None:
    printed = device.agentm("notes", "show", "use-files")
    edited = mark + printed.replace("They last.", "They stay.").replace("storage", "disk").replace("\n", ends)

    assert device.agentm("save", "--update", *NAME, stdin=edited).startswith("updated projects/widgets/decisions/")

    after = device.agentm("notes", "show", "use-files")
    assert after.replace("\r\n", "\n").count("---\n") == 2
    assert "They stay." in after
    assert "disk" in after
    assert device.agentm("notes", "list").count("use-files") == 1
