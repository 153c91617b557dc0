"""A medium that fails, whatever it is: an error is never absence, and what was stored is still there afterwards."""

from __future__ import annotations

import builtins
import errno
import io
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import NotApplicable, Violation, refused_loudly, right_or_refused, same, shown
from agentm_kernel.plugin import AgentmError, Locator, NotFoundError, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_devkit.conformance.bench import Bench
    from agentm_devkit.conformance.worker import Child
    from agentm_kernel.plugin import StorageBackend

_NOTE = Locator("dir/note.md")
_OTHER = Locator("dir/other.md")


@check("faults", rows=(45, 50))
def check_broken_medium(bench: Bench) -> None:
    """While the medium does not work, every verb raises a typed error and none reports absence; then all is back."""
    if bench.subject.break_medium is None:
        raise NotApplicable("the author has not said how to break the medium (`Subject(…, break_medium=…)`)")
    store = bench.store
    store.write(_NOTE, "one\n")
    with bench.subject.break_medium(bench.scratch):
        _refuses_all(store)
    same(f"read({shown(_NOTE)}) once it works again", store.read(_NOTE), "one\n")
    same("list('dir') once it works again", store.list(Locator("dir")), [_NOTE])
    store.write(_NOTE, "two\n", if_match=content_hash("one\n"))
    same(f"read({shown(_NOTE)})", store.read(_NOTE), "two\n")


@check("faults", rows=(50,))
def check_broken_medium_when_opened(bench: Bench) -> None:
    """A store that is opened while its medium does not work says so, then or at the first verb; it is not empty."""
    if bench.subject.break_medium is None:
        raise NotApplicable("the author has not said how to break the medium (`Subject(…, break_medium=…)`)")
    bench.store.write(_NOTE, "one\n")
    with bench.subject.break_medium(bench.scratch):
        try:
            store = bench.subject.open(bench.scratch)
        except AgentmError as error:
            if isinstance(error, NotFoundError):
                raise Violation(f"opening it reported absence: {error}") from error
            return
        _refuses_all(store)


def _refuses_all(store: StorageBackend) -> None:
    for verb in (store.read, store.exists, store.info):
        refused_loudly(verb, _NOTE)
    for key in ("", "dir"):
        refused_loudly(store.list, Locator(key))
    refused_loudly(lambda: list(store.walk(Locator())))
    refused_loudly(store.write, _NOTE, "two\n")
    refused_loudly(store.write, _NOTE, "two\n", if_match=content_hash("one\n"))
    refused_loudly(store.mkdir, Locator("new"))
    if store.capabilities.delete:
        refused_loudly(store.delete, _NOTE)


# ------------------------------------------------------------------------------------------------ generic faults


@check("faults", persistent=True, rows=(45,))
def check_failing_calls(bench: Bench) -> None:
    """When the system's calls fail, a verb gives the right answer or raises a typed error, never absence."""
    bench.store.write(_NOTE, "one\n")
    for fault in ("files", "sockets"):
        bench.run(_read_while_failing, fault)
    same(f"read({shown(_NOTE)})", bench.store.read(_NOTE), "one\n")


def _read_while_failing(child: Child, fault: str) -> None:
    store = child.store
    _answers_or_refuses(store)  # what is imported late needs files, too
    store.write(_OTHER, "two\n")
    with _failing(fault):
        _answers_or_refuses(store)
        try:
            store.write(_NOTE, "three\n", if_match=content_hash("something else"))
        except AgentmError as error:
            if isinstance(error, NotFoundError):
                raise Violation(f"a write reported absence: {error}") from error


@contextmanager
def _failing(fault: str) -> Iterator[None]:
    """Let calls of this process fail, which belongs to one check alone."""

    def fail(*_arguments: object, **_options: object) -> Any:
        raise OSError(errno.EIO if fault == "files" else errno.ECONNRESET, "the kit lets this call fail")

    places: list[tuple[Any, str]]
    if fault == "files":
        places = [(os, name) for name in ("open", "read", "listdir", "scandir", "stat", "lstat")]
        places += [(builtins, "open"), (io, "open")]
    else:
        places = [(socket.socket, name) for name in ("connect", "send", "sendall", "recv", "recv_into")]
    before = [(place, name, getattr(place, name)) for place, name in places]
    for place, name in places:
        setattr(place, name, fail)
    try:
        yield
    finally:
        for place, name, real in before:
            setattr(place, name, real)


def _answers_or_refuses(store: StorageBackend) -> None:
    answers: list[tuple[str, Callable[[], object], object]] = [
        ("read", lambda: store.read(_NOTE), "one\n"),
        ("exists", lambda: store.exists(_NOTE), True),
        ("info().size", lambda: store.info(_NOTE).size, 4),
        ("list('')", lambda: store.list(Locator()), [Locator("dir")]),
        ("walk('')", lambda: [info.locator.key for info in store.walk(Locator())][:1], ["dir"]),
    ]
    right_or_refused(answers)
