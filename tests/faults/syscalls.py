"""A tap on the file-system calls that the kernel makes in this process: record them, fail them, or die in one.

It replaces functions of `os`, and three calls that the kernel makes without it, for the length of a `with` block.
That is portable, needs no privilege and is fast enough for thousands of faults; `crash_states` checks that nothing
reaches the disk around it, and `io_errors` repeats some faults below the interpreter, where the machine allows.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Self
from unittest import mock

from agentm_kernel.files import exchange, native_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Real = Callable[..., Any]
    Handler = Callable[[str, Real, tuple[Any, ...], dict[str, Any]], Any]
    """Gets the call's name, the real function and its arguments; returns or raises what the caller shall see."""

_TAPPED = (
    ("close", "fchmod", "fchown", "fstat", "fsync", "ftruncate", "link", "lstat", "mkdir", "open", "pwrite")
    + ("read", "readlink", "remove", "rename", "replace", "rmdir", "scandir", "stat", "symlink", "truncate")
    + ("unlink", "write")
)


class Tap:
    """While entered, every tapped call goes to `handler`. Calls made by the handler itself are not tapped."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._handling = threading.local()
        self._patches = [
            mock.patch.object(os, name, self._tapped(name, getattr(os, name)))
            for name in _TAPPED
            if hasattr(os, name)
        ]
        for module, name in ((native_lock, "flock"), (exchange, "exchange"), (exchange, "rename_to_free")):
            if hasattr(module, name):
                self._patches.append(mock.patch.object(module, name, self._tapped(name, getattr(module, name))))

    def __enter__(self) -> Self:
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for patch in self._patches:
            patch.stop()

    def _tapped(self, name: str, real: Real) -> Real:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = self._handle(name, real, args, kwargs)
            return _Listing(result, self._handle) if name == "scandir" else result

        return call

    def _handle(self, name: str, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if getattr(self._handling, "now", False):
            return real(*args, **kwargs)
        self._handling.now = True
        try:
            return self._handler(name, real, args, kwargs)
        finally:
            self._handling.now = False


class _Listing:
    """An open listing whose every step is a call of its own, `readdir`: a disk can fail half-way through it."""

    def __init__(self, listing: Any, handle: Handler) -> None:
        self._listing = listing
        self._handle = handle

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._handle("readdir", next, (self._listing,), {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listing.close()
