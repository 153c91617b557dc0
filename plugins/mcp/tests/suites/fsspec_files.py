"""fsspec's abstract tests of a file system, run on `agentm://`: the fixtures are ours, the tests theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.tests.abstract import (
    AbstractCopyTests,
    AbstractFixtures,
    AbstractGetTests,
    AbstractOpenTests,
    AbstractPipeTests,
    AbstractPutTests,
)

from suites.stores import open_store


class OfAStore(AbstractFixtures):
    @pytest.fixture
    def fs(self, tmp_path: Path) -> Any:
        return fsspec.filesystem("agentm", store=open_store(str(tmp_path / "store")))

    @pytest.fixture
    def fs_path(self) -> str:
        return "projects/widgets"

    @pytest.fixture
    def fs_join(self) -> Any:
        return lambda *parts: "/".join(parts)


class TestCopy(AbstractCopyTests, OfAStore):
    pass


class TestGet(AbstractGetTests, OfAStore):
    pass


class TestOpen(AbstractOpenTests, OfAStore):
    pass


class TestPipe(AbstractPipeTests, OfAStore):
    pass


class TestPut(AbstractPutTests, OfAStore):
    pass
