"""Adapters, importers, tools, commands and hook plugins with one bug each: the check meant for it says why it fails.

The sound ones of each kind pass every check. Broken backends and layers are in `conformance/broken_backends`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest

from agentm_devkit.kinds.checking import checks_of, run_checks
from agentm_devkit.kinds.hosts import HOOKED
from agentm_kernel.cli.command_table import HOOK_EVENTS
from agentm_kernel.plugin import AgentmError, Device, DoctorRow, PluginRecord, Section, Tool, hookimpl

pytest.importorskip("agentm_hosts", reason="adapters derive from a class of agentm-hosts")
from agentm_hosts.adapter import HostAdapter
from agentm_hosts.place import SET, Change, Entry

GROUPS = {
    "host": "agentm.hosts",
    "importer": "agentm.importers",
    "tool": "agentm.tools",
    "command": "agentm.commands",
    "hooks": "agentm.plugins",
}
NAMES = {"tool": "planted_tool"}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted adapter is installed: `agentm connect planted` finds it."""
    folder = tmp_path / "site" / "agentm_planted-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: agentm-planted\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[agentm.hosts]\nplanted = planted_bug:PLUGIN\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def test_whoever_waits_hears_which_check_begins_and_what_came_of_it() -> None:
    record = PluginRecord(GROUPS["hooks"], "planted", "planted_bug", "agentm-planted", "1.0", "", ())
    checks, heard = checks_of("hooks")[:2], []
    report = run_checks(checks, record, {}, on_start=heard.append, on_result=heard.append)
    first, second = report.results
    assert heard == [checks[0], first, checks[1], second]


def failures(kind: str, plugin: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the checks of this kind say about `plugin`, by check."""
    module = ModuleType("planted_bug")
    for name, value in vars(plugin).items() if kind == "hooks" else [("PLUGIN", plugin)]:
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "planted_bug", module)
    value = "planted_bug" if kind == "hooks" else "planted_bug:PLUGIN"
    record = PluginRecord(GROUPS[kind], NAMES.get(kind, "planted"), value, "agentm-planted", "1.0", "", ())
    report = run_checks(checks_of(kind), record, {})
    return {result.check.name: result.detail for result in report.results if result.outcome == "failed"}


# ------------------------------------------------------------------------------------------------ sound ones


class Adapter(HostAdapter):
    name = title = "planted"
    hooks = {"session-start": "onStart", "turn-end": "onStop"}  # noqa: RUF012 - never changed

    def envelope(self, call: Any, text: str) -> str:
        import json

        return json.dumps({"context": text}) + "\n" if text else ""

    def folder(self, place: Any) -> str:
        return str(place.path(".planted"))

    def changes(self, place: Any) -> list[Change]:
        entries = [
            Entry(("hooks", native), {"command": self.hook_command(place, event)})
            for event, native in self.hooks.items()
        ]
        entries.append(Entry(("mcpServers", "agentm"), {"command": place.launcher, "args": ["mcp"]}, SET))
        return [Change(os.path.join(self.folder(place), "settings.json"), "json", tuple(entries))]


class Importer:
    label = "Planted"

    def detect(self, device: Any) -> list[tuple[str, int, str]]:
        return []

    def read(self, path: str, device: Any) -> Any:
        if not os.path.isdir(path):
            raise AgentmError(f"{path} is not there")
        for name in sorted(os.listdir(path)):
            yield {"origin": name, "reason": "it is not a memory"}


def tool(**changed: Any) -> Any:
    given = {
        "name": "planted_tool",
        "description": "Counts notes. Call it before you read many of them.",
        "function": lambda call, folder="": {"notes": 0},
        "parameters": {"folder": {"type": "string"}},
        "required": (),
    }
    return Tool(**{**given, **changed})


def command(help_text: str | None = "Count the notes of the selected store.", **option: Any) -> click.Command:
    given = {"help": "As JSON.", "is_flag": True, **option}
    return click.Command(
        "planted", help=help_text, params=[click.Option(["--json"], **given)], callback=lambda **_: 0
    )


def hooks(**functions: Any) -> Any:
    return SimpleNamespace(**{name: hookimpl(function) for name, function in functions.items()})


def row(context):
    return [DoctorRow("ok", "planted", "all is well")]


SOUND = {
    "host": Adapter(),
    "importer": Importer(),
    "tool": tool(),
    "command": command(),
    "hooks": hooks(
        agentm_doctor_checks=row,
        agentm_session_start=lambda context: [Section("planted", "hello")],
        agentm_event=lambda name, payload, context: None,
    ),
}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_plugin_passes_every_check(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failures(kind, SOUND[kind], monkeypatch) == {}


# ------------------------------------------------------------------------------------------------ broken ones


def adapter(**changed: Any) -> Any:
    return type("Planted", (Adapter,), changed)()


def importer(**changed: Any) -> Any:
    return type("Planted", (Importer,), changed)()


def makes_a_file(device: Any) -> None:
    with open(os.path.join(device.home, "litter"), "w") as file:
        file.write("litter")


def half(self: Any, call: Any, text: str) -> str:
    return Adapter.envelope(self, call, text[: len(text) // 2])


def raising(*_: Any) -> Any:
    raise RuntimeError("the moon is full")


def changing(self: Any, place: Any) -> list[Change]:
    """Another line each time: a host that asks for trust would ask again."""
    (change,) = Adapter.changes(self, place)
    return [Change(change.path, "json", (Entry(("hooks", "onStart"), {"command": f"agentm {time.monotonic_ns()}"}),))]


def littering(self: Any, place: Any) -> list[Change]:
    makes_a_file(place)
    return Adapter.changes(self, place)


def keeping(self: Any, place: Any) -> list[Change]:
    """A copy of what the user had, which nobody takes away again."""
    (change,) = Adapter.changes(self, place)
    file = Path(change.path)
    if file.exists() and "mine" in file.read_text():
        file.with_name("settings.json.bak").write_text("mine")
    return [change]


def refusing(self: Any, place: Any) -> list[Change]:
    raise AgentmError("there is no way")


def loose_event(name, payload, context):
    return payload["session_id"]


class Loud(click.Command):
    """Fails where help is asked for, or leaves something behind."""

    def get_help(self, ctx: click.Context) -> str:
        with open(os.path.join(os.environ["HOME"], "litter"), "w") as file:
            file.write("litter")
        return super().get_help(ctx)


class Failing(click.Command):
    def get_help(self, ctx: click.Context) -> str:
        click.echo("oh")
        ctx.exit(3)


class Mute(click.Command):
    def get_help(self, ctx: click.Context) -> str:
        return ""


BROKEN = {
    "command-that-makes-something-for-help": (
        "command",
        Loud("planted", help="Count the notes of the selected store."),
        "command_changes_nothing_for_help",
        "it made something",
    ),
    "command-that-fails-at-help": (
        "command",
        Failing("planted", help="Count the notes of the selected store."),
        "command_changes_nothing_for_help",
        "it exited 3 and said 'oh",
    ),
    "command-that-says-nothing-for-help": (
        "command",
        Mute("planted", help="Count the notes of the selected store."),
        "command_changes_nothing_for_help",
        "it exited 0 and said",
    ),
    "adapter-that-keeps-a-copy-of-what-the-user-had": (
        "host",
        adapter(changes=keeping),
        "connecting_can_be_undone",
        "settings.json.bak' was not what it was before",
    ),
    "adapter-that-cannot-be-connected": (
        "host",
        adapter(changes=refusing),
        "connecting_can_be_undone",
        "there is no way",
    ),
    "adapter-without-envelope": (
        "host",
        adapter(envelope=None),
        "adapter_has_its_methods",
        "has no method `envelope`",
    ),
    "adapter-of-another-name": ("host", adapter(name="other"), "adapter_has_its_name", "it is called 'other'"),
    "adapter-without-limit": ("host", adapter(limit=None), "adapter_has_a_limit", "its limit is None"),
    "adapter-with-a-limit-of-zero": ("host", adapter(limit=0), "adapter_has_a_limit", "its limit is 0"),
    "adapter-that-cuts": ("host", adapter(envelope=half), "envelope_holds_the_text", "it gave"),
    "adapter-that-quotes-by-hand": (
        "host",
        adapter(envelope=lambda self, call, text: f'{{"context": "{text}"}}'),
        "envelope_is_one_answer",
        "cannot be parsed",
    ),
    "adapter-that-says-two-things": (
        "host",
        adapter(envelope=lambda self, call, text: Adapter.envelope(self, call, text) + "done"),
        "envelope_is_one_answer",
        "cannot be parsed",
    ),
    "adapter-that-is-never-silent": (
        "host",
        adapter(envelope=lambda self, call, text: Adapter.envelope(self, call, f"agentm says: {text}")),
        "silence_is_silent",
        "agentm says",
    ),
    "adapter-that-keeps-a-log": (
        "host",
        adapter(envelope=lambda self, call, text: (makes_a_file(call.device), Adapter.envelope(self, call, text))[1]),
        "adapter_writes_nothing_for_an_envelope",
        "litter",
    ),
    "adapter-with-a-misspelt-event": (
        "host",
        adapter(hooks={"session-start": "onStart", "turn-endd": "onStop"}),
        "adapter_knows_its_events",
        "there is no event 'turn-endd'",
    ),
    "adapter-of-an-event-that-is-no-hook": (
        "host",
        adapter(hooks={"tool-call": "onTool"}),
        "adapter_knows_its_events",
        "there is no event 'tool-call'",
    ),
    "adapter-with-a-nameless-hook": (
        "host",
        adapter(hooks={"turn-end": None}),
        "adapter_knows_its_events",
        "what the host calls turn-end is None",
    ),
    "adapter-whose-session-is-none": (
        "host",
        adapter(session=lambda self, payload: payload.get("session_id")),
        "adapter_takes_an_empty_payload",
        "session({}) gave None",
    ),
    "adapter-that-needs-a-session": (
        "host",
        adapter(session=lambda self, payload: payload["session_id"]),
        "adapter_takes_an_empty_payload",
        "KeyError",
    ),
    "adapter-that-needs-a-prompt": (
        "host",
        adapter(prompt=lambda self, payload: payload["prompt"]),
        "adapter_takes_an_empty_payload",
        "KeyError",
    ),
    "adapter-that-reads-a-source": (
        "host",
        adapter(read=lambda self, call: call.payload["source"]),
        "adapter_takes_an_empty_payload",
        "KeyError",
    ),
    "adapter-whose-last-session-is-none": (
        "host",
        adapter(last_session=lambda self, folder: None),
        "adapter_answers_where_the_host_never_ran",
        "last_session(folder) gave None",
    ),
    "adapter-that-lists-a-missing-folder": (
        "host",
        adapter(last_session=lambda self, folder: float(len(os.listdir(folder)))),
        "adapter_answers_where_the_host_never_ran",
        "FileNotFoundError",
    ),
    "adapter-without-a-folder": (
        "host",
        adapter(folder=HostAdapter.folder),
        "adapter_answers_where_the_host_never_ran",
        "NotImplementedError",
    ),
    "adapter-of-one-users-folder": (
        "host",
        adapter(folder=lambda self, place: "/home/ana/.planted"),
        "adapter_answers_where_the_host_never_ran",
        "is not below the home",
    ),
    "adapter-without-changes": (
        "host",
        adapter(changes=HostAdapter.changes),
        "connecting_can_be_undone",
        "NotImplementedError",
    ),
    "adapter-whose-changes-raise": ("host", adapter(changes=raising), "connecting_can_be_undone", "the moon is full"),
    "adapter-with-nothing-to-connect": (
        "host",
        adapter(changes=lambda self, place: []),
        "connecting_can_be_undone",
        "there was nothing to connect",
    ),
    "adapter-with-another-line-each-time": (
        "host",
        adapter(changes=changing),
        "connecting_can_be_undone",
        "connecting a second time changed",
    ),
    "adapter-that-writes-its-own-files": (
        "host",
        adapter(changes=littering),
        "connecting_can_be_undone",
        "'litter' was not what it was before",
    ),
    "importer-without-label": ("importer", importer(label=""), "importer_has_a_label", "its label is ''"),
    "importer-without-detect": ("importer", importer(detect=None), "importer_has_a_label", "has no method `detect`"),
    "importer-that-finds-what-is-not-there": (
        "importer",
        importer(detect=lambda self, device: [("/nowhere", 1, "memories")]),
        "importer_finds_nothing_in_an_empty_home",
        "it found",
    ),
    "importer-that-makes-a-folder": (
        "importer",
        importer(detect=lambda self, device: (makes_a_file(device), [])[1]),
        "importer_finds_nothing_in_an_empty_home",
        "it made",
    ),
    "importer-for-which-missing-is-empty": (
        "importer",
        importer(read=lambda self, path, device: iter(())),
        "importer_refuses_what_is_not_there",
        "it gave []",
    ),
    "importer-that-changes-its-source": (
        "importer",
        importer(
            read=lambda self, path, device: (
                os.path.isdir(path) and open(os.path.join(path, "index"), "w").close(),
                list(Importer.read(self, path, device)),
            )[1]
        ),
        "importer_changes_nothing",
        "source/index",
    ),
    "importer-that-drops-things": (
        "importer",
        importer(
            read=lambda self, path, device: [{"origin": each["origin"]} for each in Importer.read(self, path, device)]
        ),
        "importer_yields_items",
        "it yielded",
    ),
    "importer-without-origins": (
        "importer",
        importer(read=lambda self, path, device: [{"body": "x"} for _ in Importer.read(self, path, device)]),
        "importer_yields_items",
        "it yielded",
    ),
    "importer-that-counts-on": (
        "importer",
        importer(
            read=lambda self, path, device: [
                {"origin": str(time.monotonic_ns()), "body": "x"} for _ in Importer.read(self, path, device)
            ]
        ),
        "importer_is_repeatable",
        "then",
    ),
    "tool-of-another-name": ("tool", tool(name="other_tool"), "tool_has_its_name", "it is called 'other_tool'"),
    "tool-that-does-not-say-what-it-does": ("tool", tool(description="Counts."), "tool_says_what_it_does", "it says"),
    "tool-with-an-essay": ("tool", tool(description="Counts. " * 300), "tool_says_what_it_does", "it says"),
    "tool-without-types": (
        "tool",
        tool(parameters={"folder": {"description": "a folder"}}),
        "tool_declares_its_arguments",
        "has the schema",
    ),
    "tool-that-requires-what-it-does-not-declare": (
        "tool",
        tool(required=("project",)),
        "tool_declares_its_arguments",
        "is required and not declared",
    ),
    "tool-that-does-not-take-its-arguments": (
        "tool",
        tool(function=lambda call: {}),
        "tool_takes_its_arguments",
        "cannot be called with folder",
    ),
    "tool-that-needs-what-is-optional": (
        "tool",
        tool(function=lambda call, folder: {}),
        "tool_takes_its_arguments",
        "cannot be called with no arguments",
    ),
    "command-without-help": ("command", command(None), "command_explains_itself", "its help is ''"),
    "command-with-a-silent-option": (
        "command",
        command(help=None),
        "command_explains_its_options",
        "--json has none",
    ),
    "command-that-is-a-function": ("command", lambda: 0, "command_explains_itself", "no click command"),
    "hooks-without-a-hook": ("hooks", SimpleNamespace(helper=1), "hooks_have_their_names", "no function that begins"),
    "hooks-that-nobody-tells": ("hooks", hooks(agentm_sunrise=row), "hooks_are_known", "is not valid"),
    "hooks-with-an-argument-too-many": (
        "hooks",
        hooks(agentm_doctor_checks=lambda context, moon: []),
        "hooks_are_known",
        "is not valid",
    ),
    "doctor-that-answers-with-text": (
        "hooks",
        hooks(agentm_doctor_checks=lambda context: "all is well"),
        "doctor_rows",
        "it answered with str",
    ),
    "doctor-that-needs-a-project": (
        "hooks",
        hooks(agentm_doctor_checks=lambda context: [context.project.slug]),
        "doctor_rows",
        "AttributeError",
    ),
    "session-that-answers-with-text": (
        "hooks",
        hooks(agentm_session_start=lambda context: "hello"),
        "session_sections",
        "it answered with str",
    ),
    "session-that-makes-files": (
        "hooks",
        hooks(agentm_session_start=lambda context: (makes_a_file(context.device), [])[1]),
        "session_sections",
        "it made",
    ),
    "event-that-needs-a-payload": ("hooks", hooks(agentm_event=loose_event), "every_event", "KeyError"),
    "hooks-that-exit": ("hooks", hooks(agentm_event=lambda name: sys.exit(3)), "every_event", "sys.exit(3)"),
}


@pytest.mark.parametrize("planted", BROKEN)
def test_a_planted_bug_is_found_for_its_reason(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, plugin, check, saying = BROKEN[planted]

    found = failures(kind, plugin, monkeypatch)

    assert check in found, "others may say the same, and this one must"
    assert saying in found[check]


def test_every_check_of_every_kind_finds_a_planted_bug() -> None:
    checks = {(kind, check.name) for kind in GROUPS for check in checks_of(kind)}
    caught = {(kind, check) for kind, _, check, _ in BROKEN.values()}
    assert checks - caught == set()


def test_the_events_of_hooks_are_those_that_the_command_takes() -> None:
    assert HOOKED == HOOK_EVENTS


ADAPTERS = [record for record in Device.now().plugins.of("agentm.hosts") if record.distribution == "agentm-hosts"]


@pytest.mark.parametrize("record", ADAPTERS, ids=lambda record: record.name)
def test_the_adapters_that_come_with_agentm_pass(record: PluginRecord) -> None:
    report = run_checks(checks_of("host"), record, {})
    assert report.ok, str(report)
