"""JSON-RPC as MCP uses it: what a line of the host means, and what an answer looks like."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Id = str | int

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The era of `initialize`: the host says once what it speaks."""
MODERN_VERSIONS = ("2026-07-28",)
"""The era after it: every request says what it speaks, and `initialize` is gone."""

_META = "io.modelcontextprotocol/"
VERSION_KEY, CLIENT_KEY, SERVER_KEY = f"{_META}protocolVersion", f"{_META}clientInfo", f"{_META}serverInfo"


class ProtocolFault(Exception):
    """What the host sent cannot be answered with a result; `code` and text become a JSON-RPC error."""

    def __init__(self, code: int, text: str, *, id: Id | None = None, data: object = None) -> None:  # noqa: A002
        super().__init__(text)
        self.code, self.text, self.id, self.data = code, text, id, data

    def message(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": self.text}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


class Message:
    """A request (it has an id), a notification, or an answer to a request of ours (`method` is empty)."""

    __slots__ = ("id", "method", "params", "result")

    def __init__(self, id: Id | None, method: str, params: Mapping[str, Any], result: object = None) -> None:  # noqa: A002
        self.id, self.method, self.params, self.result = id, method, params, result

    @property
    def meta(self) -> Mapping[str, Any]:
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def is_modern(self) -> bool:
        return VERSION_KEY in self.meta

    @property
    def progress_token(self) -> Id | None:
        token = self.meta.get("progressToken")
        return token if _is_id(token) else None


def parse(line: bytes) -> Message:
    """What a line says; `ProtocolFault`, with the id as far as it is known, if that is not a message."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolFault(PARSE_ERROR, f"not JSON: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise ProtocolFault(INVALID_REQUEST, "a message is one JSON object a line; there are no batches")
    given = value.get("id")
    known = given if _is_id(given) else None
    if value.get("jsonrpc") != "2.0":
        raise ProtocolFault(INVALID_REQUEST, 'a message says "jsonrpc": "2.0"', id=known)
    if "id" in value and known is None:
        raise ProtocolFault(INVALID_REQUEST, "an id is a text or a whole number")
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return Message(known, "", {}, value.get("result"))
    if not isinstance(method, str) or not method:
        raise ProtocolFault(INVALID_REQUEST, "a request has a method", id=known)
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise ProtocolFault(INVALID_PARAMS, "params is an object", id=known)
    return Message(known, method, params)


def check_era(message: Message) -> None:
    """Refuse a request of the later era in a version that is not spoken here; never `initialize`."""
    if not message.is_modern or message.method == "initialize":
        return
    version = message.meta[VERSION_KEY]
    if not isinstance(version, str):
        raise ProtocolFault(INVALID_PARAMS, f"{VERSION_KEY} is a text", id=message.id)
    if version not in MODERN_VERSIONS:
        known = {"supported": list(MODERN_VERSIONS), "requested": version}
        raise ProtocolFault(UNSUPPORTED_VERSION, "Unsupported protocol version", id=message.id, data=known)


def answer(message: Message, result: dict[str, object], stamp: Mapping[str, object]) -> dict[str, object]:
    """The answer to a request; in the later era with what every result says there, `stamp` naming the server."""
    if message.is_modern:
        result = {**result, "resultType": "complete", "_meta": {SERVER_KEY: stamp}}
        if message.method not in ("tools/call", "ping"):
            result |= {"ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": message.id, "result": result}


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
