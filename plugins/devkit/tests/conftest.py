from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kernel.cli.test_plugins import rogues  # noqa: F401 - a fixture
from tests.kernel.conftest import Site

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """An empty site folder and an empty home, beside the kernel, the default store and the devkit."""
    folder, home = tmp_path / "site", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    return Site(folder, home, "agentm-devkit")
