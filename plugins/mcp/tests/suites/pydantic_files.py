"""Pydantic AI's conformance suite of workspaces, run on ours. It skips by itself what needs a shell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic_ai.workspaces import WorkspaceBackend, WorkspaceRef
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from agentm_kernel.plugin import StorageBackend
from agentm_mcp.adapters.pydantic_workspace import AgentmWorkspace
from agentm_mcp.adapters.tree import Tree
from suites.stores import open_store


class TestWorkspace(WorkspaceBackendSuite):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def can_detect_exit_with_inherited_output_pipes(self) -> bool:
        """There are no commands. The test that asks would find out, and then wait half a minute for one."""
        return False

    @pytest.fixture
    def store(self, tmp_path: Path) -> StorageBackend:
        return open_store(str(tmp_path / "store"))

    @pytest.fixture
    def backend(self, store: StorageBackend) -> WorkspaceBackend:
        return AgentmWorkspace(store)

    @pytest.fixture
    def fresh_backend(self, store: StorageBackend) -> Callable[[], WorkspaceBackend]:
        return lambda: AgentmWorkspace(store, folder=f"workspaces/{uuid4().hex}")

    @pytest.fixture
    def attach_backend(self, store: StorageBackend) -> Callable[[WorkspaceRef], WorkspaceBackend]:
        return lambda ref: AgentmWorkspace(store, ref=ref)

    @pytest.fixture
    def destroy_environment(self, store: StorageBackend) -> Callable[[WorkspaceBackend], Awaitable[None]]:
        async def destroy(backend: WorkspaceBackend) -> None:
            assert backend.ref is not None
            Tree(store, "").delete(backend.ref.id)

        return destroy
