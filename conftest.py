"""What holds in every test."""

from __future__ import annotations

import os
import sys

import pytest

from agentm_kernel.files import displaced


@pytest.fixture(autouse=True)
def no_wait_for_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that a write displaced goes with that write, if nobody has it open; users wait two seconds for it.

    So tests can ask what a write left behind. `tests/kernel/files/test_held_files.py` has the real time.
    """
    monkeypatch.setattr(displaced, "LEASED_GRACE", 0.0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Where nobody watches, a failure is told when it happens: the end of a run that is cut never comes."""
    if report.failed and "CI" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.outcome}: {report.nodeid}\n{report.longreprtext[-2000:]}", file=sys.__stderr__, flush=True)
