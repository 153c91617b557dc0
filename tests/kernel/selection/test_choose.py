"""Configuration, then environment, then the default."""

from __future__ import annotations

import re

import pytest

from agentm_kernel import storage_preview
from agentm_kernel.device.config_writer import set_value
from agentm_kernel.plugin import StorageSelectionError, choose_protocol


def test_a_new_device_uses_its_own_folder(device):
    assert choose_protocol(device.environ) == "device-local"


def test_the_vault_variable_chooses_the_vault(device):
    assert choose_protocol({**device.environ, "MEMORY_VAULT_PATH": "/anywhere"}) == "vault"


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_vault_variable_says_nothing(device, blank):
    assert choose_protocol({**device.environ, "MEMORY_VAULT_PATH": blank}) == "device-local"


def test_the_configuration_beats_the_variable(device):
    device.configure(**{"storage.backend": "elsewhere"})
    assert choose_protocol({**device.environ, "MEMORY_VAULT_PATH": "/anywhere"}) == "elsewhere"


UPGRADED = {
    "flat": {"vault_path": "/anywhere"},
    "of the older plugin": {"plugins": {"obsidian-vault": {"vault_path": "/anywhere"}}},
    "current": {"plugins.vault.vault_path": "/anywhere"},
}


@pytest.mark.parametrize("settings", UPGRADED.values(), ids=UPGRADED)
def test_a_vault_path_alone_is_refused_with_the_two_commands_that_settle_it(device, settings):
    device.configure(**settings)

    with pytest.raises(StorageSelectionError) as refused:
        choose_protocol(device.environ)

    assert "/anywhere" in refused.value.message
    commands = re.findall(r"`agentm config set (\S+) (\S+)`", refused.value.hint)
    assert commands == [("storage.backend", "vault"), ("storage.backend", "device-local")]
    for key, value in commands:
        set_value(device.environ, key, value)
        assert choose_protocol(device.environ) == value


@pytest.mark.parametrize("settings", UPGRADED.values(), ids=UPGRADED)
def test_the_variable_decides_about_a_vault_path(device, settings):
    device.configure(**settings)
    assert choose_protocol({**device.environ, "MEMORY_VAULT_PATH": "/elsewhere"}) == "vault"


def test_the_preview_shows_the_same_refusal(device):
    device.configure(vault_path="/anywhere")
    preview = storage_preview()
    assert preview.status == "fail"
    assert "/anywhere" in preview.line
    assert "agentm config set storage.backend vault" in preview.line
