"""What agents were told is written down, and looked for in the transcripts of hosts: all in this process."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_hosts import ledger, prompts, settling
from agentm_hosts.adapter import newest
from agentm_hosts.adapters import claude_code, gemini
from agentm_hosts.receipt import stamped
from agentm_hosts.reminder import reminder
from agentm_kernel.plugin import AgentmError


def device(home: Path, config: dict[str, Any] | None = None) -> Any:
    return SimpleNamespace(home=str(home), environ={}, state_dir=str(home), config=config or {})


# -- what agents were told --------------------------------------------------------------------------------------


def told(tmp_path: Path, **fields: Any) -> dict[str, Any]:
    """The line of an answer to a hook."""
    payload = {"session_id": "s1", **fields.pop("payload", {})}
    config = SimpleNamespace(stores=fields.pop("stores", ()))
    bound = fields.pop("bound", lambda _cwd: "team")
    made = SimpleNamespace(state_dir=str(tmp_path), config=config, bound_store=bound)
    call = SimpleNamespace(
        **{
            "text": "a text",
            "event": "prompt",
            "cwd": "/w",
            "payload": payload,
            "device": made,
            "time_left": 0,
            **fields,
        }
    )
    ledger.note_delivery(claude_code.ADAPTER, call)  # type: ignore[arg-type]
    return dict(json.loads(Path(ledger.ledger_path(str(tmp_path), "claude-code")).read_text().splitlines()[-1]))


def test_the_line_of_an_answer_says_everything_but_the_text(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("12345")
    text = "é\n```note\nfacts/a.md (today)\n```\n"
    line = told(tmp_path, text=text, payload={"agent_id": "a1", "transcript_path": str(tmp_path / "t.jsonl")})
    assert line.pop("time") > 1_700_000_000
    assert len(line.pop("receipt")) == 10
    assert line == {
        "session": "s1",
        "agent": "a1",
        "event": "prompt",
        "length": len(text),
        "notes": ["facts/a.md"],
        "marks": [],
        "store": "",
        "cwd": "/w",
        "transcript": str(tmp_path / "t.jsonl"),
        "size": 5,
    }


def test_what_a_host_keeps_from_its_model_or_nobody_looks_for_has_no_receipt(tmp_path: Path) -> None:
    assert told(tmp_path, event="pre-compact")["receipt"] == ""
    assert told(tmp_path, event="pre-compact")["length"] == 6
    assert told(tmp_path, event="session-end")["length"] == 0
    assert told(tmp_path, text="")["receipt"] == ""


def test_a_further_store_is_named_and_one_that_cannot_be_had_is_not(tmp_path: Path) -> None:
    def fails(_cwd: object) -> str:
        raise AgentmError("two projects claim this folder")

    assert told(tmp_path, stores=("team",))["store"] == "team"
    assert told(tmp_path, stores=("team",), bound=lambda cwd: f"of {cwd}")["store"] == "of /w"
    assert told(tmp_path, stores=("team",), cwd="", bound=lambda cwd: f"of {cwd}")["store"] == "of None"
    assert told(tmp_path, stores=("team",), bound=lambda _cwd: None)["store"] == ""
    assert told(tmp_path, stores=("team",), bound=fails)["store"] == ""


def test_long_names_are_cut_at_a_thousand_characters(tmp_path: Path) -> None:
    long = "x" * 1_001
    line = told(tmp_path, cwd=long, payload={"session_id": long, "agent_id": long, "transcript_path": long})
    assert {len(line[name]) for name in ("cwd", "session", "agent", "transcript")} == {1_000}
    assert line["size"] == 0


def test_a_ledger_of_more_than_a_million_bytes_is_begun_anew(tmp_path: Path) -> None:
    path = Path(ledger.ledger_path(str(tmp_path), "x"))
    ledger.append(str(tmp_path), "x", "é" * 999_999 + "\n")
    assert path.stat().st_size == 1_000_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    ledger.append(str(tmp_path), "x", "\n")
    assert not path.exists()
    assert Path(f"{path}.1").stat().st_size == 1_000_001


# -- whether it arrived -----------------------------------------------------------------------------------------


def written(state: Path, host: str, *lines: dict[str, Any]) -> None:
    for number, fields in enumerate(lines):
        known = {"time": 1000.0 + number, "session": "s", "agent": "", "event": "prompt", "receipt": "", "length": 1}
        known |= {"notes": [], "cwd": "", "transcript": "", "size": 0}
        ledger.append(str(state), host, json.dumps({**known, **fields}) + "\n")


@pytest.mark.parametrize(
    ("fields", "later", "status"),
    [
        ({"receipt": "r" * 10}, 86_399, "pending"),
        ({"receipt": "r" * 10}, 86_400, "unknown"),
        ({"receipt": ""}, 0, "unknown"),
        ({"receipt": "", "length": 0}, 0, "silent"),
    ],
)
def test_for_a_day_it_is_not_known_yet_whether_a_text_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], later: int, status: str
) -> None:
    written(tmp_path, "claude-code", fields)
    monkeypatch.setattr(settling, "time", SimpleNamespace(time=lambda: 1000.0 + later))
    (line,) = settling.deliveries(device(tmp_path), "claude-code")
    assert line.status == status


def test_odd_lines_and_an_odd_record_of_what_arrived_are_passed_over(tmp_path: Path) -> None:
    written(tmp_path, "claude-code", {"size": None}, {"notes": None}, {"time": "x"}, {"session": "mine"})
    ledger.append(str(tmp_path), "claude-code", "[1]\n{\n")
    Path(tmp_path / "deliveries" / "claude-code.settled.json").write_text("[]")
    assert [one.session for one in settling.deliveries(device(tmp_path), "claude-code")] == ["mine"]


def context(text: str) -> str:
    attachment = {"type": "hook_additional_context", "content": [stamped(text)]}
    return json.dumps({"type": "attachment", "attachment": attachment}) + "\n"


def receipt(text: str) -> str:
    return stamped(text)[8:18]


def test_a_transcript_is_looked_through_from_a_little_before_the_place_where_a_text_was_told(
    tmp_path: Path,
) -> None:
    transcript = tmp_path / "t.jsonl"
    first, second = context("first"), context("second")
    transcript.write_text(first + "x" * 70_000 + "\n" + second)
    size = transcript.stat().st_size
    lines = [
        {"receipt": receipt(text), "length": len(text), "transcript": str(transcript)} for text in ("first", "second")
    ]
    written(tmp_path, "claude-code", {**lines[0], "size": size}, {**lines[1], "size": size})
    found = settling.settle(device(tmp_path), claude_code.ADAPTER, seconds=10)
    assert [line.status for line in found] == ["unknown", "delivered"]


def test_what_is_in_no_transcript_was_dropped_once_its_session_has_ended(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(context("another"))
    told = {"receipt": receipt("a text"), "length": 6, "transcript": str(transcript)}
    here = device(tmp_path)
    written(tmp_path, "claude-code", told, {"session": "s", "event": "session-end", "length": 0})
    assert settling.settle(here, claude_code.ADAPTER, seconds=0)[0].status == "unknown", "there was no time to look"
    assert [line.status for line in settling.settle(here, claude_code.ADAPTER, seconds=10)] == ["dropped", "silent"]
    record = json.loads((tmp_path / "deliveries" / "claude-code.settled.json").read_text())
    assert record == {f"1000.000 {receipt('a text')}": "dropped"}


def test_where_transcripts_may_not_be_read_nothing_is_known(tmp_path: Path) -> None:
    written(tmp_path, "claude-code", {"receipt": "r" * 10}, {"length": 0})
    here = device(tmp_path, config={"plugins.hosts.read_transcripts": False})
    assert [line.status for line in settling.settle(here, claude_code.ADAPTER)] == ["unknown", "silent"]


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_a_transcript_that_is_no_file_says_nothing_and_holds_nobody(tmp_path: Path, kind: str) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.mkdir() if kind == "folder" else os.mkfifo(transcript) if kind == "pipe" else None
    told = {"receipt": receipt("a text"), "length": 6, "transcript": str(transcript)}
    written(tmp_path, "claude-code", told, {"event": "session-end", "length": 0})
    here = device(tmp_path)
    assert settling.settle(here, claude_code.ADAPTER, seconds=10)[0].status == "unknown"


def test_of_a_huge_transcript_eight_megabytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "MOST_BYTES", 100)
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("x" * 99 + "\n" + context("a text"))
    told = {"receipt": receipt("a text"), "length": 6, "transcript": str(transcript)}
    written(tmp_path, "claude-code", told, {"event": "session-end", "length": 0})
    here = device(tmp_path)
    assert settling.settle(here, claude_code.ADAPTER, seconds=10)[0].status == "unknown"


def test_of_each_folder_the_two_hundred_last_named_are_seen(tmp_path: Path) -> None:
    for number in range(201):
        (tmp_path / f"{number:03}.jsonl").touch()
        os.utime(tmp_path / f"{number:03}.jsonl", (1000 - number, 1000 - number))
    assert newest(str(tmp_path), 0) == (999.0, str(tmp_path / "001.jsonl"))
    assert newest(str(tmp_path / "none"), 0) == (0.0, "")
    assert gemini.ADAPTER.last_session(str(tmp_path)) == 0.0
    (tmp_path / "tmp").mkdir()
    assert gemini.ADAPTER.last_session(str(tmp_path)) == 0.0


# -- what is said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "wants", "payload", "is_said"),
    [
        ("s1", True, {}, True),
        ("", True, {}, False),
        ("s1", False, {}, False),
        ("s1", None, {}, False),
        ("s1", True, {"stop_hook_active": True}, False),
        ("told", True, {}, False),
    ],
)
def test_an_agent_is_reminded_once_in_a_session_and_only_where_that_is_wanted(
    tmp_path: Path, session: str, wants: bool | None, payload: dict[str, Any], is_said: bool
) -> None:
    ledger.append(str(tmp_path), "x", '{"session": "told", "event": "turn-end", "length": 9, "notes": []}\n')
    config = {} if wants is None else {"plugins.hosts.remind": wants}
    call: Any = SimpleNamespace(device=device(tmp_path, config), payload=payload, host="x")
    assert reminder(call, session).startswith("Before you stop: ") is is_said


def test_words_of_three_letters_say_what_a_text_is_about_and_shorter_ones_do_not() -> None:
    assert prompts.words("API of db") == {"api"}


def test_a_note_that_fits_exactly_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    note = "```note\na.md\nheron\n```"
    note = note.replace("heron", "heron" + "." * (-len(note) % 4))
    monkeypatch.setattr("agentm_kernel.recall_here", lambda *_given, **_options: note)
    call: Any = SimpleNamespace(
        device=SimpleNamespace(config={}, state_dir=""), cwd="/w", host="x", recall=lambda *_: None
    )
    assert ledger.keys_in(prompts.answers(call, "", "heron", len(note) // 4)) == ["a.md"]
    assert prompts.answers(call, "", "heron", len(note) // 4 - 1) == ""


def test_a_session_that_was_compacted_is_told_to_plugins_as_that() -> None:
    for event, source, raised in [
        ("session-start", "compact", ("post-compact", "session-start")),
        ("session-start", "startup", ()),
        ("prompt", "compact", ()),
    ]:
        call: Any = SimpleNamespace(event=event, payload={"source": source}, raises=())
        claude_code.ADAPTER.read(call)
        assert call.raises == raised
