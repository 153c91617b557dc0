"""What importing a backend costs: a hook pays for it in every call, and its output is parsed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, shown
from agentm_kernel.plugin import BackendLayer

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

HEAVY = (
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "email",
    "http",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "multiprocessing",
    "pathlib",
    "re",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "typing",
    "unittest",
    "urllib",
)
"""Modules of the standard library that a backend imports where it needs them, or declares; so are all others."""

_TIME_LIMIT = 30.0

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
        self.printed = (done.stdout + done.stderr).decode(errors="replace")
        self.own_package = backend.__module__.partition(".")[0]
        if not os.path.exists(report):
            last = self.printed.strip().splitlines() or [f"the process ended with status {done.returncode}"]
            raise Violation(f"importing {backend.__module__} failed: {last[-1]}")
        with open(report, encoding="utf-8") as file:
            loaded, _, touched = file.read().partition("\n\n")
        self.loaded = loaded.split()
        self.touched = touched.splitlines()

    def is_heavy(self, module: str) -> bool:
        if any(module == heavy or module.startswith(f"{heavy}.") for heavy in HEAVY):
            return True
        package = module.partition(".")[0]
        return package not in sys.stdlib_module_names and package not in ("agentm_kernel", self.own_package)


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
    """Importing the backend loads no heavy module that its `heavy_imports` does not declare: every hook call pays."""
    done = _Import(bench)
    heavy = [module for module in done.loaded if done.is_heavy(module)]
    if heavy:
        tops = sorted({module for module in heavy if module.rpartition(".")[0] not in heavy})
        raise Violation(f"it loaded {', '.join(tops)}")


@check("importing")
def check_import_touches_nothing(bench: Bench) -> None:
    """Importing the backend connects to nothing, starts nothing and writes nothing."""
    touched = _Import(bench).touched
    if touched:
        raise Violation(f"it did: {', '.join(sorted(set(touched)))}")
