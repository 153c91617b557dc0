"""A check: a plain function with one reason to fail, and what has to hold for it to apply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_devkit.conformance.bench import Bench
from agentm_devkit.conformance.expect import ConformanceFailure, NotApplicable, Violation, surprise
from agentm_devkit.conformance.subject import OpenStore, Subject

if TYPE_CHECKING:
    from collections.abc import Callable


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
        with Bench(Subject.of(subject)) as bench:
            try:
                self._apply(bench)
            except NotApplicable:
                raise
            except Violation as violation:
                raise ConformanceFailure(self.name, f"{self.contract}; but {violation}") from violation.__cause__
            except Exception as error:
                raise ConformanceFailure(self.name, f"{self.contract}; but {surprise(error)}") from error

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
