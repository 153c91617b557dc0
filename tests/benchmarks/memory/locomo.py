"""Reading a LoCoMo data set: long conversations in sessions, and questions with the turns that answer them.

The file is the public `locomo10.json`, or one of its shape: a list of samples, each with `conversation` (`session_N`,
a list of turns with `speaker`, `dia_id` and `text`, beside `session_N_date_time`) and `qa` (`question`, `evidence`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Conversation:
    """One sample."""

    sessions: dict[str, str]
    """The text of each session, by the prefix that its turns have: `D1`."""
    turns: dict[str, str]
    """The text of each turn: `D1:3`."""
    questions: list[tuple[str, frozenset[str]]]
    """Each with the turns that answer it."""


def load(path: Path) -> list[Conversation]:
    return [_conversation(sample) for sample in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(sample: dict[str, Any]) -> Conversation:
    conversation = sample["conversation"]
    sessions, turns = {}, {}
    for name, said in conversation.items():
        match = _SESSION.fullmatch(name)
        if not match or not said:
            continue
        lines = {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for turn in said}
        date = conversation.get(f"{name}_date_time", "")
        sessions[f"D{match[1]}"] = "\n".join((date, *lines.values()))
        turns.update(lines)
    questions = []
    for item in sample["qa"]:
        evidence = frozenset(turn for text in item.get("evidence", ()) for turn in _TURN.findall(text))
        if evidence:
            questions.append((item["question"], evidence))
    return Conversation(sessions, turns, questions)
