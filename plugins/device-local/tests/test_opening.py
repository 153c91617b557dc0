"""Where the default store is: what the environment says, what the settings say, or a folder of the home."""

from __future__ import annotations

import os

import pytest

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import Device, InvalidContentError, Opening, StorageSelectionError


@pytest.mark.parametrize(
    ("options", "variable", "place"),
    [
        ({}, None, ".agentm/memory"),
        ({"root": "~/settings"}, None, "settings"),
        ({}, "~/environment", "environment"),
        ({"root": "~/settings"}, "~/environment", "environment"),
    ],
)
def test_the_environment_beats_the_settings_and_they_beat_the_default(tmp_path, options, variable, place):
    environ = {"HOME": str(tmp_path), **({"AGENTM_DEVICE_LOCAL_ROOT": variable} if variable else {})}
    store = DeviceLocalBackend.create(options, Device(environ), Opening())
    assert store.describe() == str(tmp_path / place)


@pytest.mark.parametrize(
    ("options", "environ", "said"),
    [
        ({"root": "notes"}, {}, "plugins.device-local.root is 'notes'"),
        ({}, {"AGENTM_DEVICE_LOCAL_ROOT": "./notes"}, "$AGENTM_DEVICE_LOCAL_ROOT is './notes'"),
    ],
)
def test_a_place_that_would_be_another_one_in_every_working_directory_is_refused(tmp_path, options, environ, said):
    with pytest.raises(StorageSelectionError) as caught:
        DeviceLocalBackend.create(options, Device({"HOME": str(tmp_path), **environ}), Opening())
    assert said in caught.value.message
    assert "begins with / or ~" in caught.value.hint


def test_a_new_device_writes_its_first_note_without_a_ceremony(tmp_path):
    store = Device({"HOME": str(tmp_path)}).store(read_only=False)
    store.write(Locator("a.md"), "the first\n")
    assert (tmp_path / ".agentm/memory/a.md").read_text() == "the first\n"


def test_the_size_limit_of_the_settings_is_the_store_s(tmp_path):
    store = DeviceLocalBackend.create({"size_limit": 3}, Device({"HOME": str(tmp_path)}), Opening())
    store.write(Locator("a.md"), "abc")
    with pytest.raises(InvalidContentError):
        store.write(Locator("a.md"), "abcd")


def test_a_setting_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(StorageSelectionError, match="rooot"):
        DeviceLocalBackend.create({"rooot": "~/notes"}, Device({"HOME": str(tmp_path)}), Opening())


def test_the_store_keeps_what_it_records_where_it_was_told(tmp_path):
    opening = Opening(state_dir=str(tmp_path / "state"))
    assert DeviceLocalBackend.create({}, Device({"HOME": str(tmp_path)}), opening).state_dir == opening.state_dir


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_the_notes_are_for_this_user_alone(tmp_path):
    before = os.umask(0)
    try:
        DeviceLocalBackend(tmp_path / "notes").write(Locator("decisions/use-tabs.md"), "Tabs.\n")
    finally:
        os.umask(before)
    made = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "notes").rglob("*")}
    assert (made["decisions"], made["use-tabs.md"]) == ("0o700", "0o600")
