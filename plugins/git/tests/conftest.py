"""Origins for the tests of this folder: real servers, each started for the test that asks for it."""

from __future__ import annotations

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # for the other processes too, which get this path

from git_servers import TRANSPORTS, serving
from hostile import Tripwire


@pytest.fixture(params=TRANSPORTS)
def origin(request, tmp_path):
    """An empty origin, once over each transport."""
    with serving(request.param, str(tmp_path)) as served:
        yield served


@pytest.fixture
def origin_by_path(tmp_path):
    """An empty origin, for what does not depend on the transport."""
    with serving("file", str(tmp_path)) as served:
        yield served


@pytest.fixture
def wire(tmp_path):
    """Traps for whoever executes something or reaches out of a store; none may have sprung in the end."""
    armed = Tripwire(str(tmp_path / "wire"))
    yield armed
    assert armed.sprung() == [], "something was executed"
    assert armed.outside_is_untouched()
