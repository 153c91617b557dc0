"""Opening: only by a provider that may, only where this device allows it, and only as the mode promises."""

from __future__ import annotations

import sys

import pytest

from agentm_kernel.plugin import FileStore, ProtocolError, StorageError
from agentm_storage_policy.errors import StorageConfigInvalidError, StorageProviderUnknownError
from agentm_storage_policy.handle import define_storage, load_storage
from agentm_storage_policy.registry import register_provider, unregister_provider

BUCKET = "provider: self-bucket\nconfig:\n  kind: s3\n  endpoint: {endpoint}\n  bucket: notes\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Distributions that provide providers; nothing else is installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder)])

    def install(distribution, provider, source="def open(config, credentials, context): ...\n", attribute="open"):
        module = distribution.replace("-", "_")
        metadata = folder / f"{module}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[agentm.providers]\n{provider} = {module}:{attribute}\n")
        (folder / f"{module}.py").write_text(source)

    return install


# ------------------------------------------------------------------------------------------------ providers


@pytest.mark.rule(9, "refused")
def test_an_unknown_provider_is_refused_with_its_place(desk, site):
    path = desk.write("STORAGE.md", "provider: gitub\nconfig: {}\n")
    with pytest.raises(StorageProviderUnknownError) as caught:
        load_storage(path)
    assert caught.value.code == "storage_provider_unknown"
    assert (caught.value.findings[0].line, caught.value.findings[0].column) == (2, 11)
    assert "github" in caught.value.hint
    with pytest.raises(StorageProviderUnknownError):
        define_storage({"provider": "gitub", "config": {}})


@pytest.mark.rule(9, "refused")
def test_one_of_the_seven_that_is_not_installed_comes_with_its_pip_line(desk, site):
    handle = load_storage(desk.write("STORAGE.md", "provider: github\nconfig: {repo: acme/notes}\n"))
    with pytest.raises(StorageProviderUnknownError) as caught:
        handle.open(desk.device, desk.options)
    assert caught.value.hint == "run `pip install agentm-git`"


@pytest.mark.rule(9, "refused")
def test_a_provider_that_the_device_keeps_out_is_not_installed_again(desk, site):
    config = desk.home / ".config" / "agentm" / ".agentm-config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"plugin_policy.disabled": ["agentm-git"]}')
    site("agentm-git", "github")
    handle = load_storage(desk.write("STORAGE.md", "provider: github\nconfig: {repo: acme/notes}\n"))
    with pytest.raises(StorageProviderUnknownError, match=r"plugin_policy\.disabled") as caught:
        handle.open(desk.device, desk.options)
    assert "pip install" not in caught.value.hint


@pytest.mark.rule(9, "accepted")
def test_a_provider_of_a_distribution_opens_its_own_store(desk, site):
    source = (
        "from agentm_kernel.plugin import FileStore\n"
        "def open(config, credentials, context):\n"
        "    return FileStore(config['folder'], create_root=True)\n"
    )
    site("acme-store", "acme", source)
    path = desk.write("STORAGE.md", f"provider: acme\nconfig: {{folder: {desk.home}/x}}\n")
    assert load_storage(path).open(desk.device, desk.options).describe() == f"{desk.home}/x"


@pytest.mark.rule(10, "refused")
def test_a_stranger_may_not_provide_one_of_the_seven(desk, site):
    site("evil-git", "github", "raise SystemExit('imported')\n")
    handle = load_storage(desk.write("STORAGE.md", "provider: github\nconfig: {repo: acme/notes}\n"))
    with pytest.raises(StorageProviderUnknownError, match="evil-git provides it") as caught:
        handle.open(desk.device, desk.options)
    assert "evil-git" in caught.value.hint


@pytest.mark.rule(10, "refused")
def test_two_distributions_may_not_provide_one_name(desk, site):
    site("acme-store", "acme")
    site("acme-other", "acme")
    path = desk.write("STORAGE.md", "provider: acme\nconfig: {}\n")
    handle = load_storage(path, providers=["acme"])
    with pytest.raises(StorageProviderUnknownError, match="claimed by"):
        handle.open(desk.device, desk.options)


@pytest.mark.rule(10, "refused")
@pytest.mark.parametrize("name", ["github", "local-fs", "cloud-bucket", "mastra-azure"])
def test_a_program_may_not_register_one_of_the_seven(name):
    with pytest.raises(ProtocolError, match="enumerated set"):
        register_provider(name, lambda *_: None)


@pytest.mark.rule(10, "accepted")
def test_a_program_may_register_its_own_once(recorders):
    with pytest.raises(ProtocolError, match="registered already"):
        register_provider("recorder", lambda *_: None)
    assert define_storage({"provider": "recorder", "config": {}})
    unregister_provider("recorder")
    with pytest.raises(StorageProviderUnknownError):
        define_storage({"provider": "recorder", "config": {}})


@pytest.mark.parametrize(
    ("source", "attribute", "words"),
    [
        ("raise ImportError('no')\n", "open", "cannot be loaded"),
        ("open = 5\n", "open", "not a function"),
        ("", "open", "cannot be loaded"),
    ],
)
def test_a_provider_that_is_broken_is_named(desk, site, source, attribute, words):
    site("acme-store", "acme", source, attribute)
    sys.modules.pop("acme_store", None)
    handle = load_storage(desk.write("STORAGE.md", "provider: acme\nconfig: {}\n"))
    with pytest.raises(StorageProviderUnknownError, match=words):
        handle.open(desk.device, desk.options)
    sys.modules.pop("acme_store", None)


def test_a_provider_that_refuses_its_config_is_an_invalid_config_and_no_value_is_repeated(desk):
    def refuse(config, credentials, context):
        raise ValueError(f"no such colour: {config['colour']}")

    register_provider("painter", refuse)
    try:
        handle = define_storage({"provider": "painter", "config": {"colour": "hidden-value"}})
        with pytest.raises(StorageConfigInvalidError) as caught:
            handle.open(desk.device, desk.options)
    finally:
        unregister_provider("painter")
    assert "ValueError" in caught.value.message
    assert "hidden-value" not in f"{caught.value} {caught.value.hint}"


# ------------------------------------------------------------------------------------------------ modes


@pytest.mark.rule(14, "refused")
@pytest.mark.rule(15, "refused")
@pytest.mark.parametrize("mode", ["pull-push", "watch"])
def test_a_mode_that_the_store_cannot_keep_is_refused(desk, recorders, mode):
    handle = define_storage(
        {"provider": "recorder", "config": {"place": str(desk.home / "s")}, "sync": {"mode": mode}}
    )
    with pytest.raises(StorageConfigInvalidError, match=f"cannot work in mode {mode}"):
        handle.open(desk.device, desk.options)


def test_something_that_is_no_store_is_refused(desk):
    register_provider("nothing", lambda *_: "a store")
    try:
        handle = define_storage({"provider": "nothing", "config": {}})
        with pytest.raises(StorageConfigInvalidError, match="str instead of a store"):
            handle.open(desk.device, desk.options)
    finally:
        unregister_provider("nothing")


@pytest.mark.rule(14, "accepted")
def test_local_fs_and_dev_local_open_what_their_policy_names(desk):
    notes = desk.home / "notes"
    notes.mkdir()
    folder = define_storage({"provider": "local-fs", "config": {"mount_path": str(notes)}})
    store = folder.open(desk.device, desk.options)
    assert store.describe() == str(notes)
    (notes / "note.md").write_text("by hand\n")
    store.handle("turn-start", {})
    (notes / "note.md").write_text("by hand again\n")
    assert store.handle("turn-start", {}).lines == ["changed by others: note.md (write)"]
    scratch = define_storage({"provider": "dev-local", "config": {"root": str(desk.home / "dev")}})
    assert scratch.open(desk.device, desk.options).describe() == str(desk.home / "dev")


def test_many_changes_are_counted(desk):
    notes = desk.home / "notes"
    notes.mkdir()
    store = define_storage({"provider": "local-fs", "config": {"mount_path": str(notes)}}).open(
        desk.device, desk.options
    )
    store.handle("turn-start", {})
    for number in range(7):
        (notes / f"{number}.md").write_text("x\n")
    (line,) = store.handle("turn-start", {}).lines
    assert line.endswith("4.md (write) and 2 more")


def test_a_folder_policy_refuses_what_only_history_could_settle(desk):
    with pytest.raises(StorageError, match="abort, manual, last-writer-wins or split-conflicts"):
        define_storage(
            {
                "provider": "local-fs",
                "config": {"mount_path": "/srv/notes"},
                "sync": {"conflict": {"policy": "merge"}},
            }
        )


# ------------------------------------------------------------------------------------------------ endpoints


@pytest.mark.rule(12, "refused")
@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        ("https://s3.example.com", []),
        ("https://s3.example.com", ["example.com"]),
        ("https://s3.example.com", ["*.s3.example.com"]),
        ("https://evil-example.com", ["*.example.com"]),
        ("https://s3.example.com.evil.org", ["s3.example.com", "*.example.com"]),
        ("https://s3.example.com:9000", ["s3.example.com:443"]),
    ],
)
def test_an_endpoint_that_is_not_listed_is_refused_with_the_command(desk, endpoint, allowed):
    desk.options["endpoints"] = allowed
    with pytest.raises(StorageConfigInvalidError) as caught:
        desk.open(BUCKET.format(endpoint=endpoint))
    assert caught.value.findings[0].key == "config.endpoint"
    assert "plugins.policy.endpoints" in caught.value.hint


@pytest.mark.rule(12, "accepted")
@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        ("https://s3.example.com", ["s3.example.com"]),
        ("https://S3.example.com/path", ["https://s3.example.com"]),
        ("https://eu.s3.example.com:9000", ["*.example.com"]),
        ("http://127.0.0.1:8333", ["127.0.0.1:8333"]),
        ("http://[::1]:8333", ["[::1]"]),
    ],
)
def test_an_endpoint_that_is_listed_is_allowed(endpoint, allowed):
    from agentm_storage_policy.endpoints import is_allowed

    assert is_allowed(endpoint, allowed)


def test_the_store_of_a_policy_is_a_file_store_only_inside(desk, recorders):
    store = define_storage({"provider": "recorder", "config": {"place": str(desk.home / "s")}}).open(
        desk.device, desk.options
    )
    assert isinstance(store.inner, FileStore)
    assert store.self_stamping
