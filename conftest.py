"""What holds in every test."""

from __future__ import annotations

import itertools
import os
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files import displaced, writing

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOME = os.environ.get("HOME")
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def no_wait_for_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that a write displaced goes with that write, if nobody has it open; users wait two seconds for it.

    So tests can ask what a write left behind. `tests/kernel/files/test_held_files.py` has the real time.
    """
    monkeypatch.setattr(displaced, "LEASED_GRACE", 0.0)


@pytest.fixture(autouse=True)
def no_records_in_the_real_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Appends of a store that a test opens itself are recorded in a folder of that test.

    Records are named by the store's inode, which the store of a later test may get: it would find these in its home.
    """
    real = writing.user_directory
    place = tmp_path_factory.getbasetemp() / f"records-{next(_numbers)}"

    def directory(kind: str, environ: Mapping[str, str]) -> str:
        is_real_home = environ.get("HOME") == _HOME and not environ.get("XDG_STATE_HOME")
        return str(place) if is_real_home else real(kind, environ)

    monkeypatch.setattr(writing, "user_directory", directory)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Where nobody watches, a failure is told when it happens: the end of a run that is cut never comes."""
    if report.failed and "CI" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.outcome}: {report.nodeid}\n{report.longreprtext[-2000:]}", file=sys.__stderr__, flush=True)
