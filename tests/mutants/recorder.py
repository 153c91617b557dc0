"""Writes down which functions of the tree are called, in the process of the tests and in every one that they start.

A copy of this file lies in the environment of a private copy, beside its tree, and a `.pth` file there lets every
process begin with it. What is called is written when it is first seen: many of these processes are killed.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

_open, _write, _close = os.open, os.write, os.close  # tests replace those of `os`
_start_thread = _thread.start_new_thread
_PLACE = os.path.abspath(__file__).rpartition("/environment/")[0]
_TREE = f"{_PLACE}/tree/"
_SOURCES = (f"{_TREE}kernel/", f"{_TREE}plugins/")
CALLS = f"{_PLACE}/calls"
CURRENT = f"{_PLACE}/current"

_ENOUGH = 100_000
"""So many calls without a new one, and the rest of a test is thought to repeat itself: being watched is slow."""

_seen: dict[int, CodeType] = {}
_current = ""
_left = _ENOUGH


def begin(name: str) -> None:
    """What is called from now on belongs to `name`, here and in processes that start from now on."""
    global _current
    _current = name
    _seen.clear()
    with open(CURRENT, "w", encoding="utf-8") as file:
        file.write(name)


def _tracer(frame: FrameType, event: str, argument: Any) -> None:
    global _left
    _left -= 1
    if _left < 0:
        sys.settrace(None)
    code = frame.f_code
    if id(code) not in _seen:
        _seen[id(code)] = code
        _left = _ENOUGH
        if "/agentm_" in code.co_filename:
            file = os.path.realpath(code.co_filename)  # tests install packages by links, too
            if file.startswith(_SOURCES):
                _record(f"{_current}\t{file[len(_TREE) :]}\t{code.co_qualname}\n")


def _record(line: str) -> None:
    try:
        descriptor = _open(CALLS, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # a test took the descriptors or the rights away
    try:
        _write(descriptor, line.encode())
    finally:
        _close(descriptor)


def start() -> None:
    global _left
    _left = _ENOUGH
    threading.settrace(_tracer)
    sys.settrace(_tracer)


def _start_watched(function: Any, *given: Any) -> int:
    """Threads that are started without `threading` have to be told, too."""

    def watched(*arguments: Any, **named: Any) -> None:
        sys.settrace(threading.gettrace())
        function(*arguments, **named)

    return _start_thread(watched, *given)


def start_if_tests_run() -> None:
    """In a process that a test started, whatever environment it was given."""
    global _current
    try:
        with open(CURRENT, encoding="utf-8") as file:
            _current = file.read()
    except OSError:
        return
    if _current:
        start()


if __name__ != "tests.mutants.recorder":
    _thread.start_new_thread = _start_watched  # type: ignore[assignment]
    start_if_tests_run()
