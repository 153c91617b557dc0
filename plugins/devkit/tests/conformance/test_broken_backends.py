"""Each check of the kit fails on a backend with its fault, for that fault, and not on backends with other faults."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module

import pytest
from broken_backends.table import BROKEN, Broken

from agentm_devkit.conformance import LayerSubject, Subject, all_checks, run

GROUPS = {check.name: check.group for check in all_checks()}
SLOW = {
    "importing",
    "racing",
    "crashing",
    "routing",
    "deepest_keys",
    "faults",
    "damage",
    "opening",
    "lookalikes",
    "layering",
}

for group in sorted(set(GROUPS.values()) - {"directories"}):  # the broken `mkdir`s are among the broken writers
    import_module(f"broken_backends.{group}")


def names_to_run(broken: Broken) -> list[str]:
    """Every check that costs little, and those that have to catch this backend."""
    if isinstance(broken.subject, LayerSubject):
        return [name for name, group in GROUPS.items() if group in ("layering", "conditions", "declaring")]
    quick = [name for name, group in GROUPS.items() if not {name, group} & SLOW]
    return [*quick, *broken.caught_by]


@pytest.fixture(autouse=True)
def _stores_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown here does not hang on the disk, whose fsync is most of what the kit's time goes into."""
    if os.access("/dev/shm", os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_backend_is_caught_for_its_fault_and_for_nothing_else(broken: Broken) -> None:
    report = run(broken.subject, only=names_to_run(broken))
    noticed = (*report.having("failed"), *report.having("warned"))
    failed = {result.check.name: result.detail for result in noticed}
    assert set(broken.caught_by) <= set(failed)
    assert broken.saying in failed[broken.caught_by[0]]
    others = set(failed) - set(broken.caught_by)
    allowed = {name for name in others if name in broken.also or GROUPS[name] in broken.also}
    assert {name: failed[name] for name in others - allowed} == {}


def test_every_check_catches_a_broken_backend() -> None:
    assert {name for broken in BROKEN for name in broken.caught_by} == set(GROUPS)


def test_a_store_that_remembers_its_versions_passes() -> None:
    report = run(Subject(import_module("broken_backends.history").Remembering, in_memory=True), only=["history"])
    assert report.counts == "2 passed, 0 failed, 0 skipped", str(report)
