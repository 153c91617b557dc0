"""Notes as MCP resources, `agentm://<key>`: the project's and the personal ones are listed, any can be read."""

from __future__ import annotations

from os.path import isdir

from agentm_kernel.plugin import InvalidLocatorError, Locator, NotFoundError, layout
from agentm_mcp.messages import INVALID_PARAMS, ProtocolFault
from agentm_mcp.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from agentm_kernel.plugin import StorageBackend, ToolCall

SCHEME = "agentm://"
TEMPLATES = [
    {
        "uriTemplate": f"{SCHEME}{{+key}}",
        "name": "note",
        "description": "A note by its key in the store, as memory_search shows it.",
        "mimeType": "text/markdown",
    }
]
_PAGE = 200
_MOST_TEXT = 400_000
_NOT_NOTES = frozenset({layout.META, layout.HARNESS, layout.INBOX})


def listed(call: ToolCall, params: Mapping[str, Any]) -> dict[str, object]:
    """One page of notes, by key; `cursor` is the last key of the page before."""
    after = params.get("cursor") or ""
    if not isinstance(after, str):
        raise ProtocolFault(INVALID_PARAMS, "a cursor is what nextCursor was")
    keys = sorted(key for key in set(_keys(call)) if key > after)
    page = keys[:_PAGE]
    found: dict[str, object] = {
        "resources": [
            {"uri": _uri(key), "name": key.removesuffix(".md"), "mimeType": "text/markdown"} for key in page
        ]
    }
    if len(keys) > _PAGE:
        found["nextCursor"] = page[-1]
    return found


def read(call: ToolCall, params: Mapping[str, Any]) -> dict[str, object]:
    """The text of one note, whole but for what no reader would see."""
    from urllib.parse import unquote

    uri = params.get("uri")
    if not isinstance(uri, str) or not uri.startswith(SCHEME):
        raise ProtocolFault(INVALID_PARAMS, f"a note is {SCHEME}<key>")
    try:
        locator = Locator(unquote(uri.removeprefix(SCHEME), errors="strict"))
        if not _is_note(locator.key):
            raise NotFoundError(f"'{locator}' is not a note")
        text = _read(call, locator)
    except (NotFoundError, InvalidLocatorError, UnicodeDecodeError) as error:
        raise ProtocolFault(INVALID_PARAMS, f"Resource not found: {error}", data={"uri": uri[:200]}) from None
    if len(text) > _MOST_TEXT:
        raise ProtocolFault(INVALID_PARAMS, f"the note has {len(text):,} characters: read it with memory_read")
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": shown(text)}]}


def _keys(call: ToolCall) -> Iterator[str]:
    for store, folder in _places(call):
        for info in store.walk(folder):
            if not info.is_dir and _is_note(info.locator.key):
                yield info.locator.key


def _places(call: ToolCall) -> Iterator[tuple[StorageBackend, Locator]]:
    """The personal notes are in the default store; a project's may be in another one."""
    yield call.device.store(), Locator(layout.PERSONAL)
    for root in filter(isdir, call.roots):
        here = call.device.memory(root).in_the_store()
        # A place that the store does not know as this project's may be another repository's: nothing there is ours.
        if here.is_claimed and here.project_locator is not None and here.backend is not None:
            yield here.backend, here.project_locator


def _read(call: ToolCall, locator: Locator) -> str:
    """From the store of the open project that it lies in, else from the default one."""
    for store, folder in _places(call):
        if locator.key.startswith(f"{folder.key}/"):
            return store.read(locator)
    return call.device.store().read(locator)


def _is_note(key: str) -> bool:
    return key.endswith(".md") and _NOT_NOTES.isdisjoint(key.split("/"))


def _uri(key: str) -> str:
    from urllib.parse import quote

    return SCHEME + quote(key)
