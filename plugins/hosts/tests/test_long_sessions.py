"""Sessions that go on for days: notes change meanwhile, they end and are resumed, and their record is damaged."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_hosts.adapters import claude_code
from agentm_hosts.ledger import append
from agentm_hosts.marks import marks_of, unchanged
from agentm_hosts.settling import DELIVERED, DROPPED, PENDING, deliveries, settle
from agentm_kernel.plugin import Capabilities, Info

QUESTION = "which database do payments use?"
LINE: dict[str, Any] = {
    "session": "s1",
    "agent": "",
    "event": "session-start",
    "receipt": "0123456789",
    "length": 5,
    "notes": [],
    "store": "",
    "cwd": "/",
    "transcript": "",
    "size": 0,
}


def save(laptop, text, *arguments):
    laptop.must("save", "--kind", "decision", "--slug", "payments", *arguments, text=text)


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_a_note_that_was_changed_since_a_session_was_given_it_is_given_again(laptop, event):
    save(laptop, "Payments use SQLite because it is one file.")
    assert "SQLite" in laptop.context(event, prompt=QUESTION)
    assert laptop.context("prompt", prompt=QUESTION) == ""
    save(laptop, "Payments use DuckDB since November.", "--update")
    assert "DuckDB" in laptop.context("prompt", prompt=QUESTION)
    assert laptop.context("prompt", prompt=QUESTION) == ""


def test_a_store_that_hangs_is_not_asked_again_once_the_answer_is_late():
    class Late:
        time_left = 0.05

    assert marks_of(Late(), ["projects/widgets/decisions/payments"]) == []
    assert unchanged(Late(), {"a": "0123456789", "b": ""}) == ("a", "b"), "what is not known counts as given"


def test_a_slow_store_takes_no_more_than_half_of_the_time_that_is_left_for_finding_answers():
    class Slow:
        capabilities = Capabilities(device_files=True)

        def info(self, locator):
            call.time_left -= 0.25
            return Info(locator, False, 1, 0.0, "version")

    class Hook:
        time_left, cwd = 2.0, None

        class device:
            memory = staticmethod(lambda _: SimpleNamespace(backend=Slow()))

    call = Hook()
    marks = marks_of(call, [f"projects/widgets/facts/{number}" for number in range(100)])
    assert len(marks) == 100
    assert [bool(mark) for mark in marks[:5]] == [True, True, True, True, False]
    assert set(marks[5:]) == {""}
    assert call.time_left == 1.0


def note(laptop, **fields):
    append(str(laptop.state), "claude-code", json.dumps({"time": time.time(), **LINE, **fields}) + "\n")


def test_what_a_resumed_session_was_told_is_not_dropped_because_it_had_ended_before(laptop):
    transcript = laptop.home / "s1.jsonl"
    transcript.write_text("{}\n")
    now = time.time()
    note(laptop, transcript=str(transcript), time=now - 30)
    note(laptop, event="session-end", receipt="", length=0, time=now - 20)
    note(laptop, transcript=str(transcript), receipt="9876543210", time=now - 10)
    statuses = [line.status for line in settle(laptop.device, claude_code.ADAPTER)]
    assert (statuses[0], statuses[2]) == (DROPPED, PENDING)
    note(laptop, event="session-end", receipt="", length=0, time=now)
    assert settle(laptop.device, claude_code.ADAPTER)[2].status == DROPPED


def test_a_transcript_that_was_cut_since_says_nothing_of_what_was_told_before(laptop):
    transcript = laptop.home / "s1.jsonl"
    transcript.write_text("{}\n")
    now = time.time()
    note(laptop, transcript=str(transcript), size=500, time=now - 30)
    note(laptop, transcript=str(transcript), size=0, receipt="9876543210", time=now - 20)
    note(laptop, event="session-end", receipt="", length=0, time=now)
    assert [line.status for line in settle(laptop.device, claude_code.ADAPTER)][:2] == [PENDING, DROPPED]


def test_a_record_that_cannot_be_read_is_not_one_of_nothing(laptop):
    laptop.must("connect", "claude-code")
    ledger = laptop.state / "deliveries" / "claude-code.jsonl"
    ledger.mkdir(parents=True)
    for command in (("log",), ("hosts", "list")):
        done = laptop.run(*command)
        assert done.returncode == 1
        assert f"error: cannot read {ledger}, where" in done.stderr
        assert "move it away" in done.stderr
    assert f"cannot read {ledger}" in laptop.run("doctor").stdout
    assert laptop.context("session-start"), "a session starts all the same"


@pytest.mark.parametrize(
    "fields",
    [
        {"size": None},
        {"size": "5"},
        {"length": "5"},
        {"transcript": ["x"]},
        {"session": {"a": 1}},
        {"time": float("nan")},
        {"time": "yesterday"},
        {"notes": "abc"},
        {"notes": [1]},
    ],
)
def test_a_damaged_line_of_the_ledger_costs_no_other(laptop, fields):
    note(laptop, **fields)
    append(str(laptop.state), "claude-code", '{"half": \n')
    note(laptop, session="s2")
    assert [line.session for line in settle(laptop.device, claude_code.ADAPTER)] == ["s2"]


def test_what_another_version_added_to_a_line_is_passed_over(laptop):
    note(laptop, colour="red")
    assert [line.receipt for line in deliveries(laptop.device, "claude-code")] == [LINE["receipt"]]


@pytest.mark.parametrize(
    "found",
    ['{"x": ["delivered"]}', '["x"]', "[" * 100_000, "", '{"%s": ["delivered"]}', '{"%s": "arrived"}'],
    ids=["another", "list", "deep", "empty", "a list for it", "a word"],
)
def test_a_damaged_record_of_what_arrived_is_found_out_again(laptop, found):
    note(laptop, time=5.0)
    line = deliveries(laptop.device, "claude-code")[0]
    settled = laptop.state / "deliveries" / "claude-code.settled.json"
    settled.write_text(found.replace("%s", line.name))
    assert deliveries(laptop.device, "claude-code")[0].status != DELIVERED
    assert settle(laptop.device, claude_code.ADAPTER)[0].session == "s1"
