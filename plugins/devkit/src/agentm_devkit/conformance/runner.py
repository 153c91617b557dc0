"""Run checks on one backend and report: passed, failed with the reason, or skipped with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentm_devkit.conformance.checks import all_checks
from agentm_devkit.conformance.expect import ConformanceFailure, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from agentm_devkit.conformance.checking import Check
    from agentm_devkit.conformance.subject import OpenStore, Subject

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Result:
    """What one check found."""

    check: Check
    outcome: Outcome
    detail: str = ""
    """Why it failed or was skipped; empty when it passed."""

    def __str__(self) -> str:
        line = f"{self.outcome:<8}{self.check.group}/{self.check.name}"
        return f"{line}: {self.detail}" if self.detail else line


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

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.having(outcome))} {outcome}" for outcome in ("passed", "failed", "skipped"))
        return "\n".join([*map(str, self.having("failed")), counts])


def run(
    subject: Subject | OpenStore,
    *,
    only: Collection[str] | None = None,
    checks: Iterable[Check] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> Report:
    """Run the kit on a backend. `only` names checks or groups; `on_result` hears of each result as it comes.

    `checks` replaces the kit's own, for a plugin that has more to promise: `(*all_checks(), my_check)`.
    """
    results = []
    for check in selected(only, all_checks() if checks is None else tuple(checks)):
        result = _result(check, subject)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return Report(tuple(results))


def selected(only: Collection[str] | None, checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The checks that `only` names, by their own name or their group's; a name that is neither is an error."""
    if only is None:
        return checks
    unknown = set(only) - {check.name for check in checks} - {check.group for check in checks}
    if unknown:
        raise ValueError(f"no check and no group of checks is called {', '.join(sorted(unknown))}")
    return tuple(check for check in checks if check.name in only or check.group in only)


def _result(check: Check, subject: Subject | OpenStore) -> Result:
    try:
        check(subject)
    except NotApplicable as reason:
        return Result(check, "skipped", str(reason))
    except ConformanceFailure as failure:
        return Result(check, "failed", failure.detail)
    return Result(check, "passed")
