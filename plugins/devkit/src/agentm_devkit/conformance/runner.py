"""Run checks on one backend and report: passed, failed with the reason, or skipped with the reason."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentm_devkit.conformance.checks import all_checks
from agentm_devkit.conformance.expect import ConformanceFailure, NotApplicable, Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from agentm_devkit.conformance.checking import Check
    from agentm_devkit.conformance.subject import OpenStore, Subject

_SEVERAL = 3
"""As many checks that fail for one reason are shown as one."""

Outcome = Literal["passed", "failed", "skipped", "warned"]


@dataclass(frozen=True)
class Result:
    """What one check found."""

    check: Any
    """A `Check`, or one of another kind of plugin: it has a name, a group and a contract."""
    outcome: Outcome
    detail: str = ""
    """Why it failed, was skipped or has a warning; empty when it passed."""
    where: str = ""
    """File and line of a failure: of the check, and of the plugin's code where that raised."""
    seconds: float = 0.0
    cause: str = ""
    """Of a failure: the same for all that fail for one reason."""

    def __str__(self) -> str:
        line = f"{self.outcome:<8}{self.check.group}/{self.check.name}"
        line = f"{line}: {self.detail}" if self.detail else line
        return f"{line} (at {self.where})" if self.where else line


@dataclass(frozen=True)
class Report:
    """What all checks of one run found, in their order."""

    results: tuple[Result, ...]

    def having(self, outcome: Outcome) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome == outcome)

    @property
    def ok(self) -> bool:
        """Whether nothing failed. What was skipped is not a failure: the backend does not promise it."""
        return not self.having("failed")

    @property
    def shared(self) -> tuple[tuple[Result, ...], ...]:
        """Failures that several checks have for one reason, the most frequent reason first: it hides the others."""
        causes: dict[str, list[Result]] = {}
        for result in self.having("failed"):
            causes.setdefault(result.cause, []).append(result)
        several = [tuple(results) for results in causes.values() if len(results) >= _SEVERAL]
        return tuple(sorted(several, key=len, reverse=True))

    @property
    def single(self) -> tuple[Result, ...]:
        """Every other failure, and the warnings."""
        told = {result.check.name for results in self.shared for result in results}
        failed = tuple(result for result in self.having("failed") if result.check.name not in told)
        return (*failed, *self.having("warned"))

    @property
    def skipped(self) -> tuple[tuple[Result, ...], ...]:
        """What was skipped, by reason: often one reason holds for a whole group."""
        reasons: dict[str, list[Result]] = {}
        for result in self.having("skipped"):
            reasons.setdefault(result.detail, []).append(result)
        return tuple(tuple(results) for results in reasons.values())

    def __str__(self) -> str:
        shared = [f"failed  {one_reason(results)} in {names_of(results)}" for results in self.shared]
        return "\n".join([*shared, *map(str, self.single), self.counts])

    @property
    def counts(self) -> str:
        """`90 passed, 0 failed, 3 skipped`; warnings where there are some."""
        names: tuple[Outcome, ...] = ("passed", "failed", "skipped", "warned")
        shown = [name for name in names if name != "warned" or self.having("warned")]
        return ", ".join(f"{len(self.having(name))} {name}" for name in shown)


def one_reason(results: tuple[Result, ...]) -> str:
    """What several checks found, said once."""
    first = results[0]
    seen = first.detail.partition("; but ")[2] or first.detail
    return f"{len(results)} checks for one reason: {seen}" + (f" (at {first.where})" if first.where else "")


def names_of(results: tuple[Result, ...]) -> str:
    return ", ".join(f"{result.check.group}/{result.check.name}" for result in results)


def number_of(results: tuple[Result, ...]) -> str:
    """A check by its name, several by their number and groups: `8 checks of layering`."""
    if len(results) == 1:
        return names_of(results)
    return f"{len(results)} checks of {', '.join(dict.fromkeys(result.check.group for result in results))}"


def run(
    subject: Subject | OpenStore,
    *,
    only: Collection[str] | None = None,
    checks: Iterable[Check] | None = None,
    on_start: Callable[[Check], None] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Report:
    """Run the kit on a backend. `only` names checks or groups; `on_start` and `on_result` hear how it goes.

    `checks` replaces the kit's own, for a plugin that has more to promise: `(*all_checks(), my_check)`.
    """
    results = []
    for check in selected(only, all_checks() if checks is None else tuple(checks)):
        if on_start is not None:
            on_start(check)
        result = _result(check, subject)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return Report(tuple(results))


def selected(only: Collection[str] | None, checks: tuple[Any, ...]) -> tuple[Any, ...]:
    """The checks that `only` names, by their own name or their group's; a name that is neither is an error."""
    if only is None:
        return checks
    unknown = set(only) - {check.name for check in checks} - {check.group for check in checks}
    if unknown:
        raise ValueError(f"no check and no group of checks is called {', '.join(sorted(unknown))}")
    return tuple(check for check in checks if check.name in only or check.group in only)


def _result(check: Check, subject: Subject | OpenStore) -> Result:
    began = time.monotonic()
    outcome: Outcome = "passed"
    detail = where = cause = ""
    try:
        check(subject)
    except NotApplicable as reason:
        outcome, detail = "skipped", str(reason)
    except Warned as warning:
        outcome, detail = "warned", str(warning)
    except ConformanceFailure as failure:
        outcome, detail, where, cause = "failed", failure.detail, failure.where, failure.cause
    return Result(check, outcome, detail, where, time.monotonic() - began, cause)
