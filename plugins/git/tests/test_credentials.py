"""Tokens come from where the operator says, go where they belong, and are shown nowhere."""

from __future__ import annotations

import base64
import os
import sys

import pytest

from agentm_git.credentials import access
from agentm_git.settings import Settings
from agentm_kernel.errors import StorageIOError, StorageSelectionError

REMOTE = "https://example.com/team/notes.git"


def header(way):
    (value,) = [value for key, value in way.settings.items() if key.endswith(".extraHeader")]
    return base64.b64decode(value.rpartition(" ")[2]).decode()


def test_the_token_goes_to_the_origins_host_alone_and_along_no_redirect(tmp_path):
    way = access(Settings(remote=REMOTE, token_env="T"), {}, {"T": "s3cret"}, str(tmp_path))
    assert "http.https://example.com/.extraHeader" in way.settings
    assert way.settings["http.followRedirects"] == "false"
    assert header(way) == "x-access-token:s3cret"
    assert "s3cret" not in repr(way)


def test_a_token_that_is_named_and_not_there_is_said(tmp_path):
    with pytest.raises(StorageSelectionError, match=r"\$T is not set"):
        access(Settings(remote=REMOTE, token_env="T"), {}, {}, str(tmp_path))


def test_without_a_token_nothing_is_told(tmp_path):
    assert access(Settings(remote=REMOTE), {}, {}, str(tmp_path)).settings == {}


@pytest.mark.parametrize("remote", ["git@example.com:notes.git", "ssh://git@example.com/n.git", "/srv/n.git"])
def test_a_token_is_not_even_looked_up_where_it_is_of_no_use(remote, tmp_path):
    assert access(Settings(remote=remote, token_env="T"), {}, {}, str(tmp_path)).settings == {}


OTHERS = (
    "example.com",
    "localhost.example.com",
    "127.0.0.1.example.com:80",
    "[::1].example.com",
)


@pytest.mark.parametrize("host", OTHERS)
def test_a_token_is_not_sent_in_the_clear_to_another_machine(tmp_path, host):
    settings = Settings(remote=f"http://{host}/n.git", token_env="T")
    with pytest.raises(StorageSelectionError, match="in the clear"):
        access(settings, {}, {"T": "x"}, str(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "[::1]:80"])
def test_a_token_may_go_to_this_machine_in_the_clear(tmp_path, host):
    told = access(Settings(remote=f"http://{host}/n.git", token_env="T"), {}, {"T": "x"}, str(tmp_path)).settings
    assert f"http.http://{host}/.extraHeader" in told


def test_of_the_variables_of_a_policy_the_one_that_is_a_token_is_asked_for(tmp_path):
    asked = []

    class Granted(dict):
        def __getitem__(self, name):
            asked.append(name)
            return super().__getitem__(name)

    granted = Granted(APP_ID="7", APP_KEY="k", GITHUB_TOKEN="t")
    assert header(access(Settings(remote=REMOTE), granted, {}, str(tmp_path))) == "x-access-token:t"
    assert asked == ["GITHUB_TOKEN"]


@pytest.mark.parametrize(
    ("granted", "token"),
    [
        ({"A_PAT": "p", "B_TOKEN": "t"}, "t"),
        ({"A_KEY": " k\n", "B_ID": "7"}, "k"),
        ({"A_SECRET": "s", "B_PASSWORD": "p"}, "s"),
        ({"A_ID": "7", "TOKEN_OWNER": "ana"}, None),
    ],
)
def test_a_policy_may_call_its_token_otherwise_and_a_token_comes_first(tmp_path, granted, token):
    way = access(Settings(remote=REMOTE), granted, {}, str(tmp_path))
    assert (header(way) if way.settings else None) == (None if token is None else f"x-access-token:{token}")
    assert way.secrets == (() if token is None else (token, base64.b64encode(header(way).encode()).decode()))
    assert repr(way) == f"Access({0 if token is None else 2} secrets)"


def command(folder, text):
    path = folder / "get-token"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return (str(path),)


def test_the_operators_command_is_told_for_whom_and_prints_a_token(tmp_path):
    words = command(tmp_path, "import os; print('t-' + os.environ['AGENTM_GIT_INSTALLATION_ID'])")
    settings = Settings(remote=REMOTE, credential_command=words, installation_id="42", username="app")
    assert header(access(settings, {}, os.environ, str(tmp_path))) == "app:t-42"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import sys; print('s3cret'); sys.exit(3)", 3),
        ("pass", 0),
        ("print('s3cret\\n2nd line')", 0),
        ("import sys; sys.stdout.buffer.write(b's3cret\\xff')", 0),
    ],
)
def test_a_command_that_prints_no_token_is_said_without_what_it_printed(tmp_path, text, status):
    settings = Settings(remote=REMOTE, credential_command=command(tmp_path, text))
    with pytest.raises(StorageIOError, match=rf"gave no token \(it ended with {status}\)") as caught:
        access(settings, {}, os.environ, str(tmp_path))
    assert caught.value.hint == f"run `{tmp_path / 'get-token'}` by hand to see why"
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
