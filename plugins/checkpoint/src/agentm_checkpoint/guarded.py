"""All guarded notes at once: for the start of a session, for `verify` and for `accept`."""

from __future__ import annotations

import time

from agentm_kernel.plugin import Locator, NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_checkpoint.patterns import Patterns
    from agentm_kernel.plugin import StorageBackend


def guarded_keys(guard: IntegrityGuard) -> list[str]:
    """The notes that are under guard and there, those that are known and should be, and those that are locked."""
    known = guard.record.read()
    return sorted({*stored_keys(guard.inner, guard.patterns), *known.leaves(), *known.locks()})


def stored_keys(backend: StorageBackend, patterns: Patterns) -> Iterator[str]:
    """The notes in the store that the patterns put under guard."""
    for root in patterns.roots:
        start = Locator(root)
        if root:
            try:
                if not backend.info(start).is_dir and patterns.match(root):
                    yield root
            except NotFoundError:
                continue
        for info in backend.walk(start):
            if not info.is_dir and patterns.match(info.locator.key):
                yield info.locator.key


class Survey:
    """What a look at all guarded notes found."""

    __slots__ = ("checked", "problems", "total")

    def __init__(self) -> None:
        self.total = 0
        self.checked = 0
        self.problems: dict[str, str] = {}
        """What is wrong, by key."""


def survey_guarded(guard: IntegrityGuard, *, seconds: float | None = None) -> Survey:
    """Compare every guarded note with what is known, as far as the time goes. Locks nothing, alerts nobody."""
    deadline = None if seconds is None else time.monotonic() + seconds
    survey = Survey()
    keys = guarded_keys(guard)
    survey.total = len(keys)
    for key in keys:
        if deadline is not None and time.monotonic() > deadline:
            break
        problem = guard.problem(Locator(key))
        if problem is not None:
            survey.problems[key] = problem
        survey.checked += 1
    return survey
