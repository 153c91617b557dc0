"""What a hook command may import: each of the others would cost it more than the whole of its own work."""

from __future__ import annotations

import pytest

from agentm_kernel.seam import Capabilities

ALLOWED = {
    "__future__",
    "_collections_abc",
    "_json",
    "_stat",
    "_thread",
    "errno",
    "gc",
    "os",
    "posixpath",
    "stat",
    "sys",
    "time",
    "unicodedata",
}
"""All of them are built in or loaded by every interpreter, but for `__future__` and two small C modules."""

SHOW_MODULES = """
import os, sys
before = set(sys.modules)

def leave(code):
    new = set(sys.modules) - before
    sys.stderr.write(" ".join(sorted(name for name in new if not name.startswith("agentm_"))) + "\\n")
    sys.stderr.write(" ".join(sorted(name for name in new if name.startswith("agentm_"))) + "\\n")
    sys.stderr.flush()
    real(code)

real, os._exit = os._exit, leave
sys.argv[:] = ["agentm", *sys.argv[1:]]
from agentm_kernel.cli.main import main
main()
"""

COMMANDS = {
    "state-path plan": "",
    "state-path progress --plan foo": "",
    "config get storage.backend": "",
    "state read PLAN.md": "",
    "recall-here": "",
    "hook session-start": '{"cwd": "."}',
    "hook session-start --host codex": '{"cwd": "."}',
}


@pytest.fixture(params=["nothing written", "device-local", "synced"])
def prepared(request, machine):
    """A fresh machine; one with a plan; one whose plan lies in a synced store."""
    if request.param == "synced":
        machine.use_synced_store()
    if request.param != "nothing written":
        machine.run("state", "write", "PLAN.md", input="x")
        machine.run("state", "write", "PLAN-foo.md", input="x")
        machine.run("plan", "use", "foo")
    return machine


def modules_of(machine, command: str, event: str = "") -> tuple[set[str], set[str]]:
    """The modules that a command loads beyond a bare interpreter's: others', and agentm's."""
    script = machine.folder / "show_modules.py"  # not a module: running one imports half of what is forbidden here
    script.write_text(SHOW_MODULES)
    done = machine.execute(*command.split(), program=str(script), input=event)
    *_, others, ours = done.err.splitlines()
    return set(others.split()), set(ours.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hook_command_imports_nothing_that_costs(prepared, command):
    others, _ = modules_of(prepared, command, COMMANDS[command])

    assert others - ALLOWED - {"default_store", "plugin_stub"} == set()


def test_the_guard_sees_what_is_imported(machine):
    others, _ = modules_of(machine, "offer-save-here --kind a --slug b")

    assert "json" in others


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_a_writer_is_imported_by_a_reader(prepared, command):
    _, ours = modules_of(prepared, command, COMMANDS[command])

    writers = {"files.writing", "files.atomic", "files.mutex", "device.config_writer", "seam.update"}
    assert ours & {f"agentm_kernel.{name}" for name in writers} == set()


FORBIDDEN = {"asyncio", "filelock", "importlib.metadata", "logging", "platformdirs", "pluggy", "socket", "subprocess"}
"""What click itself does not bring along, and no quick command needs."""


@pytest.mark.parametrize("command", ["--help", "--version", "state path", "state list", "plugins list", "plan list"])
def test_a_click_command_imports_click_and_little_else(machine, command):
    machine.run("state", "write", "PLAN.md", input="x")
    others, _ = modules_of(machine, command)

    assert "click" in others
    assert others & FORBIDDEN == set()


def test_doctor_needs_no_click_and_without_hook_plugins_no_pluggy(machine):
    others, _ = modules_of(machine, "doctor")

    assert others & (FORBIDDEN | {"click"}) == set()


def test_doctor_with_a_hook_plugin_imports_pluggy_and_no_click(machine):
    machine.install("rows", "", "[agentm.plugins]\nrows = plugin_rows\n")
    others, _ = modules_of(machine, "doctor")

    assert others & (FORBIDDEN | {"click"}) == {"pluggy"}


def test_routing_to_one_store_imports_the_plugin_of_no_other(synced):
    """Another backend, a wrapper, a command, a provider and a hook plugin are there, and nobody asked for them."""
    synced.install(
        "rogue",
        "raise SystemExit('imported')",
        "[agentm.backends]\nrogue = plugin_rogue\n[agentm.wrappers]\nrogue = plugin_rogue\n"
        "[agentm.providers]\nrogue = plugin_rogue\n[agentm.commands]\nrogue = plugin_rogue\n"
        "[agentm.plugins.doctor_checks]\nrogue = plugin_rogue\n",
    )
    for command, event in COMMANDS.items():
        others, _ = modules_of(synced, command, event)
        assert "plugin_rogue" not in others
        assert "default_store" not in others


def test_in_mode_local_no_plugin_is_imported_at_all(synced):
    synced.configure(**{"storage.backend": "stub", "state_mode": "local"})
    others, ours = modules_of(synced, "state-path plan")

    assert "plugin_stub" not in others
    assert not any(name.startswith(("agentm_kernel.selection", "agentm_kernel.plugins")) for name in ours)


def test_the_help_of_doctor_names_the_capabilities_that_there_are(machine):
    help_text = " ".join(machine.run("doctor", "--help").out.split())

    assert ", ".join(Capabilities.__slots__) in help_text
