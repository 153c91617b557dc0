"""The memory tools as agents see them: names, descriptions, arguments. What one does is imported when it is called.

A server lists these at the start of every session, so this module imports next to nothing, and each word is paid for
by every agent that reads the list.
"""

from __future__ import annotations

from agentm_kernel.plugin import Tool
from agentm_recall.layout import FOLDERS, PHASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import ToolCall

_TEXT = {"type": "string", "minLength": 1}
_NOTE = {"type": "string", "minLength": 1, "maxLength": 1000, "description": "key, or a unique part of it"}
_PROJECT = {"type": "string", "maxLength": 200, "description": "name of another project"}
_KIND = {"type": "string", "enum": list(FOLDERS)}


def _search(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_reading import search

    return search(call, **arguments)  # type: ignore[arg-type]


def _read(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_reading import read

    return read(call, **arguments)  # type: ignore[arg-type]


def _recall(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_reading import recall

    return recall(call, **arguments)  # type: ignore[arg-type]


def _save(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_writing import save

    return save(call, **arguments)


def _append(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_writing import append

    return append(call, **arguments)


def _feedback(call: ToolCall, **arguments: str) -> dict[str, object]:
    from agentm_recall.tool_writing import feedback

    return feedback(call, **arguments)


SEARCH = Tool(
    "memory_search",
    "Search the notes that earlier sessions kept for this project, and personal ones. Gives keys for memory_read.",
    _search,
    {
        "query": {**_TEXT, "maxLength": 20_000},
        "kind": _KIND,
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "project": _PROJECT,
    },
    required=("query",),
)
READ = Tool(
    "memory_read",
    "Read one note: its text, and the hash that changing it takes.",
    _read,
    {
        "note": _NOTE,
        "offset": {"type": "integer", "minimum": 0, "description": "first character, in a long note"},
        "project": _PROJECT,
    },
    required=("note",),
)
RECALL = Tool(
    "memory_recall",
    "What to know before working on this project: the most useful notes that fit a budget, and what was left out.",
    _recall,
    {
        "phase": {"type": "string", "enum": list(PHASES)},
        "query": {"type": "string", "maxLength": 20_000},
        "budget": {"type": "integer", "minimum": 200, "maximum": 20_000, "description": "tokens"},
        "project": _PROJECT,
    },
)
SAVE = Tool(
    "memory_save",
    "Keep one fact for later sessions: what holds, and why. Never secrets. To change a note, give note and its hash "
    "as expect; a conflict shows the current text to merge with.",
    _save,
    {
        "title": {**_TEXT, "maxLength": 120},
        "body": {**_TEXT, "description": "Markdown"},
        "kind": _KIND,
        "scope": {"type": "string", "enum": ["project", "personal"], "description": "personal: for every project"},
        "note": _NOTE,
        "expect": {"type": "string", "maxLength": 64, "description": "hash from memory_read"},
        "project": _PROJECT,
    },
    required=("title", "body"),
    only_reads=False,
)
APPEND = Tool(
    "memory_append",
    "Add lines at the end of a note, losing nobody's edit.",
    _append,
    {"note": _NOTE, "text": _TEXT, "project": _PROJECT},
    required=("note", "text"),
    only_reads=False,
)
FEEDBACK = Tool(
    "memory_feedback",
    "Say that a note proved right (confirm) or seems wrong or outdated (doubt); it then counts for more or less.",
    _feedback,
    {
        "note": _NOTE,
        "verdict": {"type": "string", "enum": ["confirm", "doubt"]},
        "reason": {"type": "string", "maxLength": 200},
        "project": _PROJECT,
    },
    required=("note", "verdict"),
    only_reads=False,
)
