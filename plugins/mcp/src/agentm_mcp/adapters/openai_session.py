"""A session of the OpenAI Agents SDK on an agentm store: the conversation as a file, one item a line.

    from agents import Runner
    from agentm_mcp.adapters.openai_session import AgentmSession

    result = await Runner.run(agent, "Where were we?", session=AgentmSession("ana"))

The interface has no conditions, so each change is one that cannot lose another: items are appended, those of one call
together, and taking one away is a conditional write that is tried again. A transcript is kept as it is: it may hold
what your users typed, secrets too, so choose the store with that in mind.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, TypeVar

from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import coerce_session_settings

from agentm_kernel.plugin import NotFoundError, append
from agentm_mcp.adapters.names import segment_of
from agentm_mcp.adapters.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents import TResponseInputItem

    from agentm_kernel.plugin import StorageBackend

    Answer = TypeVar("Answer")


class AgentmSession(SessionABC):
    """The conversation `session_id` below `folder` of a store: this device's, the configured one of that name, or one
    that is given. `session_settings` may say how many of the latest items a run gets.
    """

    def __init__(
        self,
        session_id: str,
        store: StorageBackend | str | None = None,
        *,
        folder: str = "sessions",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._tree = Tree(store, folder)
        self._path = f"{segment_of(session_id)}.jsonl"
        self._is_closed = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest `limit` items, the oldest first; all of them without a limit. A broken line is passed over."""
        items = await asyncio.to_thread(self._items)
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None or limit < 0:
            return items
        return items[-limit:] if limit else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        self._check_open()
        if items:
            text = "".join(f"{_line(item)}\n" for item in items)
            await _to_its_end(lambda: append(self._tree.store, self._tree.locator(self._path), text))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away, with broken lines after it."""
        return await _to_its_end(self._pop)

    async def clear_session(self) -> None:
        await _to_its_end(self._clear)

    def close(self) -> None:
        """Refuse whatever comes after this. There is nothing to release: other sessions end like this, too."""
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError(f"this {type(self).__name__} is closed")

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> Any:
        """How the SDK's compaction asks for a history whose end it may replace in one conditional write.

        Sessions without this are compacted by removing the items and adding the summary, one after the other.
        """
        from agents.memory.session import _CompactionSnapshot

        lines = await asyncio.to_thread(self._lines)
        end = lines[-limit:]
        items = [item for item in map(_item, end) if item is not None]
        if len(items) < len(end):
            return None  # a broken line among them: better not compacted

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            return await _to_its_end(lambda: self._replace_end(end[start:], list(map(_line, output)), prune_prefix))

        return _CompactionSnapshot(items, len(lines) <= limit, replace_suffix)

    # -- in a thread ------------------------------------------------------------------------------------------

    def _replace_end(
        self,
        expected: list[str],
        instead: list[str],
        is_expired: Callable[[TResponseInputItem], bool] | None,
    ) -> bool:
        """Whether the conversation still ended with what was expected, and ends otherwise now."""
        done = False

        def replaced(current: str) -> str:
            nonlocal done
            lines = _filled(current)
            done = bool(expected) and lines[-len(expected) :] == expected
            if not done:
                return current
            before = lines[: -len(expected)]
            while before and is_expired and (first := _item(before[0])) is not None and is_expired(first):
                del before[0]
            return "".join(f"{line}\n" for line in (*before, *instead))

        try:
            self._tree.edit(self._path, replaced)
        except NotFoundError:
            return False
        return done

    def _lines(self) -> list[str]:
        self._check_open()
        try:
            return _filled(self._tree.read(self._path))
        except NotFoundError:
            return []

    def _items(self) -> list[TResponseInputItem]:
        return [item for item in map(_item, self._lines()) if item is not None]

    def _pop(self) -> TResponseInputItem | None:
        self._check_open()
        taken: TResponseInputItem | None = None

        def without_the_last(current: str) -> str:
            nonlocal taken
            taken = None
            lines = _filled(current)
            while lines and taken is None:
                taken = _item(lines.pop())
            return "".join(f"{line}\n" for line in lines)

        try:
            self._tree.edit(self._path, without_the_last)
        except NotFoundError:
            return None
        return taken

    def _clear(self) -> None:
        self._check_open()
        try:
            self._tree.delete(self._path)
        except NotFoundError:
            pass


def _filled(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def _line(item: TResponseInputItem) -> str:
    text = json.dumps(item, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return json.dumps(item)
    return text


def _item(line: str) -> TResponseInputItem | None:
    try:
        found: TResponseInputItem = json.loads(line)
    except ValueError:
        return None
    return found


async def _to_its_end(change: Callable[[], Answer]) -> Answer:
    """What `change` answers. A caller that is cancelled meanwhile hears of it when the change is settled."""
    task = asyncio.ensure_future(asyncio.to_thread(change))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
