from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.view.browsing import Browsing
from tests.view.memory import Home, Page


def _missing(what: str) -> None:
    if os.environ.get("AGENTM_REQUIRE_SERVERS") == "1":
        pytest.fail(f"{what}, and it must be here")
    pytest.skip(what)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    path = tmp_path / "home"
    path.mkdir()
    return Home(path).fill()


@pytest.fixture
def page(home: Home) -> Iterator[Page]:
    with Page(home) as page:
        yield page


@pytest.fixture(scope="module")
def browsing() -> Iterator[Browsing]:
    """One Chromium of this system for a module's tests; each test has windows of its own in it.

    Not for the whole session: its driver keeps a loop running in this thread, where other modules start their own.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        _missing("Chromium is not installed (Debian: apt-get install chromium)")
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="agentm-chromium-") as folder, Browsing(program, folder) as found:
        yield found


@pytest.fixture
def axe() -> str:
    from tests.view.axe import SCRIPT

    if not SCRIPT.exists() or os.environ.get("AGENTM_WITHOUT_SERVERS") == "1":
        _missing("axe-core is not installed: run `make servers`")
    return SCRIPT.read_text()
