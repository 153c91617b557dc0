"""Plugins that are really imported, for the length of one test."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.conftest import Site


@pytest.fixture
def importable(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The site's modules can be imported. What they import besides stays: others hold on to it."""
    monkeypatch.syspath_prepend(site.path)
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(site.path)):
            del sys.modules[name]
