"""Opening a store: it makes nothing and changes nothing. Hooks open stores all day, on devices that have none."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, same, shown
from agentm_kernel.plugin import Locator

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_EVENTS = (
    "socket.connect",
    "subprocess.Popen",
    "os.system",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.link",
)
_is_watching = False
_touched: list[str] = []


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook cannot be taken away again: it is added once, and listens only while a store is opened."""
    if not _is_watching:
        return
    if event in _EVENTS:
        _touched.append(event)
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        _touched.append("open for writing")


_hooks: list[object] = []


def _opened(bench: Bench) -> list[str]:
    """What opening the store once more touched."""
    global _is_watching
    if not _hooks:
        _hooks.append(_watch)
        sys.addaudithook(_watch)
    _touched.clear()
    _is_watching = True
    try:
        bench.subject.open(bench.scratch)
    finally:
        _is_watching = False
    return sorted(set(_touched))


def _tree(folder: str) -> dict[str, tuple[int, int]]:
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(parent, name))
            found[os.path.relpath(os.path.join(parent, name), folder)] = (status.st_mtime_ns, status.st_size)
    return found


def _needs_bare_opening(bench: Bench) -> None:
    if bench.subject.prepares:
        raise NotApplicable("the function that opens the store also sets something up")


@check("opening")
def check_opening_makes_nothing(bench: Bench) -> None:
    """Opening a store that is not there yet makes nothing: only the first write does."""
    _needs_bare_opening(bench)
    made = sorted(_tree(bench.scratch))  # the store has been opened once to ask what it declares
    if made:
        raise Violation(f"it made {shown(made)}")


@check("opening")
def check_opening_touches_nothing(bench: Bench) -> None:
    """Opening a store writes nothing, connects to nothing and starts nothing: a hook may not even use it."""
    _needs_bare_opening(bench)
    bench.store.write(Locator("dir/note.md"), "one\n")
    before = _tree(bench.scratch)
    touched = _opened(bench)
    if touched:
        raise Violation(f"it did: {', '.join(touched)}")
    same("the store's folder", _tree(bench.scratch), before)


@check("opening", persistent=True)
def check_reading_changes_nothing(bench: Bench) -> None:
    """Whoever only opens and reads leaves every file of the store as it was."""
    bench.store.write(Locator("dir/note.md"), "one\n")
    bench.store.list(Locator())
    before = _tree(bench.scratch)
    again = bench.subject.open(bench.scratch)
    again.read(Locator("dir/note.md"))
    again.list(Locator("dir"))
    list(again.walk(Locator()))
    again.exists(Locator("missing.md"))
    again.info(Locator("dir"))
    after = _tree(bench.scratch)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if changed and bench.capabilities.device_files:
        raise Violation(f"it changed {shown(changed)}")
