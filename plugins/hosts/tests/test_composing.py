"""What an agent is told at each event, and what must survive a compaction: in this process."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_hosts import compaction
from agentm_hosts.adapters import claude_code, codex, copilot
from agentm_kernel.plugin import AgentmError, Locator

Call = Any


def call(tmp_path: Path, event: str, **fields: Any) -> Call:
    said: list[Any] = []
    made = SimpleNamespace(
        event=event,
        payload={"session_id": "s1", "prompt": "why"},
        device=SimpleNamespace(state_dir=str(tmp_path)),
        host="x",
        cwd="/w",
        time_left=4.0,
        said=said,
        add=said.append,
        add_session=lambda closing: said.append(("session", closing)),
    )
    made.__dict__.update(fields)
    return made


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each part of an answer was made with."""
    made: list[Any] = []

    def answers(_call: Call, session: str, prompt: str, tokens: int) -> str:
        made.append((session, prompt, tokens))
        return "notes"

    monkeypatch.setattr("agentm_hosts.prompts.answers", answers)
    monkeypatch.setattr("agentm_hosts.compaction.what_must_survive", lambda _call: "the plan")
    monkeypatch.setattr("agentm_hosts.reminder.reminder", lambda _call, session: f"remember, {session}")
    monkeypatch.setattr("agentm_hosts.ledger.await_session", lambda *given: made.append(given))
    return made


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("session-start", [("session", None)]),
        ("post-compact", [("session", None)]),
        ("prompt", ["notes"]),
        ("pre-compact", ["the plan"]),
        ("turn-end", ["remember, s1"]),
        ("session-end", []),
    ],
)
def test_each_event_has_an_answer_of_its_own(tmp_path: Path, told: list[Any], event: str, said: list[Any]) -> None:
    asked = call(tmp_path, event)
    claude_code.ADAPTER.compose(asked)
    assert asked.said == said
    assert told == ([("s1", "why", 600)] if event == "prompt" else [])


def test_a_host_that_starts_both_at_once_waits_for_the_session_half_of_its_time(
    tmp_path: Path, told: list[Any]
) -> None:
    copilot.ADAPTER.compose(call(tmp_path, "prompt"))
    assert told == [(str(tmp_path), "x", "s1", 2.0), ("s1", "why", 600)]


@pytest.mark.parametrize(
    ("adapter", "save", "find"),
    [
        (claude_code.ADAPTER, "mcp__agentm__memory_save", "mcp__agentm__memory_search"),
        (codex.ADAPTER, "mcp__agentm.memory_save", "mcp__agentm.memory_search"),
    ],
)
def test_where_our_tools_are_connected_the_agent_is_told_their_names(
    tmp_path: Path, adapter: Any, save: str, find: str
) -> None:
    (tmp_path / "connections").mkdir()
    (tmp_path / "connections" / f"{adapter.name}.mcp").touch()
    asked = call(tmp_path, "session-start")
    adapter.compose(asked)
    closing = (
        f"[agentm] To remember a decision or a fact, call the tool {save}.\n"
        f"[agentm] To look something up, call the tool {find}."
    )
    assert asked.said == [("session", closing)]


def test_only_what_can_be_looked_for_has_a_receipt(tmp_path: Path) -> None:
    def envelope(event: str, text: str, adapter: Any = claude_code.ADAPTER) -> str:
        return str(adapter.envelope(call(tmp_path, event), text))

    context = json.loads(envelope("prompt", "text"))["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("[agentm ")
    assert context.endswith("]\ntext")
    assert envelope("pre-compact", "text") == "text\n"
    assert envelope("prompt", "") == ""
    assert envelope("session-end", "text") == ""
    assert envelope("pre-compact", "text", codex.ADAPTER) == ""


@pytest.mark.parametrize(
    ("adapter", "limit"), [(claude_code.ADAPTER, 9_900), (codex.ADAPTER, 9_000), (copilot.ADAPTER, 9_900)]
)
def test_no_host_is_told_more_at_once_than_it_passes_on(adapter: Any, limit: int) -> None:
    """Claude Code passes ten thousand characters on, and Codex two and a half thousand tokens."""
    assert adapter.limit == limit


def test_a_question_with_empty_front_matter_has_its_text() -> None:
    assert Questions({"a.md": "---\n---\nWhich one?\n"}).shown() == ["- a: Which one?"]


# -- what must survive ------------------------------------------------------------------------------------------


class Questions:
    """A store with open questions; a call in a project of it."""

    def __init__(self, texts: dict[str, Any], **fields: Any) -> None:
        self.texts = texts
        self.read_so_far: list[str] = []
        folder = Locator("projects/p")
        backend = SimpleNamespace(
            capabilities=SimpleNamespace(device_files=True),
            list=lambda place: [place.child(name) for name in texts],
            read=self._read,
        )
        memory = {"backend": backend, "project_locator": folder, "is_claimed": True, **fields}
        self.backend = backend
        self.call: Call = SimpleNamespace(
            device=SimpleNamespace(memory=lambda _cwd: SimpleNamespace(**memory)), cwd="/w", time_left=4.0
        )

    def _read(self, locator: Locator) -> str:
        self.read_so_far.append(locator.name)
        text = self.texts[locator.name]
        if isinstance(text, Exception):
            raise text
        return str(text)

    def shown(self) -> list[str]:
        return compaction._open_questions(self.call).splitlines()


def test_ten_open_questions_are_told_each_by_its_beginning() -> None:
    texts: dict[str, Any] = {
        "a.md": "---\nstatus: deleted\n---\nno",
        "b.txt": "no",
        "c.md": AgentmError("it cannot be read"),
        "d.md": "One\n\n  question?\n",
        "e.md": "x" * 201,
        **{f"f{number}.md": "more" for number in range(9)},
    }
    asked = Questions(texts)
    assert asked.shown() == [
        "- d: One question?",
        f"- e: {'x' * 200}",
        *(f"- f{number}: more" for number in range(8)),
    ]
    assert "f8.md" not in asked.read_so_far


def test_a_second_of_the_time_is_left_to_the_plan() -> None:
    asked = Questions({"a.md": "one"})
    asked.call.time_left = 1.0
    assert asked.shown() == ["- a: one"]
    asked.call.time_left = 0.9
    assert asked.shown() == []


@pytest.mark.parametrize("fields", [{"backend": None}, {"project_locator": None}, {"is_claimed": False}])
def test_without_a_project_in_the_store_there_are_no_questions(fields: dict[str, Any]) -> None:
    assert Questions({"a.md": "one"}, **fields).shown() == []


def test_a_store_that_is_far_away_is_not_asked() -> None:
    asked = Questions({"a.md": "one"})
    asked.backend.capabilities = SimpleNamespace(device_files=False)
    assert asked.shown() == []
    assert asked.read_so_far == []


@pytest.mark.parametrize("has_plan", [True, False])
def test_the_plan_and_the_end_of_its_progress_are_told_behind_the_questions(
    monkeypatch: pytest.MonkeyPatch, has_plan: bool
) -> None:
    files = {"PLAN.md": "step\n" * 700, "progress.md": "- begun\n" * 300 + "- last\n"}
    project = SimpleNamespace(on_this_device=lambda: "here")
    asked: Call = SimpleNamespace(device=SimpleNamespace(project=lambda cwd: project), cwd="/w")
    monkeypatch.setattr(compaction, "_open_questions", lambda _call: "- a: one")
    monkeypatch.setattr("agentm_kernel.read_state_file", lambda _project, name: files[name])
    monkeypatch.setattr("agentm_kernel.plugin.list_plan_files", lambda given: ["PLAN.md"] * has_plan)
    monkeypatch.setattr("agentm_kernel.plugin.resolve_active_plan", lambda given: ("PLAN.md", "progress.md"))
    first, questions, *rest = compaction.what_must_survive(asked).split("\n\n")
    assert first.startswith("[agentm] Keep in the summary: ")
    assert questions == "Open questions:\n```\n- a: one\n```"
    if not has_plan:
        assert rest == []
        return
    plan, progress = rest
    assert plan.startswith("PLAN.md:\n```\nstep\n")
    assert plan.endswith("step\n[…]\n```")
    assert plan.count("step") == 600
    assert progress.startswith("progress.md:\n```\n[…]\n- begun\n")
    assert progress.endswith("- last\n```")
    assert 1_400 < len(progress) < 1_600
    files["progress.md"] = ""
    assert "progress.md" not in compaction.what_must_survive(asked)
