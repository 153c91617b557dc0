"""A check: a plain function with one reason to fail, and what has to hold for it to apply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_devkit.conformance.bench import Bench
from agentm_devkit.conformance.expect import (
    ConformanceFailure,
    NotApplicable,
    Violation,
    Warned,
    surprise,
    without_names,
)
from agentm_devkit.conformance.subject import OpenStore, Subject
from agentm_devkit.conformance.within import place_of, place_outside, within

if TYPE_CHECKING:
    from collections.abc import Callable

_CHILDREN_IN_A_ROW = 1.5
"""A check waits for the processes that it starts, each of which has the limit of its own."""


@dataclass(frozen=True)
class Check:
    """Callable with a function that opens a store, or a `Subject`.

    Raises `ConformanceFailure` when the backend does not keep the contract, whatever went wrong, and `NotApplicable`
    when the check has nothing to say about it.
    """

    name: str
    group: str
    contract: str
    """What the contract wants, as one sentence."""
    body: Callable[[Bench], None] = field(repr=False)
    needs: tuple[str, ...] = ()
    """Capabilities without which the check does not apply."""
    lacks: tuple[str, ...] = ()
    """Capabilities with which it does not apply."""
    persistent: bool = False
    """Whether it needs a store that outlives its process."""
    rows: tuple[int, ...] = ()
    """The rows of `hazards.HAZARDS` that this check is a case of."""

    def __call__(self, subject: Subject | OpenStore) -> None:
        __tracebackhide__ = True  # pytest then shows the sentence, and the backend's own frames where it raised
        given = Subject.of(subject)
        with Bench(given) as bench:
            try:
                within(given.time_limit * _CHILDREN_IN_A_ROW, lambda: self._apply(bench))
            except (NotApplicable, Warned):
                raise
            except Violation as violation:
                raise self._failure(str(violation), violation) from violation.__cause__
            except Exception as error:
                raise self._failure(surprise(error), error) from error

    def _failure(self, seen: str, error: Exception) -> ConformanceFailure:
        detail = f"{self.contract}; but {seen}"
        failure = ConformanceFailure(self.name, detail, place_of(error), _cause(seen, error))
        if failure.where:
            failure.add_note(f"at {failure.where}")
        return failure

    def _apply(self, bench: Bench) -> None:
        declared = bench.capabilities
        for capability in self.needs:
            if not getattr(declared, capability):
                raise NotApplicable(f"the backend does not declare {capability}")
        for capability in self.lacks:
            if getattr(declared, capability):
                raise NotApplicable(f"the backend declares {capability}")
        if self.persistent and bench.subject.in_memory:
            raise NotApplicable("the store ends with its process")
        self.body(bench)


def _cause(seen: str, error: Exception) -> str:
    """What checks that fail for one reason have in common: the backend's errors and their lines, else the words."""
    raised = error.__cause__ if isinstance(error, Violation) else error
    errors = []
    while raised is not None:
        errors.append(f"{type(raised).__name__} at {place_outside(raised)}")
        raised = raised.__cause__
    return ", ".join(errors) or without_names(seen)


def check(
    group: str,
    *,
    needs: tuple[str, ...] = (),
    lacks: tuple[str, ...] = (),
    persistent: bool = False,
    rows: tuple[int, ...] = (),
) -> Callable[[Callable[[Bench], None]], Check]:
    """Make a check of a function called `check_<name>` whose docstring says what the contract wants."""

    def made(body: Callable[[Bench], None]) -> Check:
        contract = " ".join((body.__doc__ or "").split()).removesuffix(".")
        name = body.__name__.removeprefix("check_")
        return Check(name, group, contract, body, needs=needs, lacks=lacks, persistent=persistent, rows=rows)

    return made
