"""The model on loopback speaks the four interfaces of agent hosts, and says where it was told something."""

from __future__ import annotations

import gzip
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from agentm_hosts.check.stub import REPLY, ModelStub, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

ANTHROPIC, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
GEMINI = "/v1beta/models/stub:generateContent"
TOLD = "the heron"


@pytest.fixture
def stub() -> Iterator[ModelStub]:
    with ModelStub() as model:
        yield model


def asked(stub: ModelStub, path: str, body: bytes | None = None, **headers: str) -> tuple[str, str]:
    """The kind of the answer, and the answer."""
    question = urllib.request.Request(f"{stub.url}{path}", body, headers)
    with urllib.request.urlopen(question, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def events(text: str) -> list[tuple[str, Any]]:
    """Of a stream: the name of each event, and what it holds."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        name, data = "", block
        if block.startswith("event: "):
            name, data = block.removeprefix("event: ").split("\n")
        data = data.removeprefix("data: ")
        found.append((name, data if data == "[DONE]" else json.loads(data)))
    return found


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (ANTHROPIC, ("content", 0, "text")),
        (CHAT, ("choices", 0, "message", "content")),
        (GEMINI, ("candidates", 0, "content", "parts", 0, "text")),
    ],
)
def test_an_answer_in_one_piece_holds_the_reply(stub: ModelStub, path: str, place: tuple[str | int, ...]) -> None:
    kind, text = asked(stub, path, b"{}")
    found = json.loads(text)
    for step in place:
        found = found[step]
    assert (kind, found) == ("application/json", REPLY)


def test_the_events_of_a_stream_come_in_the_order_of_their_interface(stub: ModelStub) -> None:
    wanted = b'{"stream": true}'
    kind, text = asked(stub, ANTHROPIC, wanted)
    assert kind == "text/event-stream"
    names = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"]
    assert [name for name, _ in events(text)] == [*names, "message_stop"]
    assert events(text)[0][1]["message"]["content"] == []
    assert {event.get("index", 0) for _, event in events(text)} == {0}
    assert events(text)[2][1]["delta"]["text"] == REPLY
    response = events(asked(stub, RESPONSES, wanted)[1])
    assert [name for name, _ in response] == ["response.created", "response.output_item.done", "response.completed"]
    assert response[1][1]["item"]["content"][0]["text"] == REPLY
    chat = [event for _, event in events(asked(stub, CHAT, wanted)[1])]
    assert chat.pop() == "[DONE]"
    [choices] = zip(*(event["choices"] for event in chat), strict=True)
    assert {choice["index"] for choice in choices} == {0}
    assert [choice["delta"].get("content") for choice in choices] == ["", REPLY, None]
    assert [choice["finish_reason"] for choice in choices] == [None, None, "stop"]
    [(_, gemini)] = events(asked(stub, "/v1beta/models/stub:streamGenerateContent?alt=sse", wanted)[1])
    assert gemini["candidates"][0]["content"]["parts"][0]["text"] == REPLY


def test_what_hosts_ask_besides_is_answered_and_is_no_question(stub: ModelStub) -> None:
    assert json.loads(asked(stub, "/v1/models")[1])["data"][0]["id"] == "stub"
    assert "input_tokens" in asked(stub, "/v1/messages/count_tokens", b"{}")[1]
    assert "totalTokens" in asked(stub, "/v1beta/models/stub:countTokens", b"{}")[1]
    assert asked(stub, "/telemetry", b"not JSON")[1] == "{}"
    assert stub.questions() == []


def test_a_question_is_kept_packed_or_not(stub: ModelStub) -> None:
    body = json.dumps({"system": TOLD}).encode()
    asked(stub, ANTHROPIC, body)
    asked(stub, ANTHROPIC, gzip.compress(body), **{"Content-Encoding": "gzip"})
    assert [(question.path, question.body) for question in stub.questions()] == [(ANTHROPIC, {"system": TOLD})] * 2


@pytest.mark.parametrize("key", ["messages", "input", "contents"])
def test_only_the_messages_that_hold_a_text_are_named(key: str) -> None:
    messages = [{"role": "user", "content": [{"text": f"see {TOLD}"}]}, {"role": "assistant", "content": "no"}]
    assert Request("", {key: messages, "system": "no"}, 0.0).places_of(TOLD) == ["a message of role user"]
    assert Request("", {key: [{"text": TOLD}]}, 0.0).places_of(TOLD) == ["a message of role unknown"]


@pytest.mark.parametrize("key", ["system", "systemInstruction", "instructions"])
def test_the_system_prompt_is_named(key: str) -> None:
    assert Request("", {key: [TOLD], "messages": "none"}, 0.0).places_of(TOLD) == ["the system prompt"]
    assert Request("", [TOLD], 0.0).places_of(TOLD) == []
