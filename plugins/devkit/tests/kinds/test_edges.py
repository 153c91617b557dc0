"""Where the checks of plugins that are no stores draw their lines, and what becomes of one that does not apply."""

from __future__ import annotations

import json
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest

from agentm_devkit.conformance.runner import Result
from agentm_devkit.kinds.checking import Specimen, checks_of, plugin_check, run_checks
from agentm_kernel.plugin import AgentmError, PluginRecord, Tool, hookimpl

GROUPS = {
    "host": "agentm.hosts",
    "importer": "agentm.importers",
    "tool": "agentm.tools",
    "command": "agentm.commands",
    "hooks": "agentm.plugins",
}


class Told:
    """One check of a plugin that is made on the spot."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def result(self, kind: str, check: str, plugin: Any, group: str = "", name: str = "planted") -> Result:
        module = ModuleType("planted_edge")
        for given, value in vars(plugin).items() if kind == "hooks" else [("PLUGIN", plugin)]:
            setattr(module, given, value)
        self._monkeypatch.setitem(sys.modules, "planted_edge", module)
        value = "planted_edge" if kind == "hooks" else "planted_edge:PLUGIN"
        record = PluginRecord(group or GROUPS[kind], name, value, "agentm-planted", "1.0", "", ())
        checks = [one for one in checks_of(kind) if one.name == check]
        (result,) = run_checks(checks, record, {}).results
        return result


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


def adapter(**fields: Any) -> Any:
    methods = {name: lambda *_: "" for name in ("read", "compose", "envelope", "sent", "afterwards")}
    return SimpleNamespace(**{**methods, **fields})


def tool(**fields: Any) -> Any:
    given = {"name": "planted", "description": "x" * 20, "function": lambda call, **_: {}, "parameters": {}}
    return Tool(**{**given, "required": (), **fields})


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [(499, "failed"), (500, "passed"), (1_000_000, "passed"), (1_000_001, "failed"), ("500", "failed")],
)
def test_the_limit_of_a_host_is_sane(told: Told, limit: object, outcome: str) -> None:
    assert told.result("host", "adapter_has_a_limit", adapter(limit=limit)).outcome == outcome


@pytest.mark.parametrize(
    ("hooks", "saying"),
    [
        ({"session-start": "onStart"}, ""),
        ({"session-start": ""}, "what the host calls session-start is ''"),
        ({"turn-end": 3}, "what the host calls turn-end is 3"),
        ({"sunrise": "onSunrise"}, "there is no event 'sunrise'; events are session-start, prompt, "),
    ],
)
def test_an_adapter_has_a_name_for_each_event_that_there_is(told: Told, hooks: Any, saying: str) -> None:
    result = told.result("host", "adapter_knows_its_events", adapter(hooks=hooks))
    assert result.outcome == ("failed" if saying else "passed")
    assert saying in result.detail


def test_what_is_no_adapter_is_not_connected(told: Told) -> None:
    result = told.result("host", "connecting_can_be_undone", adapter(sent=None, read=3))
    assert result.detail.endswith("; but planted_edge:PLUGIN has no method `read`, `sent`")


def test_what_an_adapter_says_nothing_about_and_what_is_not_installed_is_not_asked(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = told.result("host", "adapter_answers_where_the_host_never_ran", adapter())
    assert (silent.outcome, silent.detail) == ("skipped", "it says nothing about the host's files")
    monkeypatch.setattr("agentm_devkit.kinds.connected_home._COMMANDS", "agentm.importers")
    alone = told.result("host", "connecting_can_be_undone", adapter())
    assert (alone.outcome, alone.detail) == ("skipped", "agentm-hosts, which connects hosts, is not installed")
    plain = told.result("host", "envelope_is_one_answer", adapter(envelope=lambda call, text: text))
    assert (plain.outcome, plain.detail) == ("skipped", "this host takes plain text")


@pytest.mark.parametrize(
    ("length", "outcome"), [(19, "failed"), (20, "passed"), (1_000, "passed"), (1_001, "failed")]
)
def test_a_tool_says_neither_too_little_nor_too_much(told: Told, length: int, outcome: str) -> None:
    described = tool(description=f" {'x' * length} ")
    assert told.result("tool", "tool_says_what_it_does", described).outcome == outcome


@pytest.mark.parametrize(("length", "outcome"), [(19, "failed"), (20, "passed")])
def test_a_command_explains_itself_in_twenty_letters(told: Told, length: int, outcome: str) -> None:
    command = click.Command("planted", help=f" {'x' * length} ")
    assert told.result("command", "command_explains_itself", command).outcome == outcome


def test_an_option_that_nobody_sees_needs_no_help_and_an_argument_has_none(told: Told) -> None:
    hidden = click.Option(["--secret"], hidden=True)
    command = click.Command("planted", params=[hidden, click.Argument(["path"])])
    assert told.result("command", "command_explains_its_options", command).outcome == "passed"
    command.params += [click.Option(["--one"]), click.Option(["--two"])]
    result = told.result("command", "command_explains_its_options", command)
    assert result.detail == "Every option has a help text; but --one, --two has none"


@pytest.mark.parametrize(
    ("letters", "outcome"), [("a" * 64, "passed"), ("a" * 65, "failed"), ("a_B-9", "passed"), ("a.b", "failed")]
)
def test_a_tool_has_a_name_that_every_host_takes(told: Told, letters: str, outcome: str) -> None:
    assert told.result("tool", "tool_has_its_name", tool(name=letters), name=letters).outcome == outcome
    assert told.result("tool", "tool_has_its_name", tool(name=letters), name="other").outcome == "failed"


@pytest.mark.parametrize(
    ("schema", "outcome"),
    [
        ({"type": "string"}, "passed"),
        ({"type": ["string", "null"]}, "passed"),
        ({"enum": ["a"]}, "passed"),
        ({"type": ["string", "number", "integer", "boolean", "array", "object", "null"]}, "passed"),
        ({"type": ["string", "text"]}, "failed"),
        ({"type": "text"}, "failed"),
        ({}, "failed"),
        ({"type": "string", "default": object()}, "failed"),
    ],
)
def test_an_argument_of_a_tool_has_types_of_json(told: Told, schema: dict[str, object], outcome: str) -> None:
    declared = tool(parameters={"x": schema})
    assert told.result("tool", "tool_declares_its_arguments", declared).outcome == outcome


def test_a_tool_that_is_none_is_told_all_that_it_lacks(told: Told) -> None:
    given = SimpleNamespace(name="planted", function=print, parameters={})
    result = told.result("tool", "tool_has_its_name", given)
    assert result.detail.endswith("; but planted_edge:PLUGIN has no description, required")


def hooks(**functions: Any) -> Any:
    return SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()})


def event(name: str) -> None:
    """Takes every event."""


def test_a_plugin_that_is_listed_for_one_hook_has_it(told: Told) -> None:
    check, listed = "hooks_have_their_names", "agentm.plugins.event"
    contract = (
        "A plugin that is listed for one hook implements it: `agentm.plugins.event` means `agentm_event`; but it has "
    )
    both = hooks(agentm_event=event, agentm_alert=event)
    assert told.result("hooks", check, both, listed).outcome == "passed"
    assert told.result("hooks", check, both).outcome == "passed"
    other = told.result("hooks", check, hooks(agentm_alert=event, agentm_x=event), listed)
    assert other.detail == f"{contract}agentm_alert, agentm_x, and not agentm_event"
    assert told.result("hooks", check, SimpleNamespace(), listed).detail == (
        f"{contract}no hook, and not agentm_event"
    )


@pytest.mark.parametrize(
    ("check", "hook"),
    [
        ("doctor_rows", "agentm_doctor_checks"),
        ("session_sections", "agentm_session_start"),
        ("every_event", "agentm_event"),
    ],
)
def test_a_hook_that_a_plugin_has_not_is_not_asked(told: Told, check: str, hook: str) -> None:
    result = told.result("hooks", check, SimpleNamespace())
    assert (result.outcome, result.detail, result.where) == ("skipped", f"it has no {hook}", "")


def test_the_event_at_which_a_plugin_fails_is_named(told: Told) -> None:
    def fails(name: str) -> None:
        if name != "note-saved":
            raise OSError("no luck")

    result = told.result("hooks", "every_event", hooks(agentm_event=fails))
    assert "; but at " in result.detail
    assert "no luck" in result.detail
    assert "; but at " not in told.result("hooks", "doctor_rows", hooks(agentm_doctor_checks=lambda: "x")).detail


class Importer:
    label = "Planted"

    def __init__(self, *items: Any) -> None:
        self.items = items

    def detect(self, device: Any) -> list[Any]:
        return []

    def read(self, path: str, device: Any) -> Any:
        return iter(self.items)


@pytest.mark.parametrize(
    ("item", "outcome"),
    [
        ({"origin": "a", "body": "b"}, "passed"),
        ({"origin": "a", "reason": "b"}, "passed"),
        (SimpleNamespace(origin="a", body="b"), "passed"),
        (SimpleNamespace(origin="a", reason="b"), "passed"),
        ({"origin": "a"}, "failed"),
        ({"origin": 1, "body": "b"}, "failed"),
        ({"body": "b"}, "failed"),
        (SimpleNamespace(origin="a", body=b"b"), "failed"),
        ("a", "failed"),
    ],
    ids=str,
)
def test_an_importer_yields_a_body_or_a_reason(told: Told, item: Any, outcome: str) -> None:
    assert told.result("importer", "importer_yields_items", Importer(item)).outcome == outcome


def test_an_importer_meets_files_that_it_can_do_little_with(told: Told) -> None:
    met: dict[str, bytes] = {}

    class Curious(Importer):
        def read(self, path: str, device: Any) -> Any:
            for name in os.listdir(path):
                with open(os.path.join(path, name), "rb") as file:
                    met[name] = file.read()
            return []

    assert told.result("importer", "importer_yields_items", Curious()).outcome == "passed"
    assert met["empty.md"] == b""
    with pytest.raises(UnicodeDecodeError):
        met["not-utf8.md"].decode()
    with pytest.raises(ValueError, match="property name"):
        json.loads(met["broken.json"])
    assert met["binary.db"].startswith(b"\x00")


def test_the_same_origins_in_another_order_are_not_the_same(told: Told) -> None:
    class Turning(Importer):
        def read(self, path: str, device: Any) -> Any:
            self.items = self.items[::-1]
            return list(self.items)

    mixed = ({"origin": "a", "body": ""}, SimpleNamespace(origin="b", body=""))
    assert told.result("importer", "importer_is_repeatable", Importer(*mixed)).outcome == "passed"
    turned = told.result("importer", "importer_is_repeatable", Turning(*mixed))
    assert turned.detail.endswith("it gave ['b', 'a'], then ['a', 'b']")


def test_an_importer_that_changes_its_source_is_told_which_file(told: Told) -> None:
    class Meddling(Importer):
        def read(self, path: str, device: Any) -> Any:
            for name in ("empty.md", "new.md"):
                with open(os.path.join(path, name), "w") as file:
                    file.write("x")
            with open(os.path.join(device.environ["HOME"], ".cache"), "w"):
                raise AgentmError("that was all")

    result = told.result("importer", "importer_changes_nothing", Meddling())
    assert "source/empty.md" in result.detail
    assert "source/new.md" in result.detail
    assert ".cache" not in result.detail


@pytest.mark.parametrize(
    ("label", "outcome"), [("Planted", "passed"), (" ", "failed"), (None, "failed"), (3, "failed")]
)
def test_an_importer_has_a_label_of_letters(told: Told, label: object, outcome: str) -> None:
    named = Importer()
    named.label = label  # type: ignore[assignment]
    assert told.result("importer", "importer_has_a_label", named).outcome == outcome


# ------------------------------------------------------------------------------------------------ checking


RECORD = PluginRecord("agentm.tools", "planted", "planted_edge:PLUGIN", "agentm-planted", "1.0", "", ())


def test_a_specimen_has_a_home_and_what_was_passed_on_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/programs")
    monkeypatch.setenv("AGENTM_DEVICE_LOCAL_ROOT", "/real")
    specimen = Specimen(RECORD, {"TOKEN": "t"})
    home = specimen.home
    assert os.path.basename(home).startswith("agentm-check-")
    assert specimen.device.environ == {
        "TOKEN": "t",
        "HOME": home,
        "PATH": "/programs",
        "XDG_STATE_HOME": f"{home}/.state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.data",
    }
    assert specimen.files() == {}
    os.makedirs(f"{home}/a/b")
    with open(f"{home}/a/b/c", "w") as file:
        file.write("123")
    assert sorted(specimen.files()) == ["a", "a/b", "a/b/c"]
    assert specimen.files()["a/b/c"][1] == 3
    specimen.close()
    assert not os.path.exists(home)


def test_each_check_has_a_home_of_its_own_that_is_thrown_away_whatever_came_of_it() -> None:
    homes: list[str] = []

    @plugin_check("some")
    def check_once(specimen: Specimen) -> None:
        """It is
        sound."""
        homes.append(specimen.home)
        raise KeyError("x")

    assert (check_once.name, check_once.group, check_once.contract) == ("once", "some", "It is sound")
    report = run_checks([check_once, check_once], RECORD, {})
    assert len({*homes}) == 2
    assert not any(map(os.path.exists, homes))
    for result in report.results:
        assert result.outcome == "failed"
        assert result.detail.startswith("It is sound; but the plugin raised the untyped KeyError")
        assert "test_edges.py" in result.where
        assert result.seconds < 20


def test_a_plugin_that_removes_its_home_itself_has_nothing_held_against_it() -> None:
    @plugin_check("some")
    def check_away(specimen: Specimen) -> None:
        """It goes."""
        os.rmdir(specimen.home)

    assert run_checks([check_away], RECORD, {}).ok
