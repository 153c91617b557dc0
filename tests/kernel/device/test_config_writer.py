from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentm_kernel.device.config import SIZE_LIMIT, load
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.device.json_text import encoded
from agentm_kernel.errors import ConfigError

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes and links")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ------------------------------------------------------------------------------------------------ setting


@posix
def test_the_first_value_makes_a_private_file_in_a_private_folder(home):
    before = os.umask(0)
    try:
        set_value(home.environ, "storage.backend", "vault")
    finally:
        os.umask(before)
    assert load(home.environ).storage_backend == "vault"
    assert home.config.read_text() == '{\n  "storage.backend": "vault"\n}\n'
    assert mode_of(home.config) == 0o600
    assert mode_of(home.config.parent) == mode_of(home.config.parent.parent) == 0o700
    assert os.listdir(home.config.parent) == [home.config.name]


@posix
@pytest.mark.parametrize("value", ["other", "vault"], ids=["changed", "unchanged"])
def test_a_file_that_others_could_read_becomes_private(home, value):
    home.write({"storage.backend": "vault"})
    home.config.parent.chmod(0o755)
    home.config.chmod(0o664)
    set_value(home.environ, "storage.backend", value)
    assert mode_of(home.config) == 0o600


@posix
def test_a_new_file_is_private_in_a_folder_that_is_not(home):
    home.config.parent.mkdir(parents=True, mode=0o755)
    set_value(home.environ, "storage.backend", "vault")
    assert mode_of(home.config) == 0o600


def test_everything_else_in_the_file_is_kept_in_its_order(home):
    document = {
        "z": 1,
        "storage.backend": "old",
        "schema_version": 2,
        "a": {"b.c": [None, 1.5, "é", {}]},
        "x.y": "\n",
    }
    home.write(document)
    set_value(home.environ, "storage.backend", "new")
    set_value(home.environ, "state_mode", "local")
    assert list(home.read().items()) == list({**document, "storage.backend": "new", "state_mode": "local"}.items())


def test_the_spelling_that_is_found_is_kept(home):
    home.write({"storage": {"backend": "old"}, "plugins": {"vault": {"vault_path": "/a"}}})
    set_value(home.environ, "storage.backend", "new")
    set_value(home.environ, "plugins.vault.vault_path", "/b")
    set_value(home.environ, "plugin_policy.disabled", ["x"])
    assert home.read() == {
        "storage": {"backend": "new"},
        "plugins": {"vault": {"vault_path": "/b"}},
        "plugin_policy": {"disabled": ["x"]},
    }


def test_a_value_that_is_there_already_leaves_the_file_as_the_operator_formatted_it(home):
    text = '{ "storage.backend" : "vault" }'
    home.write(text)
    set_value(home.environ, "storage.backend", "vault")
    assert home.config.read_text() == text


def test_true_and_1_are_two_values(home):
    set_value(home.environ, "plugins.x.flag", True)
    set_value(home.environ, "plugins.x.flag", 1)
    assert home.read()["plugins.x.flag"] is not True


@pytest.mark.parametrize(
    ("key", "given", "written"),
    [
        ("state_mode", "vault", "backend"),
        ("state_mode", " Backend ", "backend"),
        ("state_mode", "LOCAL", "local"),
        ("storage.backend", " vault ", "vault"),
        ("wrappers", ["policy "], ["policy"]),
    ],
)
def test_values_are_written_the_way_they_are_read(home, key, given, written):
    set_value(home.environ, key, given)
    assert home.read() == {key: written}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("storage.backend", ""),
        ("storage.backend", 3),
        ("storage.bakend", "vault"),
        ("storageBackend", "vault"),
        ("storage", "vault"),
        ("plugins", []),
        ("plugins.vault", "x"),
        ("state_mode", "remote"),
        ("plugin_policy.disabled", "x"),
        ("plugin_policy.allowed", [1]),
        ("plugin_policy.other", []),
        ("wrappers", "policy"),
        ("vault_path", None),
        ("", 1),
        (".a", 1),
        ("a..b", 1),
        ("a.", 1),
        ("a\n", 1),
        ("plugins.x.y", "\udcff"),
        ("plugins.x.y", "x" * SIZE_LIMIT),
        ("storage.backend.name", "x"),
    ],
)
@pytest.mark.parametrize("start", [None, {"storage.backend": "device-local"}], ids=["no file", "a file"])
def test_what_could_not_be_read_back_is_not_written(home, key, value, start):
    if start:
        home.write(start)
    before = [entry for entry in home.snapshot() if entry[2] is not None]
    with pytest.raises(ConfigError) as caught:
        set_value(home.environ, key, value)
    assert caught.value.hint
    assert [entry for entry in home.snapshot() if entry[2] is not None] == before


def test_as_much_is_written_as_can_be_read_back(home):
    set_value(home.environ, "plugins.x.y", "")
    room = SIZE_LIMIT - home.config.stat().st_size
    set_value(home.environ, "plugins.x.y", "x" * room)
    assert home.config.stat().st_size == SIZE_LIMIT
    assert load(home.environ).options("x") == {"y": "x" * room}
    with pytest.raises(ConfigError, match="larger than 1,000,000 bytes"):
        set_value(home.environ, "plugins.x.y", "x" * (room + 1))


def test_a_group_may_be_set_as_a_whole(home):
    set_value(home.environ, "plugins.vault", {"vault_path": "/a"})
    assert load(home.environ).options("vault") == {"vault_path": "/a"}


# ------------------------------------------------------------------------------------------------ unsetting


def test_unsetting_says_whether_there_was_anything(home):
    home.write({"storage": {"backend": "vault"}, "state_mode": "local", "x": 1})
    assert unset_value(home.environ, "storage.backend")
    assert not unset_value(home.environ, "storage.backend")
    assert home.read() == {"state_mode": "local", "x": 1}


@pytest.mark.parametrize("legacy", [None, {"x": 1}])
def test_unsetting_what_is_not_set_makes_nothing(home, legacy):
    if legacy:
        home.write(legacy, legacy=True)
    before = home.snapshot()
    assert not unset_value(home.environ, "storage.backend")
    assert home.snapshot() == before


def test_a_refused_file_can_be_put_right_one_setting_at_a_time(home):
    home.write('{"storage.bakend": 1, "storage.x": 2, "state_mode": "?", "half": "\\ud800", "storage.backend": 3}')
    with pytest.raises(ConfigError, match="bakend"):
        set_value(home.environ, "state_mode", "local")
    for key in ("storage.bakend", "storage.x", "state_mode", "half"):
        assert unset_value(home.environ, key)
    set_value(home.environ, "storage.backend", "vault")
    assert home.read() == {"storage.backend": "vault"}


# ------------------------------------------------------------------------------------------------ older installs


def test_the_first_write_carries_the_whole_older_file_over_and_leaves_it_alone(home):
    document = {
        "schema_version": 2,
        "vault_path": "/v",
        "storage.backend": "vault",
        "source_clones": {"agentm": "/s"},
    }
    home.write(document, legacy=True)
    older = home.legacy.read_bytes()
    set_value(home.environ, "state_mode", "vault")
    assert home.read() == {**document, "state_mode": "backend"}
    assert home.legacy.read_bytes() == older
    config = load(home.environ)
    assert (config.is_legacy, config.storage_backend) == (False, "vault")


def test_unsetting_in_an_older_file_makes_its_successor_without_the_setting(home):
    home.write({"storage.backend": "vault", "x": 1}, legacy=True)
    assert unset_value(home.environ, "storage.backend")
    assert home.read() == {"x": 1}
    assert load(home.environ).storage_backend is None


def test_an_older_file_that_cannot_be_read_is_not_passed_over(home):
    home.write("broken", legacy=True)
    before = home.snapshot()
    with pytest.raises(ConfigError, match="not valid"):
        set_value(home.environ, "storage.backend", "vault")
    assert home.snapshot() == before


# ------------------------------------------------------------------------------------------------ what is in the way


@posix
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/nowhere/at/all"),
        lambda path: path.symlink_to(path.name),
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.write_bytes(b"{"),
    ],
    ids=["dangling link", "loop", "directory", "FIFO", "broken file"],
)
def test_what_cannot_be_read_is_not_written_over(home, make):
    home.config.parent.mkdir(parents=True)
    make(home.config)
    before = home.snapshot()
    for change in (lambda: set_value(home.environ, "x", 1), lambda: unset_value(home.environ, "x")):
        with pytest.raises(ConfigError):
            change()
    assert home.snapshot() == before


@posix
def test_a_link_is_kept_and_the_file_it_leads_to_is_written(home):
    real = home.root / "dotfiles" / "agentm.json"
    real.parent.mkdir()
    real.write_text('{"x": 1}')
    home.config.parent.mkdir(parents=True)
    home.config.symlink_to(real)
    set_value(home.environ, "storage.backend", "vault")
    assert home.config.is_symlink()
    assert json.loads(real.read_text()) == {"x": 1, "storage.backend": "vault"}


@posix
def test_a_place_that_cannot_be_written_is_an_error_and_no_change(unprivileged):
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o500)
        with pytest.raises(ConfigError, match="cannot be written: Permission denied"):
            set_value({"HOME": "/nowhere", "XDG_CONFIG_HOME": name}, "storage.backend", "vault")
        assert os.listdir(name) == []
        Path(name).chmod(0o700)


def test_a_file_where_the_folder_should_be_is_an_error(home):
    home.root.joinpath(".config").write_text("")
    with pytest.raises(ConfigError, match="Not a directory"):
        set_value(home.environ, "storage.backend", "vault")


@posix
def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_litter(home):
    import resource

    home.write({"storage.backend": "old"})
    before = [entry[::2] for entry in home.snapshot()]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(ConfigError, match="cannot be written: File too large") as caught:
            set_value(home.environ, "storage.backend", "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.hint == "nothing was changed"
    assert [entry[::2] for entry in home.snapshot()] == before


def test_leftovers_of_a_killed_writer_are_removed(home):
    home.write({})
    leftover = home.config.with_name(".agentm-0123456789abcdef.tmp")
    leftover.write_text("{")
    set_value(home.environ, "storage.backend", "vault")
    assert not leftover.exists()


# ------------------------------------------------------------------------------------------------ several at once

SETTER = """
import os, sys
from agentm_kernel.device.config_writer import set_value, unset_value
who = sys.argv[1]
for number in range(12):
    set_value(os.environ, f"plugins.{who}.n{number}", number)
    set_value(os.environ, "plugins.shared.last", who)
    if number % 3 == 2:
        unset_value(os.environ, f"plugins.{who}.n{number}")
"""


@pytest.mark.parametrize("start", [None, "legacy", "nested"])
def test_concurrent_setters_lose_nothing_and_readers_never_see_half_a_file(home, start):
    if start == "legacy":
        home.write({"kept": 1}, legacy=True)
    elif start == "nested":
        home.write({"kept": 1, "plugins": {}})
    environ = {**os.environ, **home.environ}
    for name in ("XDG_CONFIG_HOME", "AGENTM_INSTALL_PREFIX"):
        environ.pop(name, None)
    setters = [subprocess.Popen([sys.executable, "-c", SETTER, f"p{who}"], env=environ) for who in range(4)]
    while any(setter.poll() is None for setter in setters):
        load(home.environ)
    assert [setter.returncode for setter in setters] == [0] * 4
    config = load(home.environ)
    for who in range(4):
        assert config.options(f"p{who}") == {f"n{number}": number for number in range(12) if number % 3 != 2}
    assert config.get("plugins.shared.last") in {"p0", "p1", "p2", "p3"}
    assert config.get("kept") == (None if start is None else 1)
    assert os.listdir(home.config.parent) == [home.config.name]


KILLED = """
import os
from agentm_kernel.device.config_writer import set_value
number = 0
while True:
    number += 1
    set_value(os.environ, "plugins.x.number", number)
    print(number, flush=True)
"""


@posix
def test_a_setter_killed_at_any_moment_leaves_a_whole_file_and_no_lock(home):
    environ = {**os.environ, **home.environ, "AGENTM_INSTALL_PREFIX": str(home.config.parent)}
    for after in (1, 3, 7):
        setter = subprocess.Popen([sys.executable, "-c", KILLED], env=environ, stdout=subprocess.PIPE, text=True)
        assert setter.stdout is not None
        for _ in range(after):
            acknowledged = int(setter.stdout.readline())
        setter.send_signal(signal.SIGKILL)
        setter.communicate()
        assert load(home.environ).get("plugins.x.number") >= acknowledged
        set_value(home.environ, "storage.backend", f"after-{after}")
        assert load(home.environ).storage_backend == f"after-{after}"


@pytest.mark.parametrize(("text", "written"), [("é", "é"), ("\ud800", "\\ud800")], ids=["text", "half a pair"])
def test_the_file_is_laid_out_for_people_to_read(text: str, written: str) -> None:
    assert encoded({"a": text}).decode() == f'{{\n  "a": "{written}"\n}}\n'
