"""The requests of one host meet each other at the worst moment: each is answered once, and none is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import SupportsIndex

import pytest

from agentm_mcp import calls as calls_module, channel as channel_module
from agentm_mcp.calls import Calls, Work
from agentm_mcp.channel import Channel
from agentm_mcp.messages import Message

A_MOMENT = 0.3


class Answers:
    """Who was answered, and how."""

    def __init__(self) -> None:
        self.given: list[object] = []
        self.calls = Calls(lambda work: self.given.append((work.message.id, "late")))

    def ask(self, number: int, run: Callable[[Work], dict[str, object]], seconds: float = 10) -> None:
        message = Message(id=number, method="tools/call", params={})
        self.calls.add(Work(message, run, self._answer, seconds))

    def _answer(self, message: Message, result: dict[str, object]) -> None:
        self.given.append((message.id, result["said"]))


class SlowToEnd(list[Work]):
    """A queue whose last look, which finds nothing, takes a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.is_empty = threading.Event()

    def pop(self, index: SupportsIndex = -1) -> Work:
        try:
            return super().pop(index)
        except IndexError:
            if not self.is_empty.is_set():
                self.is_empty.set()
                threading.Event().wait(A_MOMENT)
            raise


def test_a_request_that_comes_while_the_last_one_ends_is_answered() -> None:
    answers, waiting = Answers(), SlowToEnd()
    answers.calls._waiting = waiting
    answers.ask(1, lambda _: {"said": "first"})
    assert waiting.is_empty.wait(10)
    answers.ask(2, lambda _: {"said": "second"})
    assert answers.calls.finish(10)
    assert answers.given == [(1, "first"), (2, "second")]


@pytest.mark.parametrize("left", [0, 1])
def test_where_no_more_threads_can_be_had_requests_are_answered_all_the_same(monkeypatch, left) -> None:
    """A container may allow no more. The server ended, or never answered again."""
    start, allowed = calls_module.start_new_thread, [None] * left

    def none_left(*work: object) -> None:
        if not allowed:
            raise RuntimeError("can't start new thread")
        allowed.pop()
        start(*work)

    monkeypatch.setattr(calls_module, "start_new_thread", none_left)
    answers = Answers()
    answers.ask(1, lambda _: {"said": "first"})
    answers.ask(2, lambda _: {"said": "second"})

    assert answers.calls.finish(10)
    assert answers.given == [(1, "first"), (2, "second")]


def test_what_is_done_after_all_is_not_answered_a_second_time() -> None:
    go_on = threading.Event()

    def hang(_: Work) -> dict[str, object]:
        go_on.wait(10)
        return {"said": "done"}

    answers = Answers()
    answers.ask(1, hang, seconds=0.01)
    while not answers.given:
        answers.calls.finish(A_MOMENT)
    assert not answers.calls.finish(A_MOMENT), "it still hangs"
    go_on.set()
    while not answers.calls.finish(10):
        pass
    assert answers.given == [(1, "late")]


def test_a_number_may_be_used_again_once_its_request_was_cancelled() -> None:
    go_on = threading.Event()

    def wait(_: Work) -> dict[str, object]:
        go_on.wait(10)
        return {"said": "first"}

    answers = Answers()
    answers.ask(1, wait)
    answers.ask(2, lambda _: {"said": "never"})
    answers.calls.cancel(2)
    answers.ask(2, lambda _: {"said": "the new one"})
    go_on.set()
    assert answers.calls.finish(10)
    assert answers.given == [(1, "first"), (2, "the new one")]


@pytest.mark.parametrize("request_id", [True, 1.0, "1", [1], None])
def test_what_only_looks_like_the_number_of_a_request_cancels_nothing(request_id: object) -> None:
    go_on = threading.Event()
    answers = Answers()
    answers.ask(7, lambda _: {"said": str(go_on.wait(10))})
    answers.ask(1, lambda _: {"said": "one"})
    answers.calls.cancel(request_id)
    go_on.set()
    assert answers.calls.finish(10)
    assert answers.given == [(7, "True"), (1, "one")]


def test_a_message_is_not_cut_by_another_thread_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe takes a part of a message only, as it does when the host is slow to read."""
    written = b""
    is_half = threading.Event()

    def write(_descriptor: int, data: memoryview) -> int:
        nonlocal written
        if not is_half.is_set():
            written += bytes(data[:5])
            is_half.set()
            threading.Event().wait(A_MOMENT)
            return 5
        written += bytes(data)
        return len(data)

    monkeypatch.setattr(channel_module, "os", SimpleNamespace(write=write))
    channel = Channel(0, 1)
    slow = threading.Thread(target=channel.send, args=({"id": "the first of both"},))
    slow.start()
    assert is_half.wait(10)
    channel.send({"id": "another"})
    slow.join(10)
    assert written.decode().splitlines() == ['{"id":"the first of both"}', '{"id":"another"}']
