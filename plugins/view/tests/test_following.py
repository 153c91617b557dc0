"""What changes between a screen and the stream that follows it is told: nothing is seen by nobody."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from agentm_view.answers import Answers
from agentm_view.memory import Memory
from agentm_view.watching import _entries

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("agentm_recall")


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / ".agentm" / "memory"

    def write(name: str, text: str) -> None:
        file = root / "projects" / "payments" / "facts" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    (root / "_meta").mkdir(parents=True)
    (root / "_meta" / "repository.json").write_text(
        '{"version": 1, "id": "6b0c1d52-page", "created": "2026-01-01T00:00:00+00:00", "layout": 1}\n'
    )
    write("first", "# The first fact\n")
    return write


def told(answers: Answers, screen: dict[str, object]) -> bool:
    lines = answers.changes("", str(screen["news"]), threading.Event(), 2.0)
    next(lines)
    return bool(next(lines).get("changed"))


def test_a_note_that_comes_right_after_the_first_screen_is_told_and_shown(note, monkeypatch):
    monkeypatch.setattr("agentm_view.watching._EVERY", 0.0)
    answers = Answers(Memory(read_only=True))
    _, screen = answers.get("screen", {"at": "/notes"})
    assert "The first fact" in screen["html"]

    note("second", "# The second fact\n")

    assert told(answers, screen)
    assert "The second fact" in answers.get("screen", {"at": "/notes"})[1]["html"]


def test_what_a_screen_shows_already_is_not_told(note, monkeypatch):
    monkeypatch.setattr("agentm_view.watching._EVERY", 0.0)
    monkeypatch.setattr("agentm_view.watching._SHARE", 0)
    answers = Answers(Memory(read_only=True))
    for _ in range(2):
        answers.get("screen", {"at": "/notes"})
    note("second", "# The second fact\n")
    _, screen = answers.get("screen", {"at": "/notes"})
    assert "The second fact" in screen["html"]

    lines = answers.changes("", str(screen["news"]), threading.Event(), 0.0)
    assert [next(lines), next(lines)] == [{"trouble": None}, {}]


def test_the_list_is_made_before_somebody_asks(note):
    memory = Memory(read_only=True)
    Answers(memory).warm_up()
    deadline = time.monotonic() + 10
    while not memory.known_keys() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert memory.known_keys() == ["projects/payments/facts/first.md"]


def test_what_is_beside_a_link_that_leads_nowhere_is_followed_too(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").write_text("text")
    assert {path for path, _ in _entries(str(tmp_path))} == {str(tmp_path / "link"), str(tmp_path / "file")}


def test_what_another_tab_has_noticed_is_told_too(note, monkeypatch):
    monkeypatch.setattr("agentm_view.watching._EVERY", 0.0)
    answers = Answers(Memory(read_only=True))
    for _ in range(2):
        _, screen = answers.get("screen", {"at": "/notes"})
    note("second", "# The second fact\n")
    answers.get("screen", {"at": "/notes"})  # another tab looks before the first one follows

    assert told(answers, screen)
