"""Configurations that are there and cannot be relied on: each is refused, none is taken for no configuration."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest

from agentm_kernel.device.config import SIZE_LIMIT, load
from agentm_kernel.errors import ConfigError

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
    "too large": (b'{"a": "' + b"x" * SIZE_LIMIT + b'"}', "more than 1,000,000 bytes"),
}


@pytest.mark.parametrize("legacy", [False, True], ids=["new", "legacy"])
@pytest.mark.parametrize(("data", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_a_file_that_is_no_configuration_is_refused_by_name(home, data, reason, legacy):
    path = home.write(data, legacy=legacy)
    with pytest.raises(ConfigError, match=reason) as caught:
        load(home.environ)
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_only_of_a_file_that_is_too_large_people_are_told_to_move_it_away(home):
    home.write(MALFORMED["too large"][0])
    with pytest.raises(ConfigError) as large:
        load(home.environ)
    assert large.value.hint == "move it away and set what you need"
    home.config.unlink()
    home.config.mkdir()
    with pytest.raises(ConfigError) as folder:
        load(home.environ)
    assert "move it away" not in folder.value.hint


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
