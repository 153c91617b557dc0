"""The configuration of an older install, in which a path was all that it took to use a vault."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Device

SPELLINGS = ["vault_path", "plugins.obsidian-vault.vault_path", "plugins.vault.vault_path"]


def upgrade(device: Device, spelling: str) -> Path:
    """Give the device an older install's configuration, and a vault with a store's mark."""
    device.agentm("vault", "init", "~/notes", "--create")
    path = device.home / ".agentm" / ".agentm-config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), spelling: str(device.home / "notes")}))
    return path


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_command_takes_it_for_the_default_store(device: Device, spelling: str) -> None:
    upgrade(device, spelling)
    for command in (["state", "path"], ["store", "show"], ["project", "list"]):
        refused = device.agentm(*command, code=1)
        assert "says where a vault is" in refused.stderr
        assert "agentm config set storage.backend vault" in refused.stderr
    assert not (device.home / ".agentm" / "memory").exists()
    shown = device.agentm("hook", "session-start", stdin="{}").stdout
    assert "agentm config set storage.backend vault" in shown


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_command_in_the_hints_of_doctor_works_and_settles_it(device: Device, spelling: str) -> None:
    path = upgrade(device, spelling)
    before = path.read_text()
    shown = device.agentm("doctor", code=1).stdout
    hints = [line for line in shown.splitlines() if line.strip().startswith("hint:")]
    commands = {command for line in hints for command in re.findall(r"`agentm (config [^`]*)`", line)}
    assert commands >= {
        "config set storage.backend vault",
        "config set storage.backend device-local",
        "config unset plugins.vault",
    }
    for command in commands:
        path.write_text(before)
        device.agentm(*command.split())
        assert "FAIL" not in device.agentm("doctor").stdout, command


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_its_path_is_read_and_unset_by_its_current_name(device: Device, spelling: str) -> None:
    path = upgrade(device, spelling)
    assert device.agentm("config", "get", "plugins.vault.vault_path").stdout == f"{device.home / 'notes'}\n"
    device.agentm("config", "unset", "plugins.vault.vault_path")
    assert list(json.loads(path.read_text())) == ["plugin_policy"]
