"""`storage.policy` selects the backend `policy` and puts the wrapper `policy` around all layers, or is refused."""

from __future__ import annotations

import pytest

from agentm_kernel import Locator, select_backend, storage_preview
from agentm_kernel.device.installed import Installed
from agentm_kernel.plugin import (
    BackendNotInstalledError,
    StorageReadOnlyError,
    StorageSelectionError,
    choose_protocol,
)

PLUGIN = """
from agentm_kernel.plugin import BackendLayer, FileStore, StorageReadOnlyError

calls = []

class Store(FileStore):
    self_stamping = True
    own_wrappers = ("policy",)

    @classmethod
    def create(cls, options, device, opening):
        with open(options["path"]) as document:
            return cls(document.read().strip(), create_root=True)

    def write(self, locator, content, *, if_match=None):
        calls.append(("write", locator.key))
        return super().write(locator, content, if_match=if_match)

    def stamp_text(self):
        calls.append(("stamp", ""))
        return super().stamp_text()

class Guard(BackendLayer):
    def write(self, locator, content, *, if_match=None):
        if locator.key.startswith("closed/"):
            raise StorageReadOnlyError(f"'{locator}' is closed")
        return super().write(locator, content, if_match=if_match)

def wrap(backend, options, device, opening):
    assert options["path"].endswith("STORAGE.md")
    return Guard(backend)

def fail(backend, options, device, opening):
    raise RuntimeError("out of order")
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A distribution that has both entries; the last of `wrap` and `fail` can be swapped in its metadata."""

    def install(module, wrapper="wrap", groups=("backends", "wrappers")):
        site = tmp_path / f"site-{module}"
        metadata = site / f"{module}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Name: {module}\nVersion: 1.0\n")
        targets = {"backends": "Store", "wrappers": wrapper}
        lines = [f"[agentm.{group}]\npolicy = {module}:{targets[group]}\n" for group in groups]
        (metadata / "entry_points.txt").write_text("".join(lines))
        (site / f"{module}.py").write_text(PLUGIN)
        # In place of what is installed for this test run: that provides the same names.
        monkeypatch.setattr("sys.path", [str(site)])
        return __import__(module)

    return install


@pytest.fixture
def policy(device, tmp_path):
    """A configured policy; its document holds nothing but the folder."""
    device.configure(**{"storage.policy": "./STORAGE.md"})
    document = device.home / ".config" / "agentm" / "STORAGE.md"
    document.write_text(f"{tmp_path / 'store'}\n")
    return document


@pytest.mark.usefixtures("policy")
def test_a_policy_selects_its_backend(device, plugin, tmp_path):
    plugin("policing_a")
    assert choose_protocol(device.environ) == "policy"
    backend = select_backend(environ=device.environ)
    backend.write(Locator("note.md"), "text\n")
    assert (tmp_path / "store" / "note.md").read_text() == "text\n"
    preview = storage_preview(device.environ)
    assert preview.status == "ok"
    assert "storage.policy in" in preview.line


@pytest.mark.usefixtures("policy")
def test_its_wrapper_speaks_before_anything_below_is_touched(device, plugin):
    module = plugin("policing_b")
    backend = select_backend(environ=device.environ)
    module.calls.clear()
    with pytest.raises(StorageReadOnlyError):
        backend.write(Locator("closed/note.md"), "text\n")
    assert module.calls == [], "not even the store's identity was looked at"


def test_a_path_is_relative_to_the_configuration_and_never_to_the_working_directory(
    device, plugin, policy, tmp_path, monkeypatch
):
    plugin("policing_c")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "STORAGE.md").write_text("/nowhere\n")
    assert select_backend(environ=device.environ).describe() == str(tmp_path / "store")


def test_a_path_may_begin_at_home_or_at_the_root(device, plugin, policy):
    plugin("policing_d")
    for spelling in ("~/.config/agentm/STORAGE.md", str(policy)):
        device.configure(**{"storage.policy": spelling})
        assert select_backend(environ=device.environ)


def refusal(environ):
    with pytest.raises(StorageSelectionError) as caught:
        select_backend(environ=environ)
    preview = storage_preview(environ)
    assert (preview.status, preview.line) == ("fail", str(caught.value))
    assert caught.value.hint
    return caught.value


@pytest.mark.usefixtures("policy")
def test_without_the_plugin_a_policy_is_a_refusal_that_names_the_distribution(device, monkeypatch):
    monkeypatch.setattr("agentm_kernel.device.installed.installed_plugins", lambda: Installed((), ()))
    error = refusal(device.environ)
    assert isinstance(error, BackendNotInstalledError)
    assert "pip install agentm-storage-policy" in error.hint
    assert "agentm config unset storage.policy" in error.hint
    assert not (device.home / ".agentm").exists(), "nothing took its place"


def test_a_document_that_cannot_be_read_is_a_refusal(device, plugin, policy):
    plugin("policing_e")
    policy.unlink()
    assert "STORAGE.md" in refusal(device.environ).message


@pytest.mark.usefixtures("policy")
def test_a_wrapper_that_fails_is_a_refusal(device, plugin):
    plugin("policing_f", wrapper="fail")
    assert "out of order" in refusal(device.environ).message


@pytest.mark.usefixtures("policy")
def test_a_policy_without_its_wrapper_is_a_refusal(device, plugin):
    plugin("policing_g", groups=("backends",))
    assert "policy" in refusal(device.environ).message


@pytest.mark.usefixtures("policy")
def test_a_backend_beside_a_policy_is_a_refusal(device, plugin):
    plugin("policing_h")
    device.configure(**{"storage.policy": "./STORAGE.md", "storage.backend": "device-local"})
    assert "agentm config unset storage.policy" in refusal(device.environ).hint


def test_the_backend_can_also_be_named_with_the_path_as_its_option(device, plugin, policy):
    module = plugin("policing_i")
    device.configure(**{"storage.backend": "policy", "plugins.policy.path": str(policy)})
    backend = select_backend(environ=device.environ)
    assert isinstance(backend.inner, module.Guard), "and it is guarded all the same"
