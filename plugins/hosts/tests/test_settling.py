"""Delivered or not: only what the host itself calls context counts, and a look is bounded."""

from __future__ import annotations

import json
import os
import time

import pytest

from agentm_hosts.adapters import claude_code, codex, gemini
from agentm_hosts.ledger import append
from agentm_hosts.receipt import receipt_of, stamped
from agentm_hosts.settling import settle

TEXT = "[agentm] Project state.\n\n[agentm] To remember: …"
RECEIPT = receipt_of(TEXT)


def claude(text: str, kind: str = "hook_additional_context") -> dict:
    key = "content" if kind == "hook_additional_context" else "stdout"
    return {"type": "attachment", "attachment": {"type": kind, "hookEvent": "SessionStart", key: [text]}}


def developer(text: str, role: str = "developer") -> dict:
    content = [{"type": "input_text", "text": text}]
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}


def user(text: str) -> dict:
    return {"type": "user", "content": [{"text": text}]}


class Session:
    """A ledger with one open line, and the transcript that it names."""

    def __init__(self, laptop, adapter) -> None:
        self.laptop, self.adapter = laptop, adapter
        self.transcript = laptop.home / "transcript.jsonl"
        self.line("session-start", RECEIPT, len(TEXT))

    def line(self, event: str, receipt: str = "", length: int = 0, **fields) -> None:
        known = {
            "time": time.time(),
            "session": "s1",
            "agent": "",
            "event": event,
            "receipt": receipt,
            "length": length,
            "notes": [],
            "cwd": "",
            "transcript": str(self.transcript),
            "size": 0,
        }
        append(str(self.laptop.state), self.adapter.name, json.dumps({**known, **fields}) + "\n")

    def write(self, *entries: object) -> None:
        with self.transcript.open("a") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)

    def status(self) -> str:
        first, *_ = settle(self.laptop.device, self.adapter, seconds=5)
        return first.status

    def statuses(self, event: str) -> list[str]:
        return [line.status for line in settle(self.laptop.device, self.adapter, seconds=5) if line.event == event]


HOSTS = {
    "claude": (claude_code.ADAPTER, lambda text: claude(text)),
    "codex": (codex.ADAPTER, developer),
    "gemini": (gemini.ADAPTER, lambda text: user(f"<hook_context>{text}</hook_context>\n\nhello")),
}


@pytest.fixture(params=HOSTS)
def recorded(request, laptop):
    adapter, entry = HOSTS[request.param]
    return Session(laptop, adapter), entry


def test_what_the_host_calls_context_was_delivered(recorded):
    session, entry = recorded
    assert session.status() == "pending"
    session.write({"type": "other"}, entry(stamped(TEXT)))

    assert session.status() == "delivered"


def test_what_was_cut_is_called_cut(recorded):
    session, entry = recorded
    session.write(entry(stamped(TEXT)[:-5]))

    assert session.status() == "cut"


def test_dropped_is_said_only_of_a_session_that_has_ended(recorded):
    session, entry = recorded
    session.write(entry("something else"))
    assert session.status() == "pending"

    session.line("session-end")
    assert session.status() == "dropped"


def test_a_session_that_goes_on_with_the_same_words_has_them(laptop):
    """Claude Code writes no second copy down when `--continue` brings an unchanged text."""
    session = Session(laptop, claude_code.ADAPTER)
    session.write(claude(stamped(TEXT)))
    with session.transcript.open("a") as file:
        file.write("x" * 100_000 + "\n")
    session.line("session-end")
    session.line("session-start", RECEIPT, len(TEXT), size=session.transcript.stat().st_size)
    session.line("session-end")
    assert session.statuses("session-start") == ["delivered", "delivered"]

    session.line("pre-compact")  # the summary takes its place: from here on it has to be there anew
    session.line("session-start", RECEIPT, len(TEXT), size=session.transcript.stat().st_size)
    session.line("session-end")
    assert session.statuses("session-start") == ["delivered", "delivered", "dropped"]


FORGED = {
    "logged, not passed on": (claude_code.ADAPTER, claude(stamped(TEXT), "hook_success")),
    "a tool's result": (
        claude_code.ADAPTER,
        {"type": "user", "toolUseResult": claude(stamped(TEXT)), "message": {"content": "hook_additional_context"}},
    ),
    "the user's words": (codex.ADAPTER, developer(stamped(TEXT), role="user")),
    "a tool's result in codex": (
        codex.ADAPTER,
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "output": f'"developer" {stamped(TEXT)}'},
        },
    ),
    "pasted into a prompt": (gemini.ADAPTER, user(f"look: <hook_context>{stamped(TEXT)}</hook_context>")),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_receipt_anywhere_else_proves_nothing(laptop, case):
    adapter, entry = FORGED[case]
    session = Session(laptop, adapter)
    session.write(entry)

    assert session.status() == "pending"


def test_a_transcript_of_fifty_megabytes_is_looked_at_for_a_moment(laptop):
    session = Session(laptop, claude_code.ADAPTER)
    noise = (json.dumps(claude("x" * 900_000)) + "\n").encode()
    with session.transcript.open("wb") as file:
        for _ in range(55):
            file.write(noise)
    session.line("session-end")
    started = time.monotonic()

    first, *_ = settle(laptop.device, claude_code.ADAPTER)

    assert time.monotonic() - started < 5
    assert first.status == "pending"  # it was not read to its end: nothing can be said


def test_odd_transcripts_do_no_harm(laptop):
    session = Session(laptop, claude_code.ADAPTER)
    os.mkfifo(session.transcript)
    assert session.status() == "pending"
    session.transcript.unlink()
    session.transcript.mkdir()
    assert session.status() == "pending"
    session.transcript.rmdir()
    session.transcript.write_bytes(
        b"\xff hook_additional_context [agentm \n" + b'{"type": "attachment", [agentm ' * 99
    )
    assert session.status() == "pending"


def test_transcripts_are_not_read_where_the_operator_says_so(laptop):
    session = Session(laptop, claude_code.ADAPTER)
    session.write(claude(stamped(TEXT)))
    laptop.must("config", "set", "plugins.hosts.read_transcripts", "false")

    assert session.status() == "unknown"


def test_lines_that_nobody_wrote_are_passed_over(laptop):
    session = Session(laptop, claude_code.ADAPTER)
    append(str(laptop.state), "claude-code", 'not json\n[1]\n{"time": "x"}\n')
    session.write(claude(stamped(TEXT)))

    assert session.status() == "delivered"


def test_the_log_shows_what_was_told(laptop):
    session = Session(laptop, claude_code.ADAPTER)
    session.line("prompt", RECEIPT, len(TEXT), notes=["projects/x/decisions/cache"], session="s2")
    session.write(claude(stamped(TEXT)))

    shown = laptop.must("log")
    assert shown.count("delivered") == 2
    assert "cache" in laptop.must("log", "--session", "s2")
    assert [line["session"] for line in json.loads(laptop.must("log", "--json", "--session", "s1"))["lines"]] == [
        "s1"
    ]


def test_a_log_that_cannot_be_read_is_not_one_of_nothing(laptop):
    ledger = laptop.state / "deliveries" / "claude-code.jsonl"
    ledger.mkdir(parents=True)

    done = laptop.run("log")

    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: cannot read {ledger}, where it is written down what agents were told: " in done.stderr
    assert "hint: check who owns it" in done.stderr
