"""A home of its own for every test, and the real command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the helpers beside the tests; importlib mode adds nothing itself

from import_home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home of this process too, so that nothing of the real one is seen."""
    path = tmp_path / "home"
    path.mkdir()
    for name in [name for name in os.environ if name.startswith(("XDG_", "AGENTM_", "MEMORY_", "HARNESS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(path))
    made = Home(path)
    monkeypatch.chdir(made.project)
    return made
