"""The adapters under the suites of the packages that they serve, run from the package or its source distribution."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from install_suites import is_there, source_of
from upstream import STORES, run_suite, told

pytestmark = pytest.mark.timeout(600)


def needs(name: str) -> Path:
    if os.environ.get("AGENTM_WITHOUT_SERVERS") or not is_there(name):
        pytest.skip(f"the source distribution of {name} is not here: run `make servers`")
    return source_of(name)


@pytest.mark.parametrize("store", STORES)
def test_anthropics_memory_tool(store: str, tmp_path: Path) -> None:
    suite = needs("anthropic") / "tests" / "lib" / "tools" / "memory_tools" / "test_filesystem.py"
    result = run_suite("anthropic_memory", store, tmp_path, suite)
    assert not result.failed, told(result)
    assert result.total >= 83
    if store == "device-local":
        assert len(result.skipped) <= result.total / 10, result.skipped
