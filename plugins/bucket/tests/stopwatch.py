"""Every call of a verb, held against the deadline that the store declares."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentm_kernel.seam.layer import BackendLayer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_bucket.backend import BucketBackend

VERBS = ("read", "write", "list", "exists", "info", "walk", "mkdir", "delete", "foreign_entries")

ALLOWANCE = 1.0
"""Seconds beyond the deadline: what a process may wait for its turn where a dozen of them share two cores."""


class Stopwatch(BackendLayer):
    """The store, with each call timed; what a call comes to, an answer or an error, is passed on."""

    def __init__(self, inner: BucketBackend, deadline: float) -> None:
        super().__init__(inner)
        self.deadline = deadline
        self.calls = 0
        self.slowest = 0.0
        self.late: list[str] = []
        for verb in VERBS:
            setattr(self, verb, self._timed(verb, getattr(inner, verb)))

    def _timed(self, verb: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **options: Any) -> Any:
            began = time.monotonic()
            try:
                return call(*given, **options)
            finally:
                self._note(verb, time.monotonic() - began)

        return timed

    def _note(self, verb: str, seconds: float) -> None:
        self.calls += 1
        self.slowest = max(self.slowest, seconds)
        if seconds > self.deadline + ALLOWANCE:
            self.late.append(f"{verb} took {seconds:.1f} s, and its deadline is {self.deadline:g} s")
