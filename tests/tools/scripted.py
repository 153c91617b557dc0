"""A model on loopback that plays a script: it calls one tool after the other, then says that it is done.

Which step comes next is read from the conversation: as many as there are results of our tools in it. Requests that
offer none of our tools (titles, summaries) are answered with a sentence.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from agentm_hosts.check.stub import ModelStub, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Step = tuple[str, dict[str, Any] | Callable[[list[str]], dict[str, Any]]]
    """A tool of ours, and its arguments or how they follow from the results so far."""

_TOOL_SEARCH = {
    "type": "tool_search_call",
    "id": "search_1",
    "call_id": "search_1",
    "status": "completed",
    "execution": "client",
    "arguments": {"query": "search and save memory notes", "limit": 10},
}
_USAGE = {"input_tokens": 10, "output_tokens": 5}


class ScriptedModel(ModelStub):
    """`results` holds what the tools answered, as the host told the model."""

    def __init__(self, script: Sequence[Step]) -> None:
        super().__init__()
        self.script = script
        self.results: list[str] = []
        self.offered: list[set[str]] = []
        """The names of our tools in each request that had any, as this host spells them."""
        model = self
        handler: Any = self._server.RequestHandlerClass

        class Handler(handler):  # type: ignore[misc]
            def do_POST(self) -> None:
                self.given = handler._body(self)
                path = self.path.partition("?")[0]
                events = model.events(path, self.given if isinstance(self.given, dict) else {})
                if events is None:
                    super().do_POST()
                else:
                    model.requests.append(Request(path, self.given, time.monotonic()))
                    self._events(events)

            def _body(self) -> Any:
                return self.given

        self._server.RequestHandlerClass = Handler

    def events(self, path: str, body: dict[str, Any]) -> list[tuple[str | None, Any]] | None:
        """The next call of the script in the words of this interface; `None` for an ordinary answer."""
        for ending, interface in _INTERFACES.items():
            if ending in path and (body.get("stream") or "stream" in path or ending == "/responses"):
                return self._next(interface, body)
        return None

    def _next(self, interface: Any, body: dict[str, Any]) -> list[tuple[str | None, Any]] | None:
        if isinstance(interface, _Responses) and interface.is_to_search(body):
            return responses(_TOOL_SEARCH)
        names = interface.names(body)
        if not names:
            return None
        self.offered.append(set(names.values()))
        results = interface.results(body)
        if len(results) >= len(self.results):
            self.results = results
        if len(results) >= len(self.script):
            return None
        tool, arguments = self.script[len(results)]
        given = arguments(results) if callable(arguments) else arguments
        events: list[tuple[str | None, Any]] = interface.call(names.get(tool, tool), given, f"call_{len(results)}")
        return events


def _ours(names: Sequence[str]) -> dict[str, str]:
    """Our name -> the host's."""
    known = ("memory_", "plan_read", "progress_append", "checkpoint_memory", "restore_memory")
    found = {}
    for name in names:
        for start in known:
            if "agentm" in name and start in name:
                found[name[name.index(start) :]] = name
    return found


class _Anthropic:
    def names(self, body: dict[str, Any]) -> dict[str, str]:
        return _ours([tool.get("name", "") for tool in body.get("tools") or ()])

    def results(self, body: dict[str, Any]) -> list[str]:
        blocks = [
            block
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [_text(block["content"]) for block in blocks if block.get("type") == "tool_result"]

    def call(self, name: str, arguments: dict[str, Any], key: str) -> list[tuple[str | None, Any]]:
        message = {"id": f"msg_{key}", "type": "message", "role": "assistant", "model": "stub", "content": []}
        block = {"type": "tool_use", "id": f"toolu_{key}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "stop_reason": None, "usage": _USAGE}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": _USAGE},
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events]


class _Responses:
    """Codex: it offers our tools at once, or a tool that searches for tools, which the model has to use then."""

    def is_to_search(self, body: dict[str, Any]) -> bool:
        can_search = any(tool.get("type") == "tool_search" for tool in body.get("tools") or ())
        return can_search and not any(item.get("type") == "tool_search_output" for item in body["input"])

    def names(self, body: dict[str, Any]) -> dict[str, str]:
        found = [item for item in body["input"] if item.get("type") == "tool_search_output"]
        tools = [tool for each in (body, *found) for tool in each.get("tools") or ()]
        return _ours([f"{tool.get('name')}/{inner['name']}" for tool in tools for inner in tool.get("tools") or ()])

    def results(self, body: dict[str, Any]) -> list[str]:
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return [_text(item["output"]) for item in outputs]

    def call(self, name: str, arguments: dict[str, Any], key: str) -> list[tuple[str | None, Any]]:
        namespace, _, last = name.rpartition("/")
        item = {"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": last}
        item |= {"arguments": json.dumps(arguments), **({"namespace": namespace} if namespace else {})}
        return responses(item)


def responses(item: dict[str, Any]) -> list[tuple[str | None, Any]]:
    usage = {**_USAGE, "input_tokens_details": None, "output_tokens_details": None, "total_tokens": 15}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "resp_stub"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "resp_stub", "usage": usage}},
    ]
    return [(event["type"], event) for event in events]


class _Gemini:
    def names(self, body: dict[str, Any]) -> dict[str, str]:
        declared = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
        return _ours([each.get("name", "") for each in declared])

    def results(self, body: dict[str, Any]) -> list[str]:
        parts = [part for content in body["contents"] for part in content.get("parts") or ()]
        return [_text(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]

    def call(self, name: str, arguments: dict[str, Any], key: str) -> list[tuple[str | None, Any]]:
        part = {"functionCall": {"id": key, "name": name, "args": arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return [(None, {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "stub"})]


class _Chat:
    def names(self, body: dict[str, Any]) -> dict[str, str]:
        return _ours([tool.get("function", {}).get("name", "") for tool in body.get("tools") or ()])

    def results(self, body: dict[str, Any]) -> list[str]:
        return [_text(message["content"]) for message in body["messages"] if message.get("role") == "tool"]

    def call(self, name: str, arguments: dict[str, Any], key: str) -> list[tuple[str | None, Any]]:
        call = {"index": 0, "id": key, "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}
        deltas = ({"role": "assistant", "content": None, "tool_calls": [call]}, None), ({}, "tool_calls")
        chunks: list[tuple[str | None, Any]] = []
        for delta, reason in deltas:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"id": "chat_stub", "object": "chat.completion.chunk", "created": 0, "model": "stub"}
            chunks.append((None, {**chunk, "choices": [choice]}))
        return [*chunks, (None, "[DONE]")]


_INTERFACES = {
    "/messages": _Anthropic(),
    "/responses": _Responses(),
    ":streamGenerateContent": _Gemini(),
    "/chat/completions": _Chat(),
}


def _text(value: Any) -> str:
    """The words of a result, however a host wraps them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    if isinstance(value, dict):
        return _text(value.get("text") or value.get("output") or value.get("content") or json.dumps(value))
    return json.dumps(value)
