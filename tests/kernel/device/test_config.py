from __future__ import annotations

import json
import mmap
import os
import pickle

import pytest

from agentm_kernel.device.config import load, normalised
from agentm_kernel.device.config_writer import set_value, unset_value
from agentm_kernel.errors import ConfigError, UnfitSetting
from agentm_kernel.plugin import Device

# ------------------------------------------------------------------------------------------------ where it is


def test_without_a_file_nothing_is_configured(home):
    config = load(home.environ)
    assert (config.path, config.is_present, config.is_legacy) == (str(home.config), False, False)
    assert config.storage_backend is None
    assert config.shortcut is None
    assert config.state_mode is None
    assert config.disabled_plugins == ()
    assert config.allowed_plugins is None
    assert config.wrappers == ()
    assert config.options("vault") == {}
    assert config.get("storage.backend") is None
    assert config.items() == []


@pytest.mark.parametrize("folder", [".config", ".config/agentm", ".claude"])
def test_a_folder_that_is_a_link_to_a_disk_which_is_not_mounted_does_not_mean_that_nothing_is_configured(
    home, folder
):
    """The default store was taken for the one that was chosen: memory was empty, and notes went elsewhere."""
    place = home.root / folder
    place.parent.mkdir(exist_ok=True)
    place.symlink_to("/nowhere/at/all")

    with pytest.raises(ConfigError, match=f"{place} leads to no folder; a disk may not be mounted"):
        load(home.environ)


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
    assert Device.now().config.storage_backend == "mine"


def test_a_link_to_a_regular_file_is_followed(home):
    home.write({"storage.backend": "linked"}, legacy=True)
    home.config.parent.mkdir(parents=True)
    home.config.symlink_to(home.legacy)
    config = load(home.environ)
    assert (config.path, config.storage_backend, config.is_legacy) == (str(home.config), "linked", False)


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
    assert config.shortcut == ("storage.policy", "policy", "~/STORAGE.md")
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


def test_settings_are_listed_by_the_names_that_they_have_now(home):
    home.write({"vault_path": "/flat", "plugins.obsidian-vault.memory_root": "Agents", "plugins.git.url": "u"})
    config = load(home.environ)
    assert config.items() == [
        ("plugins.vault.vault_path", "/flat"),
        ("plugins.vault.memory_root", "Agents"),
        ("plugins.git.url", "u"),
    ]
    assert config.get("plugins.obsidian-vault") == {"vault_path": "/flat", "memory_root": "Agents"}


@pytest.mark.parametrize("name", ["plugins.vault.vault_path", "plugins.obsidian-vault.vault_path", "vault_path"])
@pytest.mark.parametrize("written", ["plugins.vault.vault_path", "plugins.obsidian-vault.vault_path", "vault_path"])
def test_a_setting_is_read_and_unset_by_every_name_that_it_has_had(home, written, name):
    home.write({written: "/notes", "other": 1})

    assert load(home.environ).get(name) == "/notes"
    assert load(home.environ).get("plugins.vault") == {"vault_path": "/notes"}
    assert unset_value(home.environ, name)
    assert json.loads(home.config.read_text()) == {"other": 1}
    assert not unset_value(home.environ, name)


def test_the_whole_table_is_unset_with_its_older_spellings(home):
    home.write({"vault_path": "/flat", "plugins": {"obsidian-vault": {"memory_root": "a"}, "git": {"root": "/g"}}})
    assert unset_value(home.environ, "plugins.vault")
    assert json.loads(home.config.read_text()) == {"plugins": {"git": {"root": "/g"}}}


@pytest.mark.parametrize("name", ["plugins.vault.vault_path", "plugins.obsidian-vault.vault_path", "vault_path"])
def test_setting_replaces_what_older_installs_called_it(home, name):
    home.write({"vault_path": "/flat", "plugins.obsidian-vault.vault_path": "/older", "other": 1})
    set_value(home.environ, name, "/new")
    assert json.loads(home.config.read_text()) == {"other": 1, "plugins.vault.vault_path": "/new"}


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


def test_a_refused_file_is_refused_again_until_it_is_put_right(home):
    home.write({"storage.backend": "one"})
    load(home.environ)
    home.write({"storage.bakend": "one"})
    for _ in range(2):
        with pytest.raises(ConfigError):
            load(home.environ)
    home.write({"storage.backend": "one"})
    assert load(home.environ).storage_backend == "one"


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("stores.team.backend", "agentm config set stores.team.backend VALUE"),
        ("storage.backend", "agentm config set storage.backend VALUE"),
        ("bindings", "agentm config unset bindings"),
    ],
)
def test_what_a_setting_cannot_hold_is_refused_with_the_command_that_puts_it_right(key: str, remedy: str) -> None:
    with pytest.raises(UnfitSetting) as refused:
        normalised(key, 5)
    assert refused.value.remedy == remedy


@pytest.mark.parametrize("days", [0, -1, True, "7", 1.5])
def test_days_are_a_whole_number_from_one_on(home, days):
    home.write({"inbox.days": days})
    with pytest.raises(ConfigError, match=r"inbox\.days"):
        load(home.environ)
    home.write({"inbox.days": 1})
    assert load(home.environ).get("inbox.days") == 1
