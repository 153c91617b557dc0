from __future__ import annotations

import mmap
import os
import pickle
import socket
import tempfile
from pathlib import Path

import pytest

from agentm_kernel.config import read
from agentm_kernel.config.read import SIZE_LIMIT, load
from agentm_kernel.errors import ConfigError

# ------------------------------------------------------------------------------------------------ where it is


def test_without_a_file_nothing_is_configured(home):
    config = load(home.environ)
    assert (config.path, config.is_present, config.is_legacy) == (str(home.config), False, False)
    assert config.storage_backend is None
    assert config.storage_policy is None
    assert config.state_mode is None
    assert config.disabled_plugins == ()
    assert config.allowed_plugins is None
    assert config.wrappers == ()
    assert config.options("vault") == {}
    assert config.get("storage.backend") is None
    assert config.items() == []


def test_an_older_installs_file_is_read_when_it_is_all_there_is(home):
    home.write({"storage.backend": "old"}, legacy=True)
    config = load(home.environ)
    assert (config.path, config.is_present, config.is_legacy) == (str(home.legacy), True, True)
    assert config.storage_backend == "old"


def test_an_older_installs_file_is_not_looked_at_beside_the_new_one(home):
    home.write("not even JSON", legacy=True)
    home.write({"storage.backend": "new"})
    config = load(home.environ)
    assert (config.storage_backend, config.is_legacy) == ("new", False)


def test_a_prefix_means_that_place_and_no_other(home):
    home.write({"storage.backend": "new"})
    home.write({"storage.backend": "old"}, legacy=True)
    prefix = home.root / "prefix"
    config = load({**home.environ, "AGENTM_INSTALL_PREFIX": str(prefix)})
    assert (config.path, config.is_present) == (str(prefix / ".agentm-config.json"), False)


def test_the_process_environment_is_the_default(home, monkeypatch):
    home.write({"storage.backend": "mine"})
    monkeypatch.setenv("AGENTM_INSTALL_PREFIX", str(home.config.parent))
    assert load().storage_backend == "mine"


def test_a_link_to_a_regular_file_is_followed(home):
    home.write({"storage.backend": "linked"}, legacy=True)
    home.config.parent.mkdir(parents=True)
    home.config.symlink_to(home.legacy)
    config = load(home.environ)
    assert (config.path, config.storage_backend, config.is_legacy) == (str(home.config), "linked", False)


# ------------------------------------------------------------------------------------------------ what is refused

MALFORMED = {
    "empty": (b"", "empty"),
    "corrupt": (b'{"storage.backend": ', "line 1"),
    "byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "UTF-16": ("{}".encode("utf-16"), "UTF-16"),
    "bad UTF-8": (b'{"a": "\xff"}', "not UTF-8"),
    "list": (b"[]", "not an object"),
    "number": (b"3", "not an object"),
    "null": (b"null", "not an object"),
    "string": (b'"vault"', "not an object"),
    "deep nesting": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested"),
    "5,000-digit integer": (b'{"a": ' + b"1" * 5000 + b"}", "5,000 digits"),
    "not a number": (b'{"a": NaN}', "NaN"),
    "duplicate key": (b'{"storage.backend": "a", "storage.backend": "b"}', "given twice"),
    "duplicate nested key": (b'{"storage": {"backend": "a", "backend": "b"}}', "given twice"),
    "too large": (b'{"a": "' + b"x" * SIZE_LIMIT + b'"}', "larger than"),
}


@pytest.mark.parametrize("legacy", [False, True], ids=["new", "legacy"])
@pytest.mark.parametrize(("data", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_file_that_is_no_configuration_is_refused_by_name(home, data, reason, legacy):
    path = home.write(data, legacy=legacy)
    with pytest.raises(ConfigError, match=reason) as caught:
        load(home.environ)
    assert str(path) in caught.value.message
    assert caught.value.hint


UNFIT: dict[str, tuple[dict[str, object], str, str]] = {
    "unknown storage key": ({"storage.bakend": "v"}, "'storage.bakend' is not a setting", "unset storage.bakend"),
    "unknown nested storage key": ({"storage": {"bakend": "v"}}, "'storage.bakend'", "unset storage.bakend"),
    "storage key in one word": ({"storageBackend": "v"}, "'storageBackend'", "unset storageBackend"),
    "storage key with an underscore": ({"storage_backend": "v"}, "'storage_backend'", "unset storage_backend"),
    "storage key in capitals": ({"Storage.Backend": "v"}, "'Storage.Backend'", "unset Storage.Backend"),
    "storage key that goes too far": ({"storage.backend.name": "v"}, "'storage.backend.name'", "unset"),
    "storage key with a blank": ({" storage.backend": "v"}, "' storage.backend'", "unset ' storage.backend'"),
    "misspelt guard list": ({"plugin_policy.disable": []}, "'plugin_policy.disable'", "unset plugin_policy.disable"),
    "misspelt wrappers": ({"wrapper": ["policy"]}, "'wrapper'", "unset wrapper"),
    "misspelt mode": ({"state-mode": "local"}, "'state-mode'", "unset state-mode"),
    "nested and dotted": (
        {"storage": {"backend": "a"}, "storage.backend": "a"},
        "given twice, nested and dotted",
        "unset storage.backend",
    ),
    "nested and half dotted": (
        {"plugins": {"vault": {"x": 1}}, "plugins.vault": {"x": 2}},
        "'plugins.vault.x' is given twice",
        "unset plugins.vault.x",
    ),
    "a value and a key inside it": (
        {"plugins.vault.spaces": {"a": 1}, "plugins.vault.spaces.b": 2},
        "'plugins.vault.spaces.b' is given beside",
        "unset plugins.vault.spaces.b",
    ),
    "somebody's object and a key inside it": ({"x": {"a": 1}, "x.a": 2}, "'x.a' is given beside", "unset x.a"),
    "group that is a text": ({"storage": "vault"}, "'storage' is 'vault'", "unset storage"),
    "group that is a list": ({"plugins": []}, "'plugins' is a list", "unset plugins"),
    "plugin that is a number": ({"plugins.vault": 3}, "'plugins.vault' is a number", "unset plugins.vault"),
    "policy that is null": ({"plugin_policy": None}, "'plugin_policy' is null", "unset plugin_policy"),
    "half a surrogate pair": ({"other": ["\ud800"]}, "'other' holds text that is not valid Unicode", "set other"),
    "half a surrogate pair in a key": ({"\ud800": 1}, "not valid Unicode", "config"),
    "older key of the wrong type": ({"vault_path": 3}, "'vault_path' is a number", "set vault_path"),
}
for key in ("storage.backend", "storage.policy"):
    for label, value in {
        "a number": 3,
        "null": None,
        "true": True,
        "blank": " ",
        "a list": ["v"],
        "an object": {},
    }.items():
        UNFIT[f"{key} is {label}"] = ({key: value}, f"'{key}' is {label}", f"set {key}")
for key in ("wrappers", "plugin_policy.disabled", "plugin_policy.allowed"):
    for label, value in {"'x'": "x", "null": None, "a list": ["ok", 3], "an object": {}}.items():
        UNFIT[f"{key} is {label}"] = ({key: value}, f"'{key}' is {label}", f"set {key}")
    UNFIT[f"{key} names nobody"] = ({key: [" "]}, "not a list of names", f"set {key}")
for label, value in {"'remote'": "remote", "blank": "", "null": None, "a number": 1, "a list": ["local"]}.items():
    UNFIT[f"state_mode is {label}"] = ({"state_mode": value}, f"'state_mode' is {label}", "set state_mode")


@pytest.mark.parametrize(("document", "reason", "remedy"), UNFIT.values(), ids=UNFIT)
def test_a_setting_that_cannot_be_relied_on_is_refused_with_the_command_that_helps(home, document, reason, remedy):
    path = home.write(document)
    with pytest.raises(ConfigError, match=reason) as caught:
        load(home.environ)
    assert str(path) in caught.value.message
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("run `agentm config ")
    assert remedy in caught.value.hint


def _directory(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


NOT_FILES = {
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link loop": lambda path: path.symlink_to(path.name),
    "link to a directory": lambda path: path.symlink_to("."),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "directory": _directory,
    "FIFO": lambda path: os.mkfifo(path),
    "socket": _socket,
}


@pytest.mark.skipif(os.name == "nt", reason="needs links and FIFOs")
@pytest.mark.parametrize("legacy", [False, True], ids=["new", "legacy"])
@pytest.mark.parametrize("make", NOT_FILES.values(), ids=NOT_FILES)
def test_what_is_in_the_files_place_is_refused_and_never_taken_for_no_file(home, make, legacy, monkeypatch):
    path = home.legacy if legacy else home.config
    path.parent.mkdir(parents=True)
    monkeypatch.chdir(path.parent)  # a socket's path has to be short
    make(Path(path.name))
    with pytest.raises(ConfigError) as caught:
        load(home.environ)
    assert str(path) in caught.value.message
    assert caught.value.hint


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
@pytest.mark.parametrize("closed", ["file", "folder"])
def test_what_may_not_be_read_is_refused(closed, unprivileged):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "agentm", ".agentm-config.json")
        path.parent.mkdir()
        path.write_text("{}")
        path.chmod(0o000 if closed == "file" else 0o600)
        path.parent.chmod(0o000 if closed == "folder" else 0o700)
        try:
            with pytest.raises(ConfigError, match="cannot be read: Permission denied") as caught:
                load({"HOME": "/nowhere", "XDG_CONFIG_HOME": name})
        finally:
            path.parent.chmod(0o700)
    assert str(path) in caught.value.message
    assert "permissions" in (caught.value.hint or "")


def test_a_file_where_the_folder_should_be_is_not_taken_for_no_configuration(home):
    home.root.joinpath(".config").write_text("")
    with pytest.raises(ConfigError, match="Not a directory"):
        load(home.environ)


# ------------------------------------------------------------------------------------------------ what it says

SPELLINGS: dict[str, dict[str, object]] = {
    "dotted": {
        "storage.backend": "vault",
        "storage.policy": "~/STORAGE.md",
        "plugins.vault.vault_path": "/notes",
        "plugin_policy.disabled": ["a"],
        "plugin_policy.allowed": [],
        "wrappers": ["policy", "integrity"],
    },
    "nested": {
        "storage": {"backend": "vault", "policy": "~/STORAGE.md"},
        "plugins": {"vault": {"vault_path": "/notes"}},
        "plugin_policy": {"disabled": ["a"], "allowed": []},
        "wrappers": ["policy", "integrity"],
    },
    "mixed": {
        "storage": {"backend": "vault"},
        "storage.policy": "~/STORAGE.md",
        "plugins": {"vault.vault_path": "/notes"},
        "plugin_policy": {"disabled": ["a"]},
        "plugin_policy.allowed": [],
        "wrappers": [" policy ", "integrity"],
    },
}


@pytest.mark.parametrize("document", SPELLINGS.values(), ids=SPELLINGS)
def test_nested_and_dotted_say_the_same(home, document):
    home.write(document)
    config = load(home.environ)
    assert config.storage_backend == "vault"
    assert config.storage_policy == "~/STORAGE.md"
    assert config.options("vault") == {"vault_path": "/notes"}
    assert config.disabled_plugins == ("a",)
    assert config.allowed_plugins == ()
    assert config.wrappers == ("policy", "integrity")
    assert config.get("plugins") == {"vault": {"vault_path": "/notes"}}
    assert config.get("plugins.vault") == {"vault_path": "/notes"}
    assert config.get("plugins.vault.vault_path") == "/notes"
    assert config.get("storage") == {"backend": "vault", "policy": "~/STORAGE.md"}
    assert config.get("wrappers") == ["policy", "integrity"]
    assert config.get("plugins.other") is None
    assert config.get("plugins.vault.vault_path.more") is None


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("local", "local"),
        ("backend", "backend"),
        ("vault", "backend"),
        (" Local\n", "local"),
        ("BACKEND", "backend"),
        ("Vault ", "backend"),
    ],
)
def test_the_state_mode_is_local_or_backend_however_it_is_written(home, written, read_as):
    home.write({"state_mode": written})
    config = load(home.environ)
    assert config.state_mode == read_as
    assert config.get("state_mode") == read_as


def test_blanks_around_a_name_do_not_make_another_name(home):
    home.write({"storage.backend": " vault\n"})
    assert load(home.environ).storage_backend == "vault"


@pytest.mark.parametrize(
    ("document", "options"),
    [
        ({"vault_path": "/flat"}, {"vault_path": "/flat"}),
        ({"plugins.obsidian-vault.vault_path": "/older"}, {"vault_path": "/older"}),
        ({"plugins": {"obsidian-vault": {"vault_path": "/older"}}, "vault_path": "/flat"}, {"vault_path": "/older"}),
        (
            {
                "vault_path": "/flat",
                "plugins.obsidian-vault.vault_path": "/older",
                "plugins.obsidian-vault.memory_root": "Agents",
                "plugins.vault.vault_path": "/new",
            },
            {"vault_path": "/new", "memory_root": "Agents"},
        ),
    ],
)
def test_the_vaults_older_names_are_read_where_the_new_one_is_missing(home, document, options):
    home.write(document)
    assert load(home.environ).options("vault") == options


def test_other_protocols_have_no_older_names(home):
    home.write({"vault_path": "/flat", "plugins.obsidian-vault.vault_path": "/older", "plugins.git.url": "u"})
    assert load(home.environ).options("git") == {"url": "u"}


def test_below_an_option_an_object_belongs_to_the_plugin(home):
    hosts = {"s3.example.com": {"port": 443}}
    home.write({"plugins": {"bucket": {"hosts": hosts}}, "plugins.bucket.retry.times": 3})
    config = load(home.environ)
    assert config.options("bucket") == {"hosts": hosts, "retry": {"times": 3}}
    assert config.get("plugins.bucket.hosts.s3.example.com") == {"port": 443}
    assert config.get("plugins.bucket.hosts.s3") is None


def test_keys_of_others_are_left_alone(home):
    home.write({"schema_version": 2, "source_clones": {"agentm": "/src"}, "other.key": [1, {"a": None}]})
    config = load(home.environ)
    assert config.get("schema_version") == 2
    assert config.get("source_clones.agentm") == "/src"
    assert config.get("other.key") == [1, {"a": None}]
    assert config.get("other") == {"key": [1, {"a": None}]}
    assert [key for key, _ in config.items()] == ["schema_version", "source_clones", "other.key"]


# ------------------------------------------------------------------------------------------------ as a value


def test_a_reader_cannot_change_what_others_read(home):
    home.write({"plugins.git.hosts": {"a": [1]}, "wrappers": ["policy"]})
    config = load(home.environ)
    config.options("git")["hosts"]["a"].append(2)
    config.get("plugins.git")["hosts"].clear()
    config.get("wrappers").append("x")
    config.items()[0][1]["b"] = 1
    assert load(home.environ).options("git") == {"hosts": {"a": [1]}}
    assert load(home.environ).wrappers == ("policy",)
    with pytest.raises(AttributeError, match="immutable"):
        config.path = "elsewhere"


def test_its_representation_shows_no_values(home):
    home.write({"plugins.git.token": "hunter2"})
    assert "hunter2" not in repr(load(home.environ))


def test_it_can_be_sent_to_another_process(home):
    home.write({"storage.backend": "vault"})
    config = load(home.environ)
    assert pickle.loads(pickle.dumps(config)) == config


# ------------------------------------------------------------------------------------------------ seen at once


def test_a_replaced_file_is_seen_by_the_next_load(home):
    home.write({"storage.backend": "one"})
    assert load(home.environ).storage_backend == "one"
    other = home.config.with_name("other")
    other.write_text('{"storage.backend": "two"}')
    os.replace(other, home.config)
    assert load(home.environ).storage_backend == "two"
    home.config.unlink()
    assert load(home.environ).storage_backend is None


@pytest.mark.skipif(os.name == "nt", reason="needs a memory map that keeps the times")
def test_a_change_that_the_clock_of_the_file_system_does_not_show_is_seen(home):
    home.write({"storage.backend": "0"})
    with home.config.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        digit = mapped.find(b"0")
        for number in b"123":
            mapped[digit] = number  # from the second on, the page is dirty already and no time changes
            assert load(home.environ).storage_backend == chr(number)


def test_a_settled_file_is_looked_at_and_not_read_again(home, monkeypatch):
    home.write({"storage.backend": "one"})
    opened = []
    monkeypatch.setattr(read, "_SETTLED_AFTER_NS", -(10**18))
    monkeypatch.setattr(read, "read_file", lambda path, real=read.read_file: opened.append(path) or real(path))
    first = load(home.environ)
    assert load(home.environ) is first
    assert opened == [str(home.config)]
    os.utime(home.config, ns=(1, 1))
    assert load(home.environ) == first
    assert len(opened) == 2


def test_a_refused_file_is_refused_again_until_it_is_put_right(home):
    home.write({"storage.backend": "one"})
    load(home.environ)
    home.write({"storage.bakend": "one"})
    for _ in range(2):
        with pytest.raises(ConfigError):
            load(home.environ)
    home.write({"storage.backend": "one"})
    assert load(home.environ).storage_backend == "one"
