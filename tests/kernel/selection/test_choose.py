"""Configuration, then environment, then the default."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import choose_protocol


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


def test_a_configured_vault_path_alone_chooses_nothing(device):
    device.configure(**{"plugins.vault.vault_path": "/anywhere"})
    assert choose_protocol(device.environ) == "device-local"
