"""What a plugin under test is opened with, and a home for the tests of plugins."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from agentm_devkit.fixtures import Home
from agentm_devkit.kinds.checking import checks_of
from agentm_devkit.kinds.pytest_suite import plugin_tests
from agentm_devkit.scratch import ScratchLayer, ScratchStore
from agentm_kernel.plugin import BackendLayer, FileStore, Locator, PluginError, PluginRecord

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.conftest import Site

RECORD = PluginRecord("agentm.backends", "planted", "planted_scratch:PLUGIN", "agentm-planted", "1.0", "", ())
HINT = "give what it needs: --option NAME=VALUE ({scratch} is the folder) and --env VARIABLE"


def plant(monkeypatch: pytest.MonkeyPatch, plugin: Any) -> None:
    module = ModuleType("planted_scratch")
    module.PLUGIN = plugin  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "planted_scratch", module)


def seen_by(opened: list[tuple[Any, ...]]) -> type[FileStore]:
    class Store(FileStore):
        scratch_options = {"root": "{scratch}/notes", "kept": "own"}  # noqa: RUF012 - never changed

        @classmethod
        def create(cls, options: Any, device: Any, opening: Any) -> Any:
            print("opening", options)
            opened.append((dict(options), dict(device.environ), opening.state_dir))
            return cls(options["root"], create_root=True)

    return Store


def test_a_store_is_opened_in_a_folder_that_is_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[tuple[Any, ...]] = []
    plant(monkeypatch, seen_by(opened))
    given = {"number": 3, "place": "{scratch}/a:{scratch}", "kept": "other"}
    ScratchStore(RECORD, given, {"TOKEN": "t", "HOME": "/real"}).check_opens(str(tmp_path))
    options = {"root": f"{tmp_path}/notes", "kept": "other", "number": 3, "place": f"{tmp_path}/a:{tmp_path}"}
    state = f"{tmp_path}-state"
    assert opened == [(options, {"TOKEN": "t", "HOME": str(tmp_path), "XDG_STATE_HOME": state}, state)]
    assert capsys.readouterr().out == "", "an answer in JSON is not mixed with what a plugin prints"


def test_a_store_that_cannot_be_opened_or_holds_something_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Store(FileStore):
        @classmethod
        def create(cls, options: Any, device: Any, opening: Any) -> Any:
            if "root" not in options:
                raise ValueError("no root")
            if options["root"] == "typed":
                raise PluginError("it says so itself", hint="its own")
            return cls(options["root"])

    plant(monkeypatch, Store)
    with pytest.raises(PluginError, match="cannot open a store in an empty folder: ValueError: no root") as refused:
        ScratchStore(RECORD, {}, {}).check_opens(str(tmp_path))
    assert refused.value.hint == HINT
    with pytest.raises(PluginError, match="^it says so itself") as refused:
        ScratchStore(RECORD, {"root": "typed"}, {}).check_opens(str(tmp_path))
    assert refused.value.hint == "its own"
    FileStore(str(tmp_path)).write(Locator("note.md"), "precious")
    with pytest.raises(PluginError, match="opened a store that is not empty: it holds 'note.md'") as refused:
        ScratchStore(RECORD, {"root": "{scratch}"}, {}).check_opens(str(tmp_path))
    assert refused.value.hint == "the checks write and delete; name another place with --option NAME={scratch}"


def test_a_wrapper_is_put_around_a_store_in_a_folder_that_is_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[tuple[Any, ...]] = []

    class Layer(BackendLayer):
        changes = ("sync", "delete")

    def wrap(backend: Any, options: Any, device: Any, opening: Any) -> Any:
        print("wrapping")
        made.append((backend.describe(), dict(options), dict(device.environ), opening.state_dir))
        return Layer(backend) if "broken" not in options else options["broken"]

    plant(monkeypatch, wrap)
    assert ScratchLayer(RECORD, {"at": "{scratch}"}, {"A": "b"}).check_opens(str(tmp_path)) == ("sync", "delete")
    state = f"{tmp_path}-state"
    environ = {"A": "b", "HOME": str(tmp_path), "XDG_STATE_HOME": state}
    assert made == [(str(tmp_path), {"at": str(tmp_path)}, environ, state)]
    assert capsys.readouterr().out == ""
    with pytest.raises(PluginError, match="made int, which is no store"):
        ScratchLayer(RECORD, {"broken": 3}, {}).check_opens(str(tmp_path))
    plant(monkeypatch, lambda *_: 1 / 0)
    with pytest.raises(PluginError, match="cannot be put around a store in an empty folder: ZeroDivision") as refused:
        ScratchLayer(RECORD, {}, {}).check_opens(str(tmp_path))
    assert refused.value.hint == HINT


def test_a_layer_that_says_nothing_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, lambda backend, *_: FileStore(str(tmp_path)))
    assert ScratchLayer(RECORD, {}, {}).check_opens(str(tmp_path)) == ()


# ------------------------------------------------------------------------------------------------ a home for tests


def test_a_home_for_tests_keeps_little_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PATH": "/programs", "LANG": "C.UTF-8", "AGENTM_DEBUG": "1", "AGENTM_STORE": "/real"}.items():
        monkeypatch.setenv(name, value)
    for name in ("PYTHONPATH", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV", "AGENTM_TRACE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "far" / "home"
    home = Home(folder)
    assert home.environ == {
        "PATH": f"{os.path.dirname(sys.executable)}:/programs",
        "LANG": "C.UTF-8",
        "AGENTM_DEBUG": "1",
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "XDG_STATE_HOME": f"{folder}/.state",
        "XDG_CACHE_HOME": f"{folder}/.cache",
        "XDG_CONFIG_HOME": f"{folder}/.config",
        "XDG_DATA_HOME": f"{folder}/.data",
    }
    assert home.work.is_dir()
    assert home.device.environ["HOME"] == str(folder)


HOOKS = """
from agentm_kernel.plugin import DoctorRow, Section, hookimpl
@hookimpl
def agentm_doctor_checks(context):
    return [DoctorRow("ok", "planted", context.cwd)]
@hookimpl
def agentm_session_start(context):
    return [Section("planted", context.project.slug)]
@hookimpl
def agentm_event(name, payload):
    if name == "fails":
        raise OSError("no luck")
    return f"{name} {payload['n']}"
"""


@pytest.fixture
def hooked(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home in which a plugin with three hooks is installed."""
    site.install_plugin("hooked", HOOKS, group="agentm.plugins", attribute="")
    monkeypatch.syspath_prepend(site.path)
    monkeypatch.delitem(sys.modules, "plugin_hooked", raising=False)
    return Home(tmp_path / "hooked")


def test_a_home_for_tests_tells_what_plugins_add(hooked: Home) -> None:
    hooked.project()
    rows = [row.message for row in hooked.doctor_rows() if row.check == "planted"]
    assert rows == [str(hooked.work)]
    assert "demo" in [section.text for section in hooked.sections()]
    assert "told 3" in hooked.event("told", n=3)


def test_a_home_for_tests_fails_the_test_of_a_plugin_that_fails(hooked: Home) -> None:
    with pytest.raises(AssertionError, match="no luck"):
        hooked.event("fails")


def test_the_checks_of_a_plugin_are_tests_that_pass_fail_or_are_skipped(
    hooked: Home, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract = plugin_tests("hooks", "hooked")
    checks = {check.name: check for check in checks_of("hooks")}
    contract(checks["hooks_have_their_names"])
    with pytest.raises(AssertionError, match=r"every event.*\(.*\)$"):
        contract(checks["every_event"])
    site.install_plugin("bare", "", group="agentm.plugins", attribute="")
    with pytest.raises(pytest.skip.Exception, match="it has no agentm_event"):
        plugin_tests("hooks", "bare")(checks["every_event"])


def test_a_home_for_tests_has_a_store_and_a_project(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.store().write(Locator("personal/facts/tea.md"), "Tea.\n")
    assert home.store().read(Locator("personal/facts/tea.md")) == "Tea.\n"
    assert home.project() == home.work
    assert home.device.project(str(home.work)).slug == "demo"


def test_a_command_in_a_home_for_tests_gets_what_it_is_given(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.project()
    home.environ["AGENTM_PATIENCE"] = "60"
    assert home.run("state", "write", "PLAN.md", given="# Plan é\n").returncode == 0
    assert home.run("state", "read", "PLAN.md", AGENTM_DEBUG="1").stdout == "# Plan é\n"
    assert home.answer("config", "list")["schema"] == 1
    with pytest.raises(AssertionError, match="error: "):
        home.answer("state", "read", "NONE.md")
