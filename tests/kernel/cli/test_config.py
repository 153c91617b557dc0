from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.cli import exit_code_of
from agentm_kernel.cli.app import run as run_click
from agentm_kernel.cli.command_table import match
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

NAME = ".agentm-config.json"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the configuration of an empty home will lie."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "AGENTM_INSTALL_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / ".config" / "agentm" / NAME


@pytest.fixture
def run(config: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """`agentm config ARGUMENTS` as `main` runs it, but for leaving the process: exit code, output, errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        matched = match(["config", *arguments])
        code = exit_code_of(
            lambda: (
                matched[0].run(Device.now(), matched[1])
                if matched
                else run_click(Device.now(), ["config", *arguments])
            )
        )
        return code, *capfd.readouterr()

    return run


def write(path: Path, content: str | dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


# ------------------------------------------------------------------------------------------------ get


def test_get_prints_a_text_as_it_is(run, config):
    write(config, {"storage": {"backend": "vault"}, "plugins.vault.vault_path": "/Notizen/Über uns"})
    assert run("get", "storage.backend") == (0, "vault\n", "")
    assert run("get", "plugins.vault.vault_path") == (0, "/Notizen/Über uns\n", "")


def test_get_prints_everything_else_as_json(run, config):
    write(config, {"wrappers": ["a", "b"], "plugins.x": {"on": True, "n": 3}})
    assert run("get", "wrappers") == (0, '["a", "b"]\n', "")
    assert run("get", "plugins.x.on") == (0, "true\n", "")
    assert run("get", "plugins.x") == (0, '{"on": true, "n": 3}\n', "")


def test_get_of_what_is_not_set_says_nothing_and_exits_1(run):
    assert run("get", "storage.backend") == (1, "", "")


def test_get_in_json_says_whether_it_is_set(run, config):
    write(config, {"storage.backend": "vault"})
    code, out, _ = run("get", "storage.backend", "--json")
    assert (code, json.loads(out)) == (0, {"schema": 1, "key": "storage.backend", "value": "vault"})
    code, out, _ = run("get", "--json", "state_mode")
    assert (code, json.loads(out)) == (1, {"schema": 1, "key": "state_mode", "value": None})


def test_get_answers_alike_through_click(run, config):
    write(config, {"storage.backend": "vault"})
    assert run("get", "--", "storage.backend") == (0, "vault\n", "")
    assert run("get", "--", "state_mode") == (1, "", "")


def test_get_without_a_key_is_wrong_usage(run):
    code, out, err = run("get")
    assert (code, out) == (2, "")
    assert err == "error: Missing argument 'KEY'.\nhint: run `agentm config get --help`\n"


def test_a_value_is_printed_whatever_the_locale_can_express(config):
    write(config, {"plugins.vault.vault_path": "/Ünï"})
    done = subprocess.run(
        [sys.executable, "-m", "agentm_kernel.cli.main", "config", "get", "plugins.vault.vault_path"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == "/Ünï\n".encode()


# ------------------------------------------------------------------------------------------------ set and unset


@pytest.mark.parametrize(
    ("key", "word", "value"),
    [
        ("storage.backend", "vault", "vault"),
        ("storage.backend", "3", "3"),
        ("storage.policy", "true", "true"),
        ("state_mode", "vault", "backend"),
        ("wrappers", "policy", ["policy"]),
        ("wrappers", "policy, integrity", ["policy", "integrity"]),
        ("wrappers", '["policy"]', ["policy"]),
        ("wrappers", "", []),
        ("plugin_policy.allowed", "[]", []),
        ("plugins.x.text", "/some/path", "/some/path"),
        ("plugins.x.text", "007", "007"),
        ("plugins.x.text", '"3"', "3"),
        ("plugins.x.number", "3", 3),
        ("plugins.x.number", "-2.5", -2.5),
        ("plugins.x.flag", "true", True),
        ("plugins.x.list", '["a", 1]', ["a", 1]),
        ("plugins.x.text", "NaN", "NaN"),
        ("plugins.x.text", "[not json", "[not json"),
    ],
)
def test_set_reads_the_word_as_the_key_wants_it(run, config, key, word, value):
    assert run("set", "--", key, word)[:2] == (0, f"set {key} in {config}\n")
    assert json.loads(config.read_text()) == {key: value}


@pytest.mark.parametrize(
    ("key", "word", "kind"), [("storage.backend", "devcie-local", "backend"), ("wrappers", "encrypton", "wrapper")]
)
def test_set_warns_of_a_plugin_that_is_not_installed(run, config, key, word, kind):
    code, _, err = run("set", key, word)
    assert code == 0, "it may be installed later"
    assert err.startswith(f"warning: no installed plugin provides the {kind} '{word}'; installed: ")
    assert json.loads(config.read_text())


def test_set_warns_of_no_plugin_that_is_installed(run):
    assert run("set", "storage.backend", "device-local")[2] == ""


def test_set_says_what_it_carried_over_from_an_older_install(run, config, tmp_path):
    legacy = tmp_path / ".claude" / NAME
    write(legacy, {"x": 1})
    code, out, _ = run("set", "storage.backend", "vault")
    assert (code, out) == (0, f"set storage.backend in {config}, with everything from {legacy}\n")


@pytest.mark.parametrize(
    ("key", "word", "error"),
    [
        ("storage.bakend", "vault", "'storage.bakend' is not a setting"),
        ("storge.backend", "vault", "'storge.backend' is not a setting of agentm"),
        ("plugin.vault.vault_path", "/x", "'plugin.vault.vault_path' is not a setting of agentm"),
        ("wrapers", "integrity", "'wrapers' is not a setting of agentm"),
        ("somebody.else", "{}", "'somebody.else' is not a setting of agentm"),
        ("x", "3", "'x' is not a setting of agentm"),
        ("storage.backend", " ", "'storage.backend' is blank"),
        ("state_mode", "remote", "'state_mode' is 'remote'"),
        ("plugins", "3", "'plugins' holds further settings"),
        ("wrappers", '[""]', "'wrappers' is a list, not a list of names"),
        ("plugins..b", "3", "'plugins..b' is not a dotted key"),
    ],
)
def test_set_refuses_in_two_lines_and_changes_nothing(run, config, key, word, error):
    code, out, err = run("set", key, word)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: {error}")
    assert [line.split(":")[0] for line in err.splitlines()] == ["error", "hint"]
    assert not config.exists()


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("storge.backend", "did you mean storage.backend?"),
        ("StateMode", "did you mean state_mode?"),
        ("plugin_polcy.disabled", "did you mean plugin_policy.disabled?"),
        ("wrapers", "did you mean wrappers?"),
        ("hosts.prompt", "did you mean plugins.hosts.prompt?"),
        ("capture.remind", "did you mean plugins.hosts.remind?"),
        ("colour", "there are storage.backend, storage.policy, state_mode,"),
    ],
)
def test_set_names_the_nearest_setting_that_there_is(run, key, nearest):
    assert run("set", key, "x")[2].splitlines()[1].startswith(f"hint: {nearest}")


def test_a_foreign_key_may_stand_in_the_file(run, config):
    write(config, {"somebody.else": 1})
    assert run("get", "somebody.else") == (0, "1\n", "")
    assert run("set", "storage.backend", "vault")[0] == 0
    assert json.loads(config.read_text()) == {"somebody.else": 1, "storage.backend": "vault"}
    assert run("unset", "somebody.else")[0] == 0


def test_set_of_a_list_that_is_half_json_is_wrong_usage(run):
    code, _, err = run("set", "wrappers", '["a"')
    assert code == 2
    assert "not a list in JSON" in err


def test_unset_removes(run, config):
    write(config, {"storage": {"backend": "vault"}, "x": 1})
    assert run("unset", "storage.backend") == (0, f"removed storage.backend from {config}\n", "")
    assert json.loads(config.read_text()) == {"x": 1}


def test_unset_of_what_is_not_set_fails_and_makes_nothing(run, config):
    code, out, err = run("unset", "storage.backend")
    assert (code, out) == (1, "")
    assert err.startswith("error: 'storage.backend' is not set\nhint: ")
    assert not config.parent.exists()


def test_the_hint_of_a_refusal_is_the_command_that_helps(run, config):
    write(config, {"storage.bakend": "vault", "storage.backend": "vault"})
    code, _, err = run("get", "storage.backend")
    assert code == 1
    remedy = err.splitlines()[1].removeprefix("hint: run `agentm config ").removesuffix("`")
    assert run(*remedy.split())[0] == 0
    assert run("get", "storage.backend") == (0, "vault\n", "")


# ------------------------------------------------------------------------------------------------ list and path


def test_list_shows_every_setting_and_masks_secrets(run, config):
    write(
        config,
        {
            "storage": {"backend": "bucket"},
            "plugins.bucket": {
                "access_key": "AKIA",
                "keys": [{"clientSecret": "hunter2"}],
                "api-token": "t",
                "url": "u",
            },
            "smtp.password": "hunter3",
        },
    )
    code, out, _ = run("list")
    assert code == 0
    assert [line.split(maxsplit=1) for line in out.splitlines()] == [
        ["storage.backend", "bucket"],
        ["plugins.bucket.access_key", "********"],
        ["plugins.bucket.keys", '[{"clientSecret": "********"}]'],
        ["plugins.bucket.api-token", "********"],
        ["plugins.bucket.url", "u"],
        ["smtp.password", "********"],
    ]
    code, out, _ = run("list", "--json")
    shown = json.loads(out)
    assert (code, shown["schema"], shown["path"], shown["present"], shown["legacy"]) == (
        0,
        1,
        str(config),
        True,
        False,
    )
    assert shown["settings"]["plugins.bucket.url"] == "u"
    assert shown["settings"]["smtp.password"] == "********"


def test_list_masks_what_is_a_secret_by_itself(run, config):
    token = "gh" + "p_" + "Q7w2Zk9" * 5 + "x"
    write(config, {"plugins.git.remote": f"https://ana:{token}@github.com/a/b", "plugins.git.keys": [token, "main"]})
    code, out, _ = run("list")
    assert code == 0
    assert token not in out
    assert '["********", "main"]' in out


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plugins.git.remote", "https://ana:" + "Zitrone88@github.com/a/b"),
        ("plugins.smtp.password", "Zitrone88"),
        ("plugins.x.keys", '["gh' + "p_" + "Q7w2Zk9" * 5 + 'x"]'),
    ],
)
def test_set_refuses_a_secret_unless_it_is_allowed(run, config, key, value):
    code, _, err = run("set", key, value)
    assert code == 1
    assert f"the value of '{key}' looks like a secret" in err
    assert "--allow-secrets" in err
    assert value not in err
    assert not config.exists()

    assert run("set", key, value, "--allow-secrets")[0] == 0
    assert config.exists()


def test_list_keeps_terminal_controls_off_the_terminal(run, config):
    write(config, {"x": "\x1b[2J\n"})
    assert run("list")[1] == "x  '\\x1b[2J\\n'\n"


def test_list_of_nothing_is_empty(run, config):
    assert run("list") == (0, "", "")
    assert json.loads(run("list", "--json")[1])["settings"] == {}
    assert not config.parent.exists()


def test_path_shows_where_the_file_is_or_would_be(run, config, tmp_path):
    assert run("path") == (0, f"{config}\n", "")
    legacy = tmp_path / ".claude" / NAME
    write(legacy, {})
    assert run("path") == (0, f"{legacy}\n", "")
    assert json.loads(run("path", "--json")[1]) == {"schema": 1, "path": str(legacy), "present": True, "legacy": True}


def test_path_works_when_the_file_does_not(run, config):
    write(config, "broken")
    assert run("path") == (0, f"{config}\n", "")


@pytest.mark.parametrize("arguments", [("get", "x"), ("list",), ("set", "wrappers", "a"), ("unset", "x")])
def test_a_broken_file_is_one_error_line_and_one_hint(run, config, arguments):
    write(config, "broken")
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert [line.split(":")[0] for line in err.splitlines()] == ["error", "hint"]
    assert str(config) in err
