"""What was chosen is had, or refused with what to run; the preview says the same in the same words."""

from __future__ import annotations

import os

import pytest

from agentm_devkit.conformance.stubs import SyncedStub
from agentm_kernel import Capabilities, Locator, select_backend, storage_preview
from agentm_kernel.device.installed import Installed, PluginRecord
from agentm_kernel.plugin import (
    BackendLayer,
    BackendNotInstalledError,
    CapabilityMismatchError,
    Device,
    PluginError,
    StorageSelectionError,
)
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection import inspect_store
from agentm_kernel.selection.refusing import Refusal


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


def test_where_no_store_is_installed_at_all_there_is_nothing_to_set_up(device, monkeypatch):
    monkeypatch.setattr("agentm_kernel.device.installed.installed_plugins", lambda: Installed((), ()))
    hint = refusal(device.environ).hint
    assert hint.startswith("run `pip install agentm-device-local`, or choose another with `agentm config set ")


def test_a_store_with_a_name_is_refused_by_that_name_and_with_its_own_options(device):
    class Unmounted(SyncedStub):
        @classmethod
        def create(cls, options, device, opening):
            raise StorageSelectionError(
                "nothing is there", hint="run `agentm config set plugins.unmounted.root PATH`"
            )

    registry.register("unmounted", Unmounted)
    device.configure(**{"stores.team.backend": "unmounted"})
    found = inspect_store(Device(device.environ).of_store("team"))
    assert isinstance(found, Refusal)
    assert found.error.message == "the store 'team' cannot be had: nothing is there"
    assert found.error.hint == "run `agentm config set stores.team.root PATH`"


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


@pytest.mark.parametrize("wrong", [TypeError, ValueError])
def test_options_that_a_backend_cannot_use_are_named_with_what_shows_them(device, wrong):
    class Choosy(SyncedStub):
        @classmethod
        def create(cls, options, device, opening):
            raise wrong("blue is no colour")

    registry.register("choosy", Choosy)
    device.configure(**{"storage.backend": "choosy"})
    error = refusal(device.environ)
    assert error.message == f"the backend 'choosy' cannot be opened: {wrong.__name__}: blue is no colour"
    assert error.hint == "check its options: `agentm config list` shows plugins.choosy.*"


def test_a_backend_that_says_itself_why_it_cannot_be_opened_is_heard(device):
    class Unmounted(SyncedStub):
        @classmethod
        def create(cls, options, device, opening):
            raise StorageSelectionError("the share is not mounted", hint="mount it") from None

    registry.register("unmounted", Unmounted)
    device.configure(**{"storage.backend": "unmounted"})
    error = refusal(device.environ)
    assert (error.message, error.hint) == ("the share is not mounted", "mount it")


def test_a_backend_that_makes_something_else_than_a_store_is_a_refusal(device):
    class Forgetful(SyncedStub):
        @classmethod
        def create(cls, options, device, opening):
            return None

    registry.register("forgetful", Forgetful)
    device.configure(**{"storage.backend": "forgetful"})
    assert "backend 'forgetful'" in refusal(device.environ).message


def test_a_backend_that_promises_something_else_than_capabilities_is_a_refusal(device, tmp_path):
    class Vague(SyncedStub):
        capabilities = "all of them"

    registry.register("vague", Vague)
    device.configure(**{"storage.backend": "vague", "plugins.vague.root": str(tmp_path)})
    assert "it answered with str, not with Capabilities" in refusal(device.environ).message


def test_an_answer_of_another_kind_is_the_plugin_s_failure_and_not_the_caller_s(device, tmp_path):
    class Odd(SyncedStub):
        def exists(self, locator):
            return None

    registry.register("odd", Odd)
    device.configure(**{"storage.backend": "odd", "plugins.odd.root": str(tmp_path)})
    store = select_backend(environ=device.environ)
    with pytest.raises(PluginError, match="backend 'odd' failed in exists: it answered with NoneType, not with bool"):
        store.exists(Locator("note.md"))


def test_everything_in_a_list_has_to_be_a_locator(device, tmp_path):
    class Odd(SyncedStub):
        def list(self, locator):
            return [Locator("note.md"), "other.md"]

    registry.register("odd", Odd)
    device.configure(**{"storage.backend": "odd", "plugins.odd.root": str(tmp_path)})
    store = select_backend(environ=device.environ)
    with pytest.raises(PluginError, match="backend 'odd' failed in list: it answered with str, not with Locator"):
        store.list(Locator(""))


LISTENER = """
from agentm_kernel.plugin import hookimpl

@hookimpl
def agentm_replaced(locator, old, new, context):
    with open(context.device.environ["HOME"] + "/told", "a") as file:
        print(locator, old, new, context.store.describe(), file=file)
"""


def test_who_listens_hears_what_writers_replace_and_in_which_store(device, tmp_path, monkeypatch):
    site = tmp_path / "site"
    metadata = site / "listening-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: listening\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[agentm.plugins.replaced]\nlistening = listening_hooks\n")
    (site / "listening_hooks.py").write_text(LISTENER)
    monkeypatch.syspath_prepend(str(site))
    store = select_backend(environ=device.environ)
    store.write(Locator("note.md"), "one")
    store.write(Locator("note.md"), "two")
    lines = (device.home / "told").read_text().splitlines()
    assert f"note.md one two {store.describe()}" in lines
    reader = select_backend(environ=device.environ, read_only=True)
    assert type(reader) is not type(store), "readers do not pay for what only writers need"


def test_a_backend_is_told_for_what_and_under_which_name_it_is_opened(device, tmp_path):
    openings = []

    class Told(SyncedStub):
        @classmethod
        def create(cls, options, device, opening):
            openings.append((opening.name, opening.read_only, opening.state_dir))
            return super().create(options, device, opening)

    (tmp_path / "store").mkdir()
    registry.register("told", Told)
    device.configure(**{"storage.backend": "told", "plugins.told.root": str(tmp_path / "store")})
    for read_only in (False, True):
        select_backend(environ=device.environ, read_only=read_only)
    inspect_store(Device(device.environ))
    state_dir = str(device.home / ".local" / "state" / "agentm")
    assert openings == [("default", False, state_dir), ("default", True, state_dir), ("default", True, state_dir)]


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
    assert error.hint == "install the plugin, or take 'guard' out of `wrappers`; a guard is never skipped"


def test_an_inspection_never_raises_an_expected_failure(device):
    device.configure(**{"storage.backend": "nowhere"})
    found = inspect_store(Device(device.environ))
    assert isinstance(found, Refusal)
    assert found.choice is not None
    assert found.choice.protocol == "nowhere"
