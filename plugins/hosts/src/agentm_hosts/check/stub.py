"""A model on loopback that answers every question with one sentence and remembers what it was asked.

It speaks the four interfaces that agent hosts use: Anthropic's Messages, OpenAI's Responses and Chat Completions, and
Gemini's. Headers are not kept: they hold keys.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPLY = "The stub has read this."
_LARGEST = 64_000_000


class Request:
    """What a host asked."""

    def __init__(self, path: str, body: Any, moment: float) -> None:
        self.path, self.body, self.moment = path, body, moment

    def places_of(self, text: str) -> list[str]:
        """Which messages of the request hold `text`, in words."""
        found = []
        body = self.body if isinstance(self.body, dict) else {}
        if any(text in _spelled(body.get(key)) for key in ("system", "systemInstruction", "instructions")):
            found.append("the system prompt")
        lists = [body[key] for key in ("messages", "input", "contents") if isinstance(body.get(key), list)]
        holding = [message for messages in lists for message in messages if text in _spelled(message)]
        return found + [f"a message of role {message.get('role', 'unknown')}" for message in holding]


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class ModelStub:
    """`with ModelStub() as stub:` then `stub.url`, and `stub.requests` afterwards."""

    def __init__(self, reply: str = REPLY) -> None:
        self.requests: list[Request] = []
        self.reply = reply
        stub = self

        class Handler(_Handler):
            model = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def questions(self) -> list[Request]:
        """The requests that asked the model something."""
        return [request for request in self.requests if isinstance(request.body, dict) and request.body]

    def __enter__(self) -> ModelStub:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        """Give the address back; of a stub that was never started, this is all."""
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    model: ModelStub
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Nothing is logged."""

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "stub", "object": "model"}], "models": []}))

    def do_HEAD(self) -> None:
        self._send("")

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        self.model.requests.append(Request(path, body, time.monotonic()))
        asked = body if isinstance(body, dict) else {}
        reply = self.model.reply
        if path.endswith("/count_tokens"):
            self._send('{"input_tokens": 10}')
        elif path.endswith(":countTokens"):
            self._send('{"totalTokens": 10}')
        elif path.endswith("/messages"):
            self._events(_anthropic(reply)) if asked.get("stream") else self._send(
                json.dumps(_anthropic_whole(reply))
            )
        elif path.endswith("/responses"):
            self._events(_responses(reply))
        elif path.endswith("/chat/completions"):
            self._chat(asked, reply)
        elif ":streamGenerateContent" in path:
            self._events([(None, _gemini(reply))])
        elif ":generateContent" in path:
            self._send(json.dumps(_gemini(reply)))
        else:
            self._send("{}")

    def _chat(self, asked: dict[str, Any], reply: str) -> None:
        if asked.get("stream"):
            self._events([*((None, chunk) for chunk in _chat_chunks(reply)), (None, "[DONE]")])
        else:
            self._send(json.dumps(_chat_whole(reply)))

    def _body(self) -> Any:
        length = min(int(self.headers.get("Content-Length") or 0), _LARGEST)
        data = self.rfile.read(length)
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            data = gzip.decompress(data)
        try:
            return json.loads(data) if data else {}
        except ValueError:
            return {}

    def _send(self, text: str, kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _events(self, events: list[tuple[str | None, Any]]) -> None:
        lines = []
        for name, data in events:
            lines += [f"event: {name}\n"] if name else []
            lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
        self._send("".join(lines), "text/event-stream")


# ------------------------------------------------------------------------------------------------ the four interfaces


def _anthropic_whole(reply: str) -> dict[str, Any]:
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [{"type": "text", "text": reply}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _anthropic(reply: str) -> list[tuple[str | None, Any]]:
    start = {**_anthropic_whole(reply), "content": [], "stop_reason": None}
    block = {"type": "text", "text": ""}
    return [
        ("message_start", {"type": "message_start", "message": start}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        (
            "content_block_delta",
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": reply}},
        ),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 5},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


def _responses(reply: str) -> list[tuple[str | None, Any]]:
    item = {
        "type": "message",
        "role": "assistant",
        "id": "item_stub",
        "content": [{"type": "output_text", "text": reply}],
    }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 5,
        "output_tokens_details": None,
        "total_tokens": 15,
    }
    return [
        ("response.created", {"type": "response.created", "response": {"id": "resp_stub"}}),
        ("response.output_item.done", {"type": "response.output_item.done", "item": item}),
        ("response.completed", {"type": "response.completed", "response": {"id": "resp_stub", "usage": usage}}),
    ]


def _gemini(reply: str) -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": reply}]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "stub",
    }


def _chat_whole(reply: str) -> dict[str, Any]:
    return {
        "id": "chat_stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _chat_chunks(reply: str) -> list[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {
            "id": "chat_stub",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "stub",
            "choices": [choice],
        }

    return [
        chunk({"role": "assistant", "content": ""}, None),
        chunk({"content": reply}, None),
        {**chunk({}, "stop"), "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
    ]
