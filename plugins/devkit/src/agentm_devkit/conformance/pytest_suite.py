"""The kit as pytest tests, one per check (needs the extra `agentm-devkit[testing]`).

from agentm_devkit.conformance.pytest_suite import conformance_tests

def open_store(scratch: str) -> MyBackend:
    return MyBackend(scratch)

test_conformance = conformance_tests(open_store)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.within import frames_outside
from agentm_devkit.conformance.worker import is_child

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agentm_devkit.conformance.checking import Check
    from agentm_devkit.conformance.expect import ConformanceFailure
    from agentm_devkit.conformance.subject import OpenStore, Subject


class ConformanceWarning(UserWarning):
    """Something that an author will want to know, and that breaks no promise."""


def conformance_tests(
    subject: Subject | OpenStore | str, *, only: Collection[str] | None = None
) -> Callable[..., None]:
    """A test function that pytest runs once for each check. Assign it to a name that begins with `test`.

    `subject` is what `run` takes, or the name of a fixture that gives it: for stores that need a server first.
    """
    if is_child():  # a check's own process imports the test module for `open_store`; it has no use for pytest
        return lambda: None

    import pytest

    from agentm_devkit.conformance.checks import all_checks
    from agentm_devkit.conformance.expect import ConformanceFailure, NotApplicable, Warned
    from agentm_devkit.conformance.runner import selected

    seen: dict[str, str] = {}

    @pytest.mark.parametrize("check", selected(only, all_checks()), ids=lambda check: f"{check.group}-{check.name}")
    def test_conformance(check: Check, request: pytest.FixtureRequest) -> None:
        given = request.getfixturevalue(subject) if isinstance(subject, str) else subject
        told = ""
        try:
            check(given)
        except ConformanceFailure as failure:
            told = _told(failure, seen.setdefault(failure.cause, check.name))
        except NotApplicable as reason:
            pytest.skip(str(reason))
        except Warned as warning:
            import warnings

            warnings.warn(ConformanceWarning(str(warning)), stacklevel=1)
        if told:
            pytest.fail(told, pytrace=False)  # it has the frames that the author can change, and none of ours

    return test_conformance


def _told(failure: ConformanceFailure, first: str) -> str:
    """What the author reads: the sentence and his own lines; in short where another check told it already."""
    if first != failure.check:
        return f"for the same reason as {first}: {failure.detail}"
    raised = failure.__cause__
    frames = frames_outside(raised) if raised is not None else ""
    return f"{failure}\nat {failure.where}\n{frames}".rstrip()
