"""What was chosen is had, or refused with what to run; the preview says the same in the same words."""

from __future__ import annotations

import os

import pytest

from agentm_kernel import Capabilities, Locator, select_backend, storage_preview
from agentm_kernel.device.installed import Installed, PluginRecord
from agentm_kernel.plugin import (
    BackendLayer,
    BackendNotInstalledError,
    CapabilityMismatchError,
    Device,
    StorageSelectionError,
)
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection import Refusal, inspect_store


def refusal(environ, *, read_only=False):
    """The refusal of `select_backend`, having checked that the preview says the same."""
    with pytest.raises(StorageSelectionError) as caught:
        select_backend(environ=environ, read_only=read_only)
    if not read_only:
        preview = storage_preview(environ)
        assert preview.status == "fail"
        assert preview.line == str(caught.value)
    assert caught.value.hint, "a refusal says what to run"
    return caught.value


def test_a_new_device_gets_the_default_store(device):
    backend = select_backend(environ=device.environ)
    assert backend.describe() == str(device.home / ".agentm" / "memory")
    assert storage_preview(device.environ).status == "ok"


def test_selecting_and_reading_create_nothing(device):
    backend = select_backend(environ=device.environ)
    assert backend.list(Locator()) == []
    assert not backend.exists(Locator("note.md"))
    storage_preview(device.environ)
    assert device.files() == set()


def test_a_backend_that_is_not_installed_is_named_with_the_command(device):
    device.configure(**{"storage.backend": "vault-of-mars"})
    error = refusal(device.environ)
    assert isinstance(error, BackendNotInstalledError)
    assert "vault-of-mars" in error.message
    assert "device-local" in error.message, "what is installed is listed"


def test_known_backends_come_with_their_pip_line(device, monkeypatch):
    monkeypatch.setattr("agentm_kernel.device.installed.installed_plugins", lambda: Installed((), ()))
    device.configure(**{"storage.backend": "bucket"})
    assert "pip install agentm-bucket" in refusal(device.environ).hint


def test_whoever_installed_another_store_than_the_default_is_led_to_its_set_up(device, monkeypatch):
    git = PluginRecord("agentm.backends", "git", "m:Store", "agentm-git", "1.0", "/site")
    monkeypatch.setattr("agentm_kernel.device.installed.installed_plugins", lambda: Installed((git,), ()))
    hint = refusal(device.environ).hint
    assert hint == "run `pip install agentm-device-local`, or set up what is installed with `agentm git init`"


def test_nothing_takes_the_place_of_a_store_that_cannot_be_had(device):
    device.configure(**{"storage.backend": "nowhere"})
    refusal(device.environ)
    assert not (device.home / ".agentm").exists()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"storage.backend": 5}', '{"storage.backend": ""}', '{"storage.backendd": "x"}'],
    ids=["empty", "cut off", "a list", "a number", "blank", "misspelt"],
)
def test_a_configuration_that_cannot_be_relied_on_is_a_refusal(device, text):
    device.configure()
    (device.home / ".config/agentm/.agentm-config.json").write_text(text)
    assert ".agentm-config.json" in refusal(device.environ).message


def test_wrong_options_are_a_refusal(device):
    device.configure(**{"storage.backend": "stub", "plugins.stub.colour": "blue"})
    assert "stub" in refusal(device.environ).message


def test_a_missing_folder_is_a_refusal_for_readers_too(device, tmp_path):
    device.uses_stub(tmp_path / "not-mounted")
    assert "missing" in refusal(device.environ).message
    assert "missing" in refusal(device.environ, read_only=True).message
    assert not (tmp_path / "not-mounted").exists()


def test_a_file_in_the_place_of_the_folder_is_a_refusal(device, tmp_path):
    (tmp_path / "file").write_text("x")
    device.uses_stub(tmp_path / "file")
    assert "not a folder" in refusal(device.environ).message


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes are a matter of POSIX")
def test_a_store_that_cannot_be_written_is_refused_to_writers_and_open_to_readers(device, tmp_path, monkeypatch):
    store = tmp_path / "store"
    store.mkdir()
    device.uses_stub(store)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    assert "not writable" in refusal(device.environ).message
    assert select_backend(environ=device.environ, read_only=True).list(Locator()) == []


def test_capabilities_that_are_required_and_missing_are_named(device):
    with pytest.raises(CapabilityMismatchError, match="sync, encryption|encryption, sync") as caught:
        select_backend(environ=device.environ, required=Capabilities(sync=True, encryption=True))
    assert set(caught.value.unsatisfied) == {"sync", "encryption"}
    assert caught.value.protocol == "device-local"


def test_capabilities_that_are_there_are_not_in_the_way(device):
    required = Capabilities(concurrent_writers=True, delete=True)
    assert select_backend(environ=device.environ, required=required).capabilities.delete


def test_the_registry_is_asked_before_entry_points(device, tmp_path):
    (tmp_path / "store").mkdir()
    device.uses_stub(tmp_path / "store")
    store = select_backend(environ=device.environ)
    while isinstance(store, BackendLayer):
        store = store.inner
    assert type(store) is registry.get("stub")


SHOUTING = """
from agentm_kernel.plugin import BackendLayer

class Shouting(BackendLayer):
    def read(self, locator):
        return super().read(locator).upper() + self.tail

def wrap(backend, options, device, opening):
    layer = Shouting(backend)
    layer.tail = options.get("tail", "")
    return layer

def fail(backend, options, device, opening):
    raise RuntimeError("out of breath")
"""


@pytest.fixture
def wrappers(tmp_path, monkeypatch):
    """An installed distribution with two wrappers."""
    site = tmp_path / "site"
    metadata = site / "shouting-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: shouting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[agentm.wrappers]\nloud = shouting_layer:wrap\nhoarse = shouting_layer:fail\n"
    )
    (site / "shouting_layer.py").write_text(SHOUTING)
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.usefixtures("wrappers")
def test_wrappers_go_around_the_store_in_their_order(device):
    device.configure(**{"wrappers": ["loud", "loud"], "plugins.loud.tail": "!"})
    backend = select_backend(environ=device.environ)
    backend.write(Locator("note.md"), "quiet\n")
    assert backend.read(Locator("note.md")) == "QUIET\n!!"


@pytest.mark.usefixtures("wrappers")
def test_a_wrapper_that_fails_is_a_refusal(device):
    device.configure(wrappers=["hoarse"])
    assert "out of breath" in refusal(device.environ).message


def test_a_wrapper_that_cannot_be_had_is_a_refusal(device):
    device.configure(wrappers=["guard"])
    error = refusal(device.environ)
    assert "guard" in error.message
    assert "never skipped" in error.hint


def test_an_inspection_never_raises_an_expected_failure(device):
    device.configure(**{"storage.backend": "nowhere"})
    found = inspect_store(Device(device.environ))
    assert isinstance(found, Refusal)
    assert found.choice is not None
    assert found.choice.protocol == "nowhere"
