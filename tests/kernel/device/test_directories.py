from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from typing import TYPE_CHECKING

import platformdirs
import platformdirs.macos
import pytest

from agentm_kernel import files
from agentm_kernel.device import config as paths
from agentm_kernel.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

HOMES = ("/home/ada", "/home/ada/", "/home/ada//", "/", "//", "/home/Ada Lovelace", "/home/žofie", "", "ada", None)
OVERRIDES = ("/xdg", "/xdg/", "/", "relative", "./here", "~/xdg", "", " ", "/a b/ž", None)
KINDS = {"config": "XDG_CONFIG_HOME", "state": "XDG_STATE_HOME", "cache": "XDG_CACHE_HOME"}


def environment(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):
    """Make an environment the process's own, for platformdirs, which is not asked any other way."""

    def become(environ: dict[str, str]) -> None:
        for name in ("HOME", *KINDS.values()):
            monkeypatch.delenv(name, raising=False)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)

    return become


def copy_for(platform: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as it would be on another platform."""
    monkeypatch.setattr(sys, "platform", platform)
    spec = importlib.util.spec_from_file_location("files_elsewhere", files.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.platform == "win32", reason="platformdirs is asked there")
@pytest.mark.parametrize("kind", KINDS)
def test_directories_are_those_of_platformdirs_in_every_environment(kind, only):
    for home, override in itertools.product(HOMES, OVERRIDES):
        environ = environment(HOME=home, **{KINDS[kind]: override})
        only(environ)
        ours = files.user_directory(kind, environ)
        theirs = getattr(platformdirs, f"user_{kind}_dir")("agentm", appauthor=False)
        assert ours == theirs, environ


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX home")
@pytest.mark.parametrize("kind", KINDS)
def test_directories_on_macos_are_those_of_platformdirs(kind, only, monkeypatch):
    mac = copy_for("darwin", monkeypatch)
    for home, override in itertools.product(HOMES, OVERRIDES):
        environ = environment(HOME=home, **{KINDS[kind]: override})
        only(environ)
        theirs = getattr(platformdirs.macos.MacOS("agentm", appauthor=False), f"user_{kind}_dir")
        assert mac.user_directory(kind, environ) == theirs, environ


def test_on_windows_platformdirs_is_asked(monkeypatch):
    windows = copy_for("win32", monkeypatch)
    assert windows.user_directory("config", {"XDG_CONFIG_HOME": "/elsewhere"}) == platformdirs.user_config_dir(
        "agentm", appauthor=False
    )


def test_the_config_lies_in_the_prefix_and_nowhere_else_when_there_is_one():
    environ = {"HOME": "/home/ada", "AGENTM_INSTALL_PREFIX": "/opt/agentm"}
    assert paths.config_places(environ) == ("/opt/agentm/.agentm-config.json",)


def test_an_empty_prefix_is_no_prefix():
    environ = {"HOME": "/home/ada", "AGENTM_INSTALL_PREFIX": ""}
    assert paths.config_places(environ) == (
        "/home/ada/.config/agentm/.agentm-config.json",
        "/home/ada/.claude/.agentm-config.json",
    )


def test_a_tilde_in_the_prefix_is_the_home():
    environ = {"HOME": "/home/ada", "AGENTM_INSTALL_PREFIX": "~/.claude"}
    assert paths.config_places(environ)[0] == "/home/ada/.claude/.agentm-config.json"


def test_a_relative_prefix_is_refused_because_it_would_move_with_the_working_directory():
    with pytest.raises(ConfigError, match="not an absolute path") as caught:
        paths.config_places({"HOME": "/home/ada", "AGENTM_INSTALL_PREFIX": "here"})
    assert caught.value.hint


def test_a_changed_environment_is_seen_at_once():
    environ = {"HOME": "/home/ada"}
    first = paths.config_places(environ)[0]
    environ["XDG_CONFIG_HOME"] = "/xdg"
    second = paths.config_places(environ)[0]
    environ["AGENTM_INSTALL_PREFIX"] = "/prefix"
    third = paths.config_places(environ)[0]
    environ.clear()
    environ["HOME"] = "/home/ada"
    assert [first, second, third, paths.config_places(environ)[0]] == [
        "/home/ada/.config/agentm/.agentm-config.json",
        "/xdg/agentm/.agentm-config.json",
        "/prefix/.agentm-config.json",
        first,
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no password database")
def test_a_user_without_any_home_is_told_to_set_one(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    with pytest.raises(ConfigError, match="no home directory") as caught:
        files.home_directory({})
    assert "HOME" in (caught.value.hint or "")
