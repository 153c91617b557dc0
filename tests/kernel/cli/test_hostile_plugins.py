"""Plugins that raise, lie, hang or end the process: every command answers in time, names them, shows no traceback."""

from __future__ import annotations

import json
import time

import pytest

BASE = """
import os, sqlite3, time
from agentm_kernel.plugin import Capabilities, FileStore, MAX_CONTENT_BYTES
class Store(FileStore):
    def __init__(self, root, size_limit=MAX_CONTENT_BYTES): super().__init__(root, create_root=True)
"""
SYNCED = BASE + "    capabilities = Capabilities(sync=True, device_files=True)\n"

HOSTILE = {
    "raises in read": SYNCED
    + "    def stamp_text(self): raise sqlite3.DatabaseError('file is not a database')\n"
    + "    def read(self, locator): raise sqlite3.DatabaseError('file is not a database')\n",
    "lies about its capabilities": BASE + "    capabilities = {'sync': True}\n",
    "answers with a number": SYNCED + "    def stamp_text(self): return 7\n    def read(self, locator): return 7\n",
    "hangs": SYNCED + "    def check_usable(self, *, read_only): time.sleep(60)\n",
    "hangs at import": "import time; time.sleep(60)\n",
    "ends the process": SYNCED + "    def check_usable(self, *, read_only): os._exit(0)\n",
    "ends the process at import": "import os; os._exit(0)\n",
    "raises what is no exception": SYNCED
    + "    def check_usable(self, *, read_only): raise BaseException('enough')\n",
}
COMMANDS = ("doctor", "state-path plan", "store show", "project list", "hook session-start")
STARTING = 20.0
"""Seconds: a hanging store hangs for a minute; what is shown here is that nobody waits for it. How long they take is
measured by the benchmark `deadline`: a limit near the promised two seconds would measure the machine of the tests."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_backend_is_named_in_time_and_without_a_traceback(machine, source, command):
    machine.install("rogue", source, "[agentm.backends]\nrogue = plugin_rogue:Store\n")
    machine.configure(**{"storage.backend": "rogue", "plugins.rogue.root": str(machine.store)})
    started = time.monotonic()

    done = machine.execute(*command.split())

    assert time.monotonic() - started < STARTING
    assert "'rogue'" in done.out + done.err
    assert "Traceback" not in done.out + done.err
    assert done.code == (0 if command == "hook session-start" else 1)


ASKER = """
from agentm_kernel.plugin import hookimpl
@hookimpl
def agentm_event(name, payload, context): context.device.store()
"""


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_event_names_a_hostile_backend_that_a_listener_asks_for(machine, source):
    machine.install("rogue", source, "[agentm.backends]\nrogue = plugin_rogue:Store\n")
    machine.install("asker", ASKER, "[agentm.plugins]\nasker = plugin_asker\n")
    machine.configure(**{"storage.backend": "rogue", "plugins.rogue.root": str(machine.store)})
    started = time.monotonic()

    done = machine.execute("event", "turn-end")

    assert time.monotonic() - started < STARTING
    assert "'rogue'" in done.err
    assert "Traceback" not in done.out + done.err
    assert done.code == 1


HOOK = """
import os, time
from agentm_kernel.plugin import DoctorRow, Section, hookimpl
{at_import}
@hookimpl
def agentm_doctor_checks(context): {work}
@hookimpl
def agentm_event(name, payload, context): {work}
@hookimpl
def agentm_session_start(context): {work}
"""
WORKS = ("time.sleep(60)", "os._exit(0)", "raise BaseException('enough')", "return 7")
GOOD = (
    "from agentm_kernel.plugin import DoctorRow, Section, hookimpl\n"
    "@hookimpl\ndef agentm_doctor_checks(context): return [DoctorRow('ok', 'good', 'well')]\n"
    "@hookimpl\ndef agentm_event(name, payload, context): return 'good heard it'\n"
    "@hookimpl\ndef agentm_session_start(context): return [Section('Good', 'well')]\n"
)


@pytest.mark.parametrize("command", ["doctor", "event turn-end", "hook session-start"])
@pytest.mark.parametrize("at_import", [False, True], ids=["in the hook", "at import"])
@pytest.mark.parametrize("work", WORKS)
def test_a_hostile_hook_plugin_costs_the_others_nothing(machine, work, at_import, command):
    if at_import and work == "return 7":
        pytest.skip("a module does not return")
    source = HOOK.format(at_import=work if at_import else "", work="return None" if at_import else work)
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("a-rogue", source, "[agentm.plugins]\nrogue = plugin_a_rogue\n")
    machine.install("good", GOOD, "[agentm.plugins]\ngood = plugin_good\n")
    started = time.monotonic()

    done = machine.execute(*command.split())

    assert time.monotonic() - started < STARTING
    assert "'rogue'" in done.out + done.err
    assert "good" in (done.out + done.err).lower()
    assert "Traceback" not in done.out + done.err
    assert done.code in (0, 1)


ADAPTER = """
import os, time
from agentm_kernel.cli.hook import PlainAdapter
class Adapter(PlainAdapter):
    def {method}(self, *arguments): {work}
ADAPTER = Adapter()
"""


# What is composed comes from the kernel and other plugins, so an adapter that hangs or ends the process there is not
# named; and what `read` and `compose` return, nobody looks at.
IN_ADAPTERS = [
    *((work, "read") for work in WORKS[:3]),
    (WORKS[2], "compose"),
    *((work, "envelope") for work in WORKS),
]


@pytest.mark.parametrize(("work", "method"), IN_ADAPTERS)
def test_a_hostile_adapter_does_not_keep_the_plan_from_the_agent_or_is_named(machine, work, method):
    source = ADAPTER.format(method=method, work=work)
    machine.run("state", "write", "PLAN.md", input="x")
    machine.install("rogue", source, "[agentm.hosts]\nrogue = plugin_rogue:ADAPTER\n")
    started = time.monotonic()

    done = machine.execute("hook", "session-start", "--host", "rogue", input="{}")

    assert time.monotonic() - started < STARTING
    assert done.code == 0
    assert "Traceback" not in done.out + done.err
    assert "rogue" in done.out + done.err
    assert "PLAN.md" in done.out or method in ("read", "compose") or work == WORKS[0]


def test_an_adapter_that_hangs_at_import_is_named_where_the_agent_reads(machine):
    machine.install("rogue", "import time; time.sleep(60)\n", "[agentm.hosts]\nrogue = plugin_rogue:ADAPTER\n")
    done = machine.execute("hook", "session-start", "--host", "rogue", input="{}")
    assert done.code == 0
    assert done.out.startswith("[agentm] Not everything is here: starting took more than 1.9 s: the adapter 'rogue'")


def test_the_traceback_of_a_plugin_is_shown_on_demand(machine):
    source = SYNCED + "    def check_usable(self, *, read_only): raise KeyError('deep inside')\n"
    machine.install("rogue", source, "[agentm.backends]\nrogue = plugin_rogue:Store\n")
    machine.configure(**{"storage.backend": "rogue", "plugins.rogue.root": str(machine.store)})
    machine.environ["AGENTM_DEBUG"] = "1"

    done = machine.execute("store", "show")

    assert "Traceback" in done.err
    assert "deep inside" in done.err


def test_a_store_that_never_says_whether_it_can_be_reached_does_not_keep_the_doctor(machine):
    source = SYNCED + "    self_stamping = True\n    def check_reachable(self, seconds): time.sleep(60)\n"
    machine.install("rogue", source, "[agentm.backends]\nrogue = plugin_rogue:Store\n")
    machine.configure(**{"storage.backend": "rogue", "plugins.rogue.root": str(machine.store)})
    started = time.monotonic()

    done = machine.execute("doctor")

    assert time.monotonic() - started < STARTING
    assert "the backend 'rogue' of rogue 1.0 is late: check_reachable took more than 2.5 s" in done.out
    assert done.code == 1


@pytest.mark.parametrize("kind", ["KeyError", "BaseException"])
def test_a_plugin_s_own_command_that_fails_is_one_line(machine, kind):
    source = f"import click\n@click.command()\ndef command(): raise {kind}('unforeseen')\n"
    machine.install("rogue", source, "[agentm.commands]\nrogue = plugin_rogue:command\n")

    done = machine.execute("rogue")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: something unexpected happened in plugin_rogue: {kind}")


def test_who_asks_such_a_command_for_json_gets_json(machine):
    source = "import click\n@click.command()\n@click.option('--json')\ndef command(json): raise KeyError('no')\n"
    machine.install("rogue", source, "[agentm.commands]\nrogue = plugin_rogue:command\n")

    done = machine.execute("rogue", "--json", "yes")

    assert done.code == 1
    assert json.loads(done.out)["error"].startswith("something unexpected happened in plugin_rogue")


def test_what_the_kernel_knows_is_printed_before_a_plugin_is_asked(machine):
    machine.install(
        "rogue",
        "import os, signal\nfrom agentm_kernel.plugin import hookimpl\n"
        "@hookimpl\ndef agentm_doctor_checks(context): os.kill(os.getpid(), signal.SIGKILL)\n",
        "[agentm.plugins]\nrogue = plugin_rogue\n",
    )

    done = machine.execute("doctor")

    assert "storage" in done.out
    assert done.code != 0


def test_a_late_plugin_leaves_json_whole(machine):
    machine.install(
        "rogue", HOOK.format(at_import="", work="time.sleep(60)"), "[agentm.plugins]\nrogue = plugin_rogue\n"
    )

    rows = json.loads(machine.execute("doctor", "--json").out)["rows"]

    assert any("is late" in row["message"] for row in rows)
