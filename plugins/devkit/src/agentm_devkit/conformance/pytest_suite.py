"""The kit as pytest tests, one per check (needs the extra `agentm-devkit[testing]`).

from agentm_devkit.conformance.pytest_suite import conformance_tests

def open_store(scratch: str) -> MyBackend:
    return MyBackend(scratch)

test_conformance = conformance_tests(open_store)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_devkit.conformance.worker import is_child

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agentm_devkit.conformance.checking import Check
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
    from agentm_devkit.conformance.expect import NotApplicable, Warned
    from agentm_devkit.conformance.runner import selected

    @pytest.mark.parametrize("check", selected(only, all_checks()), ids=lambda check: f"{check.group}-{check.name}")
    def test_conformance(check: Check, request: pytest.FixtureRequest) -> None:
        given = request.getfixturevalue(subject) if isinstance(subject, str) else subject
        try:
            check(given)
        except NotApplicable as reason:
            pytest.skip(str(reason))
        except Warned as warning:
            import warnings

            warnings.warn(ConformanceWarning(str(warning)), stacklevel=1)

    return test_conformance
