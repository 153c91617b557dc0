"""Verifying plugins in processes of their own."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.probe import ProbeResult, probe
from agentm_kernel.device.installed import scan

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

GENEROUS = 60.0

STORE = """
from agentm_kernel.plugin import Capabilities, StorageBackend
class Store(StorageBackend):
    capabilities = Capabilities(sync=True, delete=True)
    def read(self, locator): ...
    def write(self, locator, content, *, if_match=None): ...
    def list(self, locator): ...
    def exists(self, locator): ...
    def info(self, locator): ...
    def mkdir(self, locator): ...
"""


@pytest.fixture(autouse=True)
def importable(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site.path)


def probed(site: Site, source: str, *, limit: float = GENEROUS, **how: str) -> ProbeResult:
    site.install_plugin("mem", source, **how)
    (result,) = probe(scan([str(site.path)]).records, limit=limit)
    return result


def test_a_good_backend_is_ok_with_the_capabilities_it_declares(site: Site) -> None:
    result = probed(site, STORE)

    assert (result.state, result.reason, result.capabilities) == ("ok", None, ("sync", "delete"))


def test_capabilities_that_a_property_promises_for_every_store_are_known(site: Site) -> None:
    source = "from agentm_kernel.plugin import FileStore\nclass Store(FileStore): pass"

    assert probed(site, source).capabilities == ("concurrent_writers", "device_files", "delete")


def test_capabilities_that_only_an_open_store_can_tell_are_unknown(site: Site) -> None:
    source = STORE.replace("capabilities = Capa", "capabilities = property(lambda self: self._known)\n    x = Capa")

    result = probed(site, source)

    assert (result.state, result.capabilities) == ("ok", None)


BROKEN = {
    "raises": ("raise ImportError('no luck')", "cannot be loaded: ImportError: no luck"),
    "exits": ("import sys; sys.exit(3)", "cannot be loaded: it called sys.exit(3)"),
    "leaves the interpreter": ("import os; os._exit(3)", "cannot be loaded: it called os._exit()"),
    "leaves it with a word": (
        "import os; os.write(1, b'so long'); os.abort()",
        "ended the process that loaded it (signal 6); it said: so long",
    ),
    "is killed": ("import os; os.kill(os.getpid(), 9)", "ended the process that loaded it (signal 9)"),
    "abstract": ("from agentm_kernel.plugin import StorageBackend as S\nclass Store(S): pass", "is abstract: "),
    "another API": (STORE + "    api_version = 7", "was built for version 7 of the kernel's API"),
    "capabilities of a wrong type": (
        STORE + "    capabilities = {'sync': True}",
        "does not keep the contract: its capabilities are of type dict",
    ),
}


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_backend_is_named_with_its_reason(site: Site, source: str, reason: str) -> None:
    result = probed(site, source)

    assert result.state == "broken"
    assert str(result.reason).startswith(f"the backend 'mem' of agentm-mem 1.0 {reason}")


def test_a_plugin_that_prints_is_ok_and_named(site: Site) -> None:
    result = probed(site, STORE + 'print(\'{"state": "broken"}\')')

    assert result.state == "ok"
    assert result.reason == (
        'the backend \'mem\' of agentm-mem 1.0 writes to the terminal while it is loaded: {"state": "broken"}'
    )


def test_a_plugin_that_reads_finds_nothing_of_what_the_command_was_given(site: Site) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"secret")
    os.close(writing)
    kept = os.dup(0)
    os.dup2(reading, 0)
    try:
        result = probed(site, STORE + "import sys\nprint(repr(sys.stdin.read()))")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
    assert str(result.reason).endswith("writes to the terminal while it is loaded: ''")


def test_a_plugin_that_hangs_is_stopped(site: Site) -> None:
    result = probed(site, "import time; time.sleep(600)", limit=1.0)

    assert (result.state, result.reason) == (
        "timeout",
        "the backend 'mem' of agentm-mem 1.0 was stopped: it was not loaded after 1 s",
    )


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
@pytest.mark.parametrize("ending", ["time.sleep(600)", "pass"], ids=["that hangs", "that returns"])
def test_nothing_that_a_plugin_started_outlives_the_probe(site: Site, ending: str) -> None:
    pid_file = site.home / "pid"
    source = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n{ending}\n"
    )

    probed(site, source, limit=3.0)

    pid = int(pid_file.read_text())
    deadline = time.monotonic() + GENEROUS
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"  # a zombie waits for init, not for us
    except FileNotFoundError:
        return False


def test_threads_and_exit_handlers_of_a_plugin_do_not_hold_the_answer_up(site: Site) -> None:
    source = STORE + (
        "import atexit, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "atexit.register(time.sleep, 600)\n"
    )

    assert probed(site, source, limit=30.0).state == "ok"


def test_hook_plugins_and_commands_are_held_to_their_groups_rules(site: Site) -> None:
    hook = "from agentm_kernel.plugin import hookimpl\n@hookimpl\ndef {}(): ..."
    command = "import click\n@click.command()\ndef go(): ..."
    site.install_plugin("typo", hook.format("agentm_x"), group="agentm.plugins", attribute="")
    site.install_plugin("calm", hook.format("agentm_alert"), group="agentm.plugins", attribute="")
    site.install_plugin("run", command, group="agentm.commands", attribute="go")
    site.install_plugin("walk", "def go(): ...", group="agentm.commands", attribute="go")

    results = {result.record.name: result for result in probe(scan([str(site.path)]).records, limit=GENEROUS)}

    assert {name: result.state for name, result in results.items()} == {
        "calm": "ok",
        "run": "ok",
        "typo": "broken",
        "walk": "broken",
    }
    assert "unknown hook 'agentm_x'" in str(results["typo"].reason)
    assert "is not a click command: plugin_walk:go is of type function" in str(results["walk"].reason)


def test_the_answers_come_in_the_order_of_the_question(site: Site) -> None:
    for name in ("one", "two", "three", "four", "five", "six"):
        site.install_plugin(name, "x = 1", group="agentm.recall", attribute="x")
    records = scan([str(site.path)]).records

    assert tuple(result.record for result in probe(records, limit=GENEROUS)) == records


def test_the_current_directory_is_not_searched(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's own json.py must not run because somebody looked at the plugins there."""
    (site.home / "json.py").write_text("raise SystemExit('hijacked')")
    monkeypatch.chdir(site.home)

    assert probed(site, STORE).state == "ok"
