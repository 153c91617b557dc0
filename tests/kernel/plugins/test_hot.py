"""Hooks import the host: what it loads is what they pay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

HEAVY = (
    *("click", "collections", "contextlib", "dataclasses", "enum", "filelock", "functools", "importlib.metadata"),
    *("json", "logging", "pathlib", "platformdirs", "pluggy", "re", "subprocess", "threading", "typing", "zipfile"),
)


@pytest.mark.parametrize("module", ["table", "hookspecs", "hooks", "events"])
def test_nothing_heavy_is_loaded(site: Site, module: str) -> None:
    code = f"import sys, agentm_kernel.plugins.{module}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"

    result = site.run("-c", code)

    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "", "")
