"""Running the code of plugins: one that fails is named, and takes nothing else with it.

Three things go on around every call. Standard output is kept for the answer of the command (`StdoutToStderr`). What
the code raises leaves as an `AgentmError` (`Call`), with the original as its cause. And `os._exit`, which would end
the process without a word, is refused while the plugin runs; one that ends it from C code cannot be held up.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import LockType, _count, allocate_lock

from agentm_kernel import errors
from agentm_kernel.errors import AgentmError
from agentm_kernel.files import in_a_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TextIO, TypeVar

    T = TypeVar("T")

_traces = bool(os.environ.get("AGENTM_TRACE_PLUGINS"))
"""Whether each call is told on standard error, with the time it took."""

active: list[tuple[str, str]] = []
"""Which plugin is running, and what it was asked to do, innermost last: for whoever has waited too long."""

_late: list[LockType] = []  # of each thread that was left behind: free once it has ended

_calling_process = 0
end_process = os._exit


def _refuse_to_end(code: int) -> NoReturn:
    if os.getpid() != _calling_process:
        end_process(code)  # a child that the plugin forked may end as it likes
    raise errors.PluginEndsProcess


class Call:
    """`with Call(label, doing):` around a plugin's code; `label` names it as in "the backend 'x' of y 1.0"."""

    __slots__ = ("_began", "_doing", "_exit", "_label")

    def __init__(self, label: str, doing: str) -> None:
        self._label, self._doing = label, doing

    def __enter__(self) -> None:
        global _calling_process
        _calling_process = os.getpid()
        active.append((self._label, self._doing))
        self._began = time.perf_counter() if _traces else 0.0
        self._exit = os._exit
        os._exit = _refuse_to_end  # type: ignore[assignment]

    def __exit__(self, _kind: object, value: BaseException | None, _trace: object) -> None:
        os._exit = self._exit
        active.pop()
        if _traces:
            took, end = (time.perf_counter() - self._began) * 1e3, f", {type(value).__name__}" if value else ""
            sys.stderr.write(f"trace: {took:8.1f} ms {'  ' * len(active)}{self._label}: {self._doing}{end}\n")
        if value is None or isinstance(value, (AgentmError, KeyboardInterrupt, GeneratorExit, StopIteration)):
            return
        failure = _failure(self._label, self._doing, reason_of(value))
        if isinstance(value, OSError):  # a failure of its medium, not of itself
            hint = "check the medium that the store lies on"
            raise errors.StorageIOError(failure.message, errno=value.errno, hint=hint) from value
        raise failure from value


def wrong_answer(label: str, doing: str, answer: object, wanted: str) -> errors.PluginError:
    """What an answer of the wrong type is told as."""
    given = "a list with something else in it" if isinstance(answer, list) else type(answer).__name__
    return _failure(label, doing, f"it answered with {given}, not with {wanted}")


def _failure(label: str, doing: str, what: str) -> errors.PluginError:
    owner = label.rpartition(" of ")[2].split(" ")[0] if " of " in label else "it"
    hint = f"{without_it(owner)}; AGENTM_DEBUG=1 shows where it failed"
    return errors.PluginError(f"the {label} failed in {doing}: {what}", hint=hint)


def without_it(owner: str) -> str:
    """What to do about a distribution whose plugin cannot be used."""
    keep_out = f"agentm config set plugin_policy.disabled {owner}"
    return f"reinstall or upgrade {owner}, or keep it out with `{keep_out}`"


def reason_of(error: BaseException) -> str:
    """What a plugin's exception says; even its text is the plugin's code, and may fail."""
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code!r})"
    if isinstance(error, errors.PluginEndsProcess):
        return "it called os._exit()"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the type still names what happened
        text = "(no text)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def in_time(work: Callable[[], T], seconds: float) -> T:
    """The result of `work`, which runs code of plugins; `PluginError` naming the one that is late.

    It runs in a thread, which is left behind then: nothing in Python can stop it, and the process will soon end.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []
    finished = allocate_lock()
    finished.acquire()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
            failure.append(error)
        finally:
            finished.release()

    with StdoutToStderr():
        if not in_a_thread(run):
            run()
        is_late = not finished.acquire(timeout=seconds)
    if is_late:
        _late.append(finished)
        label, doing = active[-1] if active else ("plugin", "its work")
        hint = "check that what it needs is there (a network, a mount), or upgrade it"
        raise errors.PluginError(f"the {label} is late: {doing} took more than {seconds:g} s", hint=hint)
    if failure:
        raise failure[0]
    return outcome[0]


def wait_for_late(seconds: float) -> None:
    """Give what was left behind as late some more time, in a process that nobody waits for."""
    deadline = time.monotonic() + seconds
    for finished in _late:
        finished.acquire(timeout=max(0.0, deadline - time.monotonic()))


_lock = allocate_lock()
_depth = 0
_stream: TextIO | None = None
_descriptor: int | None = None


class StdoutToStderr:
    """While a plugin's code runs, standard output belongs to the answer of the command or server that runs it.

    `state-path` is read by shell scripts and an MCP server speaks its protocol there, so one stray line of a plugin
    that greets its user, or of a program that it starts, would break either. May be nested, and entered by several
    threads: the last to leave restores.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            if _depth == 0:
                _flush(sys.stdout)
                _stream, sys.stdout = sys.stdout, sys.stderr
                # Another thread may be writing its answer to the descriptor now: then only the stream is diverted.
                # Counted, not listed: `sys._current_frames` can stop the whole interpreter for ever where a thread
                # begins meanwhile (gh-106883, mended in 3.11.9), and `threading` takes a while to import.
                _descriptor = divert_stdout() if _count() == 0 else None
            _depth += 1

    def __exit__(self, *_: object) -> None:
        global _depth, _stream, _descriptor
        with _lock:
            _depth -= 1
            if _depth == 0:
                try:
                    _flush(_stream)  # a plugin may have kept the stream, and what it wrote is still in there
                finally:
                    sys.stdout, _stream = _stream, None
                    if _descriptor is not None:
                        os.dup2(_descriptor, 1)
                        os.close(_descriptor)
                    _descriptor = None


def _flush(stream: TextIO | None) -> None:
    if stream is not None and not stream.closed:
        stream.flush()


def divert_stdout() -> int | None:
    """Point the descriptor of stdout at stderr, or nowhere if that is closed; a copy of what it was, if open."""
    if not _is_open(1):
        return None
    sink = 2 if _is_open(2) else os.open(os.devnull, os.O_WRONLY)  # before the copy, which takes a free number
    saved = os.dup(1)
    os.dup2(sink, 1)
    return saved


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
