"""What importing a backend costs: a hook pays for it in every call, and its output is parsed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, Warned, shown
from agentm_kernel.plugin import BackendLayer

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_TIME_LIMIT = 30.0
_RUNS = 3
_SHOWN = 4
_NOTICED = 10.0
"""Milliseconds. A bare interpreter starts in about fifteen, and a hook is allowed a little more than that."""

# Runs in a bare interpreter, so that it measures the backend and not the kit. Declared modules are loaded first: what
# they bring along is declared with them.
_PROBE = """
import sys
sys.path[:] = {path!r}
for declared in {declared!r}:
    __import__(declared)
name, file = {name!r}, {file!r}
spec = None
if file:
    import importlib.util
    spec = importlib.util.spec_from_file_location(name, file)
before, touched = set(sys.modules), []
watching = True
def watch(event, arguments):
    if not watching:
        return
    if event in ("socket.connect", "subprocess.Popen", "os.system", "os.mkdir", "os.rename", "os.remove"):
        touched.append(event)
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & 3:
        touched.append("open for writing")
sys.addaudithook(watch)
if spec:
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
else:
    __import__(name)
watching = False
for stream in {{sys.stdout, sys.__stdout__, sys.stderr, sys.__stderr__}} - {{None}}:
    stream.flush()  # what waits in a buffer is output, too, and not every library lets Python flush at exit
with open({report!r}, "w") as report:
    report.write("\\n".join(sorted(set(sys.modules) - before)) + "\\n\\n" + "\\n".join(touched))
"""


_TIMED = """
import sys, agentm_kernel.plugin, importlib.util
sys.path[:] = {path!r}
from agentm_kernel.plugin import FileStore, check_options
for declared in {declared!r}:
    __import__(declared)
import agentm_devkit.conformance.mark
name, file = {name!r}, {file!r}
if file:
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
else:
    __import__(name)
"""


_Costs = list[tuple[float, str]]


def _costs(report: str) -> tuple[_Costs, _Costs]:
    """Milliseconds and name of each module that was imported before the mark and after it (`-X importtime`)."""
    before, _, after = report.rpartition("agentm_devkit.conformance.mark\n")
    return _rows(before), _rows(after)


def _rows(report: str) -> _Costs:
    rows = [line.removeprefix("import time:").split("|") for line in report.splitlines() if line.count("|") == 2]
    return [(float(row[0]) / 1000, row[2].strip()) for row in rows if row[0].strip().isdigit()]


def _sum(costs: _Costs) -> float:
    return sum(own for own, _ in costs)


class _Import:
    """What one import in a fresh interpreter printed, loaded and touched."""

    def __init__(self, bench: Bench) -> None:
        store = bench.store
        while isinstance(store, BackendLayer):
            store = store.inner
        backend = type(store)
        report = os.path.join(bench.outside, "report")
        probe = _PROBE.format(
            path=[path for path in sys.path if isinstance(path, str)],
            declared=backend.heavy_imports,
            name=backend.__module__,
            file=_file_of(backend),
            report=report,
        )
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter, our own text
                [sys.executable, "-B", "-c", probe], capture_output=True, timeout=_TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            raise Violation(f"importing {backend.__module__} took more than {_TIME_LIMIT:g} s") from None
        self._timing = _TIMED.format(
            path=[path for path in sys.path if isinstance(path, str)],
            declared=backend.heavy_imports,
            name=backend.__module__,
            file=_file_of(backend),
        )
        self.printed = (done.stdout + done.stderr).decode(errors="replace")
        if not os.path.exists(report):
            last = self.printed.strip().splitlines() or [f"the process ended with status {done.returncode}"]
            raise Violation(f"importing {backend.__module__} failed: {last[-1]}")
        with open(report, encoding="utf-8") as file:
            loaded, _, touched = file.read().partition("\n\n")
        self.loaded = loaded.split()
        self.touched = touched.splitlines()

    def timed(self) -> tuple[float, float, list[tuple[float, str]]]:
        """Milliseconds of the import, of an interpreter with the kernel before it, and what costs most by itself."""
        runs = []
        for _ in range(_RUNS):
            done = subprocess.run(  # noqa: S603 - this interpreter, our own text
                [sys.executable, "-B", "-X", "importtime", "-c", self._timing],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIME_LIMIT,
                check=False,
            )
            runs.append(_costs(done.stderr))
        before, best = min(runs, key=lambda run: _sum(run[1]))
        return _sum(best), _sum(before), sorted(best, reverse=True)[:_SHOWN]


def _file_of(backend: type) -> str | None:
    """The file of a module that has no name by which another process could import it: a test, a script."""
    import importlib.util

    module = sys.modules[backend.__module__]
    try:
        found = importlib.util.find_spec(backend.__module__)
    except (ImportError, ValueError, AttributeError):
        found = None
    file = getattr(module, "__file__", None)
    return None if found is not None and found.origin == file else file


@check("importing")
def check_import_is_silent(bench: Bench) -> None:
    """Importing the backend prints nothing: hooks and MCP servers speak to a program on stdout."""
    printed = _Import(bench).printed
    if printed:
        raise Violation(f"it printed {shown(printed)}")


@check("importing")
def check_import_is_light(bench: Bench) -> None:
    """Importing the backend costs little: every hook call pays for it. What it declares is not counted."""
    milliseconds, before, costly = _Import(bench).timed()
    if milliseconds > _NOTICED and milliseconds > before / 2:  # on a busy machine, everything takes longer
        most = ", ".join(f"{name} {own:.0f} ms" for own, name in costly)
        raise Warned(
            f"importing the backend takes {milliseconds:.0f} ms, in every hook that opens the store; Python and the "
            f"kernel take {before:.0f} ms. Most of it: {most}. Import modules where they are used and types under "
            "`if TYPE_CHECKING`, or declare in `heavy_imports` what cannot be avoided"
        )


@check("importing")
def check_import_touches_nothing(bench: Bench) -> None:
    """Importing the backend connects to nothing, starts nothing and writes nothing."""
    touched = _Import(bench).touched
    if touched:
        raise Violation(f"it did: {', '.join(sorted(set(touched)))}")
