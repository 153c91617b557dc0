"""The conformance kit: does a backend keep the contract of the storage seam?

An author writes one function, which opens the store of a scratch directory, and runs the kit on it:

    from agentm_devkit.conformance import run

    def open_store(scratch: str) -> MyBackend:
        return MyBackend(scratch)

    print(run(open_store))

Each check is a plain function too (`check_update_race(open_store)`), and `agentm_devkit.conformance.pytest_suite`
turns them into one pytest test each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentm_devkit.conformance.checking import Check, check
    from agentm_devkit.conformance.checks import all_checks
    from agentm_devkit.conformance.derived import check_rebuildable
    from agentm_devkit.conformance.expect import ConformanceFailure, NotApplicable, Warned
    from agentm_devkit.conformance.runner import Report, Result, run
    from agentm_devkit.conformance.subject import LayerSubject, OpenStore, Subject

__all__ = [
    "Check",
    "ConformanceFailure",
    "LayerSubject",
    "NotApplicable",
    "OpenStore",
    "Report",
    "Result",
    "Subject",
    "Warned",
    "all_checks",
    "check",
    "check_rebuildable",
    "run",
]

_HOME_OF = {
    "Check": "checking",
    "ConformanceFailure": "expect",
    "LayerSubject": "subject",
    "NotApplicable": "expect",
    "OpenStore": "subject",
    "Report": "runner",
    "Result": "runner",
    "Subject": "subject",
    "Warned": "expect",
    "all_checks": "checks",
    "check": "checking",
    "check_rebuildable": "derived",
    "run": "runner",
}


def __getattr__(name: str) -> object:
    """Names are loaded when used: every process that a check starts imports this package, and needs little of it."""
    if name.startswith("check_") and name not in _HOME_OF:
        from agentm_devkit.conformance.checks import all_checks

        for found in all_checks():
            if name == f"check_{found.name}":
                return found
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(__import__(f"{__name__}.{home}", fromlist=[name]), name)
