"""The wheels, built once for all tests of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from tests.packaging.built import BuildFailed, build, wheels_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packaging.built import Wheel


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wheels(shared_folder: Path) -> dict[str, Wheel]:
    """Every wheel by its distribution, built once per run."""
    dist = shared_folder / "dist"
    with FileLock(shared_folder / "dist.lock"):
        try:
            built = wheels_in(dist) or build(dist)
        except BuildFailed as failure:
            if os.environ.get("CI") == "true" or os.environ.get("AGENTM_REQUIRE_SERVERS"):
                raise
            pytest.skip(f"the wheels cannot be built here: {failure}")
    return {wheel.distribution: wheel for wheel in built}
