"""History and coming back, through the commands that people use, on each kind of store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.checkpoints.device import AGENTM, Device

if TYPE_CHECKING:
    from pathlib import Path

STORES: dict[str, list[str]] = {
    "device-local": [],
    "vault": ["vault", "init", "{home}/vault", "--create", "--use"],
    "git": ["git", "init", "{home}/clone", "--use"],
}


@pytest.fixture(params=sorted(STORES))
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Device:
    made = Device(tmp_path)
    if STORES[request.param]:
        made.agentm(*(part.format(home=tmp_path) for part in STORES[request.param]))
    return made


def save(device: Device, *options: str, body: str) -> None:
    arguments = ("save", "--slug", "use-sqlite", "--kind", "decision", "--body-file", "-", *options)
    device.agentm(*arguments, stdin=body)


def test_every_save_update_and_forget_is_in_the_history(device: Device) -> None:
    save(device, body="Because it is there.\n")
    save(device, "--update", body="Because it is fast.\n")
    device.agentm("forget", "use-sqlite")

    answer = json.loads(device.agentm("checkpoint", "history", "use-sqlite", "--json"))

    assert [change["what"] for change in answer["changes"]] == ["created", "changed", "changed"]
    first = answer["changes"][1]["version"]
    assert "Because it is there." in device.agentm("checkpoint", "history", "use-sqlite", "--show", first)
    device.agentm("checkpoint", "undo", "use-sqlite")
    assert "Because it is fast." in device.agentm("notes", "show", "use-sqlite")
    device.agentm("checkpoint", "undo", "use-sqlite", first)
    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")
    assert "the history is whole: 6 changes" in device.agentm("checkpoint", "verify")


@pytest.mark.parametrize("name", ["device-local", "vault"])
def test_a_store_that_was_removed_comes_back(name: str, tmp_path: Path) -> None:
    device = Device(tmp_path)
    if STORES[name]:
        device.agentm(*(part.format(home=tmp_path) for part in STORES[name]))
    save(device, body="Because it is there.\n")
    device.agentm("checkpoint", "create")
    place = json.loads(device.agentm("store", "show", "--json"))["place"]
    shutil.rmtree(place)
    assert "into-new" in _refusal(device)

    device.agentm("checkpoint", "restore", "latest", "--into-new", "--yes")

    assert "Because it is there." in device.agentm("notes", "show", "use-sqlite")
    save(device, "--update", body="It goes on.\n")


def _refusal(device: Device) -> str:
    environ = {"HOME": str(device.home), "PATH": os.environ["PATH"]}
    command = [AGENTM, "checkpoint", "list"]
    done = subprocess.run(command, env=environ, cwd=device.project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr
