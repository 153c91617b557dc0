"""Every call of a verb, held against the deadline that the store declares."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentm_kernel import Locator
from agentm_kernel.plugin import content_hash
from agentm_kernel.seam.backend import BackendLayer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_bucket.backend import BucketBackend
    from agentm_kernel.plugin import StorageBackend

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
        """Of all calls, as a share of the deadline."""
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
        self.slowest = max(self.slowest, seconds / self.deadline)
        if seconds > self.deadline + ALLOWANCE:
            self.late.append(f"{verb} took {seconds:.1f} s, and its deadline is {self.deadline:g} s")


def every_verb(store: StorageBackend) -> tuple[Callable[[], object], ...]:
    """One call of each, for a store that is empty or was called so before."""
    note, directory = Locator("dir/note.md"), Locator("dir")
    return (
        lambda: store.write(note, "one\n"),
        lambda: store.write(note, "two\n", if_match=content_hash("one\n")),
        lambda: store.read(note),
        lambda: store.list(directory),
        lambda: store.exists(note),
        lambda: list(store.walk(Locator())),
        lambda: store.info(note),
        lambda: store.mkdir(Locator("empty")),
        lambda: store.delete(note),
    )
