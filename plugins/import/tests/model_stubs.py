"""Models on loopback that answer with tool calls, so that real programs write their real files."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Calls = list[tuple[str, dict[str, Any]]]


class Model(ThreadingHTTPServer):
    """`answer(request)` gives the tool calls of the next turn; none ends the conversation."""

    daemon_threads = True

    def __init__(self, answer: Callable[[dict[str, Any]], Calls]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.seen: list[tuple[str, dict[str, Any]]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        self.server.seen.append((self.path, body))
        if "embeddings" in self.path:
            vectors = [[float(len(text) % 7), 1.0, 2.0, 3.0] for text in body["input"]]
            self._json({"data": [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]})
        elif "generateContent" in self.path.replace("streamGenerateContent", "generateContent"):
            self._gemini(body)
        elif self.path.endswith("/responses"):
            self._responses(body)
        elif "count" in self.path or "/messages" not in self.path:
            self._json({"input_tokens": 1, "totalTokens": 1})
        else:
            self._anthropic(body)

    def _anthropic(self, body: dict[str, Any]) -> None:
        calls = self.server.answer(body)
        blocks = [
            {"type": "tool_use", "id": f"toolu_{n}_{len(self.server.seen)}", "name": name, "input": arguments}
            for n, (name, arguments) in enumerate(calls)
        ] or [{"type": "text", "text": "ok"}]
        number = len(self.server.seen)  # Claude Code takes answers of one id for parts of one answer
        message = {
            "id": f"m{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "stop_sequence": None,
        }
        usage = {"input_tokens": 1, "output_tokens": 1}
        stop = "tool_use" if calls else "end_turn"
        if not body.get("stream"):
            self._json({**message, "content": blocks, "stop_reason": stop, "usage": usage})
            return
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
        ]
        for n, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": n, "content_block": empty},
                {"type": "content_block_delta", "index": n, "delta": delta},
                {"type": "content_block_stop", "index": n},
            ]
        events += [
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")

    def _responses(self, body: dict[str, Any]) -> None:
        """OpenAI's interface; a tool of a namespace is called `namespace.tool` here."""
        calls = self.server.answer(body)
        items: list[dict[str, Any]] = []
        for n, (name, arguments) in enumerate(calls):
            namespace, _, tool = name.rpartition(".")
            call = {"type": "function_call", "id": f"f{n}", "call_id": f"c{n}-{len(self.server.seen)}", "name": tool}
            items.append(
                call | {"arguments": json.dumps(arguments)} | ({"namespace": namespace} if namespace else {})
            )
        said = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "ok"}]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r"}}]
        events += [
            {"type": "response.output_item.done", "output_index": n, "item": item}
            for n, item in enumerate(items or [said])
        ]
        events.append({"type": "response.completed", "response": {"id": "r", "usage": usage}})
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")

    def _gemini(self, body: dict[str, Any]) -> None:
        calls = self.server.answer(body)
        parts = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls] or [{"text": "ok"}]
        answer = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }
        if "alt=sse" in self.path:
            self._send(f"data: {json.dumps(answer)}\r\n\r\n".encode(), "text/event-stream")
        else:
            self._json(answer)

    def _json(self, document: dict[str, Any]) -> None:
        self._send(json.dumps(document).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
