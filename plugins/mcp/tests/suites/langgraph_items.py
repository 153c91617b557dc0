"""LangGraph's tests of its stores, run on ours: `InMemoryStore`, `SqliteStore` and `AsyncSqliteStore` by name.

The SQLite store is not installed: its own module is taken from the source distribution for the constants and helpers
that its tests import, and the packages that it would open a database with are not needed for those.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import langgraph.store
import langgraph.store.memory
from langgraph.store.base.batch import AsyncBatchedBaseStore

from agentm_mcp.adapters.langgraph_store import AgentmStore
from suites.stores import open_store, skip

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator


class InMemoryStore(AgentmStore):
    def __init__(self, *, index: Any = None) -> None:
        super().__init__(open_store(tempfile.mkdtemp()), index=index)


class SqliteStore(AgentmStore):
    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, *, index: Any = None) -> Iterator[SqliteStore]:
        yield cls(open_store(tempfile.mkdtemp()), index=_ours(index))

    def setup(self) -> None:
        """There is nothing to set up."""


class AsyncSqliteStore(AsyncBatchedBaseStore):
    """Theirs collects what is asked at once; by their own base, around ours."""

    def __init__(self, index: Any) -> None:
        super().__init__()
        self._store = AgentmStore(open_store(tempfile.mkdtemp()), index=_ours(index))
        self.index_config = index

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, *, index: Any = None) -> AsyncIterator[AsyncSqliteStore]:
        yield cls(index)

    async def setup(self) -> None:
        """There is nothing to set up."""

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await self._store.abatch(ops)


def _ours(index: Any) -> Any:
    """Their SQLite store calls the fields otherwise than the interface does."""
    return {**index, "fields": index.get("text_fields")} if index else None


langgraph.store.memory.InMemoryStore = InMemoryStore
for source in sys.path:
    if "langgraph_checkpoint_sqlite" in source:
        sys.modules.update((name, ModuleType(name)) for name in ("sqlite_vec", "aiosqlite"))
        langgraph.store.__path__.append(f"{source}/langgraph/store")
        import langgraph.store.sqlite as theirs

        theirs.SqliteStore, theirs.AsyncSqliteStore = SqliteStore, AsyncSqliteStore

SKIPPED = {
    "test_vector_store_initialization": "asserts tables of SQLite",
    "test_nonnull_migrations": "asserts statements of SQLite",
    "test_sql_injection_vulnerability": "asserts that a filter's name is checked before it becomes SQL",
    "test_no_running_loop": "asserts that the SQLite store cannot be asked from its own loop; ours can",
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    skip([item for item in items if "sqlite" in str(item.path)], SKIPPED)
    for item in items:
        for ours in (InMemoryStore, SqliteStore, AsyncSqliteStore):
            assert getattr(item.module, ours.__name__, ours) is ours
