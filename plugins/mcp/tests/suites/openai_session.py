"""The tests of the OpenAI Agents SDK's sessions, run on ours: `SQLiteSession` is substituted by name."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import agents
import agents.extensions.memory.encrypt_session  # before the name is substituted: it treats SQLite specially
import agents.memory
import agents.memory.sqlite_session

from agentm_kernel.plugin import append
from agentm_mcp.adapters.openai_session import AgentmSession
from suites.stores import open_store, skip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.plugin import StorageBackend

_stores: dict[str, StorageBackend] = {}


class SQLiteSession(AgentmSession):
    """Ours under their constructor: what they call a database is a store."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None) -> None:
        place = os.fspath(db_path)
        if place == ":memory:":
            store = open_store(tempfile.mkdtemp())
        else:
            store = _stores.get(place) or _stores.setdefault(place, open_store(f"{place}.store"))
        super().__init__(session_id, store, session_settings=session_settings)

    messages_table = "messages"

    @contextmanager
    def _locked_connection(self) -> Iterator[_Corrupting]:
        yield _Corrupting(self)


class _Corrupting:
    """How their tests put a row into a session that is no item: for us a line."""

    def __init__(self, session: SQLiteSession) -> None:
        self._session = session

    def execute(self, statement: str, values: tuple[str, str]) -> None:
        assert "INSERT INTO" in statement
        session_id, row = values
        assert session_id == self._session.session_id
        append(self._session._tree.store, self._session._tree.locator(self._session._path), row)

    def commit(self) -> None:
        pass


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = SQLiteSession

SKIPPED = {
    "connection": "asserts connections of SQLite",
    "file_lock_is_shared": "asserts the locks of SQLite's wrapper",
    "failed_add_items_releases_write_lock": "makes a trigger of SQLite fail",
    "failed_clear_session_rolls_back": "makes a trigger of SQLite fail",
    "failed_pop_item_releases_write_lock": "makes a trigger of SQLite fail",
    "post_commit_cancellation": "pauses a commit of SQLite",
    "test_settled_pop_failure": "pauses a commit of SQLite",
    "test_settled_clear_failure": "pauses a commit of SQLite",
    "encrypted_pop_wrong_key": "asserts a transaction that EncryptedSession has on SQLite only",
    "encrypted_pop_rechecks": "asserts a transaction that EncryptedSession has on SQLite only",
    "encrypted_pop_authentication": "asserts rows of SQLite",
    "encrypted_pop_cancellation": "asserts a transaction that EncryptedSession has on SQLite only",
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    skip(items, SKIPPED)
    assert all(getattr(item.module, "SQLiteSession", SQLiteSession) is SQLiteSession for item in items)
