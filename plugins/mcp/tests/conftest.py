from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # what lies beside the tests; importlib mode adds nothing itself

from mcp_host import Home, Host

collect_ignore = []
if find_spec("agentm_recall") is None or find_spec("agentm_checkpoint") is None:  # whose tools are called in these
    collect_ignore = [
        "test_inspector.py",
        "test_long_life.py",
        "test_protocol.py",
        "test_sdk_client.py",
        "test_tools.py",
    ]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    path = tmp_path / "home"
    path.mkdir()
    return Home(path)


@pytest.fixture
def host(home: Home) -> Iterator[Host]:
    """A connected server; at its end it has to have ended well."""
    with Host(home) as connected:
        connected.initialize()
        yield connected
        assert connected.close() == 0
