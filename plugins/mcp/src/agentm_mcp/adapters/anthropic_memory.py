"""Anthropic's memory tool (`memory_20250818`) on any agentm store, for the sync and the async client.

    from agentm_mcp.adapters.anthropic_memory import MemoryTool

    client.beta.messages.run_tools(model=…, messages=…, tools=[MemoryTool()])

The model's edits are conditional: what somebody else wrote to a file meanwhile is edited further, never overwritten.
Text that seems to hold a secret is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from agentm_kernel.plugin import (
    AgentmError,
    ConcurrentModificationError,
    InvalidLocatorError,
    LocatorConflictError,
    NotFoundError,
    refuse_secrets,
)
from agentm_mcp.adapters.tree import FILE, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand as Create,
        BetaMemoryTool20250818DeleteCommand as Delete,
        BetaMemoryTool20250818InsertCommand as Insert,
        BetaMemoryTool20250818RenameCommand as Rename,
        BetaMemoryTool20250818StrReplaceCommand as Replace,
        BetaMemoryTool20250818ViewCommand as View,
    )

    from agentm_kernel.plugin import StorageBackend

ROOT = "/memories"
_MOST_LINES = 999_999
_UNITS = "BKMG"
_DEPTH = 2
_AROUND = 2


class Memory:
    """The six commands on a folder of a store. Whatever goes wrong is a `ToolError`, which the model gets to read."""

    def __init__(self, store: StorageBackend | str | None, folder: str) -> None:
        self.tree = Tree(store, folder)

    def view(self, command: View) -> str:
        path = self._path(command.path)
        kind = self._kind(path, command.path)
        if kind is None:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return self._view_file(path, command) if kind == FILE else self._view_folder(path, command.path)

    def create(self, command: Create) -> str:
        path = self._path(command.path)
        _refuse_secrets(command.path, command.file_text)
        try:
            self.tree.create(path, command.file_text)
        except ConcurrentModificationError:
            raise ToolError(f"File {command.path} already exists") from None
        except AgentmError as error:
            raise _told(command.path, error) from error
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Replace) -> str:
        old = command.old_str

        def change(text: str) -> str:
            found = text.count(old) if old else 0
            if not found:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}."
                )
            if found > 1:
                lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in _places(text, old))
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            return text.replace(old, command.new_str)

        _refuse_secrets(command.path, command.new_str)
        place: list[int] = []

        def remembering(text: str) -> str:
            changed = change(text)
            place[:] = [text.count("\n", 0, text.find(old))]
            return changed

        lines = self._edit(command.path, remembering).split("\n")
        first = max(0, place[0] - _AROUND)
        shown = _numbered(lines[first : place[0] + _AROUND + 1], first + 1)
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"
        )

    def insert(self, command: Insert) -> str:
        def change(text: str) -> str:
            lines = text.split("\n")
            if lines[-1] == "":
                lines.pop()
            if not 0 <= command.insert_line <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {command.insert_line}. "
                    f"It should be within the range [0, {len(lines)}]."
                )
            lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
            return "\n".join(lines).removesuffix("\n") + "\n"

        _refuse_secrets(command.path, command.insert_text)
        self._edit(command.path, change)
        return f"The file {command.path} has been edited."

    def delete(self, command: Delete) -> str:
        path = self._path(command.path)
        if not path:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        if self._kind(path, command.path) is None:
            raise ToolError(f"The path {command.path} does not exist")
        try:
            self.tree.delete(path)
        except NotFoundError:
            raise ToolError(f"The path {command.path} does not exist") from None
        except AgentmError as error:
            raise _told(command.path, error) from error
        return f"Successfully deleted {command.path}"

    def rename(self, command: Rename) -> str:
        old, new = self._path(command.old_path), self._path(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        if self._kind(new, command.new_path) is not None:
            raise ToolError(f"The destination {command.new_path} already exists")
        if self._kind(old, command.old_path) is None:
            raise ToolError(f"The path {command.old_path} does not exist")
        try:
            self.tree.move(old, new)
        except AgentmError as error:
            raise _told(command.old_path, error) from error
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear(self) -> str:
        self.tree.delete("")
        return "All memory cleared"

    # -- parts ------------------------------------------------------------------------------------------------

    def _path(self, given: str) -> str:
        """The path below the folder. `.` and `..` are followed as the model means them, but not out of it."""
        if given != ROOT and not given.startswith(f"{ROOT}/"):
            raise ToolError(f"Path must start with {ROOT}, got: {given}")
        parts: list[str] = []
        for part in given.removeprefix(ROOT).split("/"):
            if part == "..":
                if not parts:
                    raise ToolError(f"Path {given} would escape {ROOT} directory")
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)

    def _kind(self, path: str, given: str) -> str | None:
        try:
            return self.tree.kind(path)
        except AgentmError as error:
            raise _told(given, error) from error

    def _edit(self, given: str, change: Callable[[str], str]) -> str:
        path = self._path(given)
        kind = self._kind(path, given)
        if kind is None:
            raise ToolError(f"The path {given} does not exist. Please provide a valid path.")
        if kind != FILE:
            raise ToolError(f"The path {given} is not a file.")
        try:
            return self.tree.edit(path, change)
        except AgentmError as error:
            raise _told(given, error) from error

    def _view_file(self, path: str, command: View) -> str:
        try:
            lines = self.tree.read(path).split("\n")
        except AgentmError as error:
            raise _told(command.path, error) from error
        if len(lines) > _MOST_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
        first, last = 1, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0])
            last = len(lines) if command.view_range[1] == -1 else command.view_range[1]
        shown = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"

    def _view_folder(self, path: str, given: str) -> str:
        shown: list[str] = []

        def add(folder: str, depth: int) -> int:
            """The entries of a folder, each with its size; a folder's is that of what lies below it."""
            total = 0
            for entry in self.tree.entries(folder):
                below = entry.path.removeprefix(path).lstrip("/")
                at = len(shown)
                size = add(entry.path, depth + 1) if entry.is_dir else entry.size
                total += size
                is_hidden = any(part.startswith(".") for part in below.split("/"))
                if depth <= _DEPTH and not is_hidden:
                    shown.insert(at, f"{_size(size)}\t{given.rstrip('/')}/{below}{'/' if entry.is_dir else ''}")
            return total

        try:
            total = add(path, 1)
        except AgentmError as error:
            raise _told(given, error) from error
        head = f"Here're the files and directories up to {_DEPTH} levels deep in {given}, excluding hidden items:"
        return "\n".join((head, f"{_size(total)}\t{given}", *shown))


def _told(path: str, error: AgentmError) -> ToolError:
    """An error of the store, in words that the model is used to."""
    if isinstance(error, (InvalidLocatorError, LocatorConflictError)) or "symbolic link" in error.message:
        return ToolError(f"Path {path} would escape {ROOT} directory or cannot be stored: {error.message}")
    return ToolError(f"{path}: {error}")


def _refuse_secrets(path: str, text: str) -> None:
    try:
        refuse_secrets(path, text)
    except AgentmError as error:
        raise ToolError(str(error)) from error


def _places(text: str, part: str) -> list[int]:
    found, at = [], text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    unit = 0
    size = float(count)
    while size >= 1024 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `anthropic.Anthropic`, on a folder of a store.

    Without a store it is this device's. What lies below `personal/` or a project's folder and ends in `.md` is
    recalled by agentm as well.
    """

    def __init__(
        self, store: StorageBackend | str | None = None, *, folder: str = "memories", **options: Any
    ) -> None:
        super().__init__(**options)
        self.memory = Memory(store, folder)

    def view(self, command: View) -> str:
        return self.memory.view(command)

    def create(self, command: Create) -> str:
        return self.memory.create(command)

    def str_replace(self, command: Replace) -> str:
        return self.memory.str_replace(command)

    def insert(self, command: Insert) -> str:
        return self.memory.insert(command)

    def delete(self, command: Delete) -> str:
        return self.memory.delete(command)

    def rename(self, command: Rename) -> str:
        return self.memory.rename(command)

    def clear_all_memory(self) -> str:
        return self.memory.clear()


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `anthropic.AsyncAnthropic`: the store is asked in a thread, so that the loop goes on."""

    def __init__(
        self, store: StorageBackend | str | None = None, *, folder: str = "memories", **options: Any
    ) -> None:
        super().__init__(**options)
        self.memory = Memory(store, folder)

    async def view(self, command: View) -> str:
        return await run_sync(self.memory.view, command)

    async def create(self, command: Create) -> str:
        return await run_sync(self.memory.create, command)

    async def str_replace(self, command: Replace) -> str:
        return await run_sync(self.memory.str_replace, command)

    async def insert(self, command: Insert) -> str:
        return await run_sync(self.memory.insert, command)

    async def delete(self, command: Delete) -> str:
        return await run_sync(self.memory.delete, command)

    async def rename(self, command: Rename) -> str:
        return await run_sync(self.memory.rename, command)

    async def clear_all_memory(self) -> str:
        return await run_sync(self.memory.clear)
