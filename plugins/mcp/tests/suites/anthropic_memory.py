"""Anthropic's tests of its file-system memory tool, run on ours: the class is substituted by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import _beta_builtin_memory_tool as theirs
from anyio import Path as AsyncPath

from agentm_kernel.plugin import Locator
from agentm_mcp.adapters.anthropic_memory import AsyncMemoryTool, MemoryTool
from suites.stores import ON_DISK, open_store, skip

if TYPE_CHECKING:
    import pytest

    from agentm_kernel.plugin import StorageBackend

_stores: dict[str, StorageBackend] = {}


class _Root:
    """The folder of the memories, as far as a store without files has one."""

    def is_dir(self) -> bool:
        return True


class _AsyncRoot:
    async def is_dir(self) -> bool:
        return True


def _prepared(base_path: str) -> StorageBackend:
    store = _stores[base_path] = open_store(base_path)
    store.mkdir(Locator("memories"))
    return store


class Sync(MemoryTool):
    def __init__(self, base_path: str) -> None:
        super().__init__(_prepared(base_path))
        self.base_path = base_path
        self.memory_root = Path(base_path) / "memories" if ON_DISK else _Root()


class Async(AsyncMemoryTool):
    def __init__(self, base_path: str) -> None:
        super().__init__(_prepared(base_path))
        self.base_path = base_path
        self.memory_root = AsyncPath(base_path) / "memories" if ON_DISK else _AsyncRoot()


theirs.BetaLocalFilesystemMemoryTool = Sync
theirs.BetaAsyncLocalFilesystemMemoryTool = Async

SKIPPED = {
    "test_mkdir_parents_not_world_writable": "asserts the modes of folders on disk",
    "test_validate_path_returns_resolved_path": "asserts paths on disk through a private method",
}
if not ON_DISK:
    SKIPPED["test_symlink_validation"] = "makes links on disk"
    SKIPPED["preserves_crlf"] = "writes and reads its file on disk"


def _snapshot(base_path: str) -> dict[str, str]:
    store = _stores[os.fspath(base_path)]
    return {info.locator.key: store.read(info.locator) for info in store.walk(Locator()) if not info.is_dir}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    skip(items, SKIPPED)
    for item in items:
        item.module.get_directory_snapshot = _snapshot


def pytest_configure(config: pytest.Config) -> None:
    assert config.option.noconftest
