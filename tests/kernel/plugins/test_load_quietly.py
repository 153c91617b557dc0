"""What plugins print goes to standard error; standard output stays what it was."""

from __future__ import annotations

import io
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugins import StdoutToStderr

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

LOAD = """
import sys
from agentm_kernel.plugins.table import load
from agentm_kernel.plugin import Device, find_plugin
print("before")
load(find_plugin(Device.now(), "agentm.plugins", "loud"))
print("after")
"""

NOISES = {
    "print": "print('noise')",
    "the stream it kept": "import sys; sys.__stdout__.write('noise')",
    "the descriptor": "import os; os.write(1, b'noise')",
    "a program that it starts": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(\"noise\")'])",
    "a stream of its own": "import sys; sys.stdout = open(1, 'w', closefd=False); print('noise'); sys.stdout.flush()",
}


@pytest.mark.parametrize("source", NOISES.values(), ids=NOISES.keys())
def test_noise_of_a_plugin_goes_to_standard_error(site: Site, source: str) -> None:
    site.install_plugin("loud", source, group="agentm.plugins", attribute="")

    result = site.run("-c", LOAD)

    assert (result.returncode, result.stdout) == (0, "before\nafter\n")
    assert "noise" in result.stderr


def test_what_was_printed_before_keeps_its_place_and_its_stream(site: Site) -> None:
    site.install_plugin("loud", "print('noise')", group="agentm.plugins", attribute="")

    result = site.run("-c", LOAD.replace('"before"', '"before", end=""'))

    assert result.stdout == "beforeafter\n"


@pytest.mark.parametrize("closed", ["1", "2", "1, 2"])
def test_closed_descriptors_do_not_stop_a_load(site: Site, closed: str) -> None:
    site.install_plugin("loud", "print('noise')", group="agentm.plugins", attribute="")
    code = (
        "import os, sys\nsys.stdout = sys.stderr = open(os.devnull, 'w')\n"
        f"for fd in ({closed},): os.close(fd)\n" + LOAD + "os._exit(7)"
    )

    assert site.run("-c", code).returncode == 7


def test_noise_goes_nowhere_where_standard_error_is_closed(site: Site) -> None:
    site.install_plugin("loud", "import os; os.write(1, b'noise')", group="agentm.plugins", attribute="")

    result = site.run("-c", "import os, sys; sys.stderr = open(os.devnull, 'w'); os.close(2)\n" + LOAD)

    assert (result.returncode, result.stdout, result.stderr) == (0, "before\nafter\n", "")


def test_a_process_without_streams_can_load(site: Site) -> None:
    site.install_plugin("loud", "print('noise')", group="agentm.plugins", attribute="")

    result = site.run("-c", "import sys; sys.stdout = sys.stderr = None\n" + LOAD + "raise SystemExit(7)")

    assert result.returncode == 7


def test_nested_and_overlapping_diversions_end_with_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with StdoutToStderr():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with StdoutToStderr(), StdoutToStderr():
        thread.start()
        inside.wait(30)
    print("still diverted")
    leave.set()
    thread.join(30)
    print("back")

    assert (out.getvalue(), err.getvalue()) == ("back\n", "still diverted\n")


def test_a_failure_restores_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)

    with pytest.raises(ZeroDivisionError), StdoutToStderr():
        _ = 1 / 0

    assert sys.stdout is out


def test_with_other_threads_their_descriptor_is_left_alone(site: Site) -> None:
    """An MCP server answers on descriptor 1 from any thread: its answer must not land on stderr."""
    code = """
import os, threading
from agentm_kernel.plugins import StdoutToStderr
inside, written = threading.Event(), threading.Event()
def answer():
    inside.wait(); os.write(1, b"answer"); written.set()
threading.Thread(target=answer, daemon=True).start()
with StdoutToStderr():
    print("noise")
    inside.set(); written.wait()
"""

    result = site.run("-c", code)

    assert (result.stdout, result.stderr) == ("answer", "noise\n")


def test_threads_that_begin_meanwhile_do_not_stop_the_interpreter(site: Site) -> None:
    """They did: whoever listed the threads and collected garbage held what a thread that begins waits for."""
    code = """
import faulthandler, gc, os, threading
from agentm_kernel.plugins import StdoutToStderr
faulthandler.dump_traceback_later(60, exit=True)  # needs no interpreter
class Garbage:
    def __init__(self): self.me = self
    def __del__(self): os.stat("/")  # lets other threads run
def divert():
    for number in range(3000):
        for _ in range(number % 7): Garbage()
        with StdoutToStderr(): pass
def begin():
    for _ in range(3000):
        thread = threading.Thread(target=int); thread.start(); thread.join()
gc.set_threshold(5, 5, 5)
threads = [threading.Thread(target=target) for target in (divert, divert, begin, begin)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

    result = site.run("-c", code)

    assert (result.returncode, result.stderr) == (0, "")
