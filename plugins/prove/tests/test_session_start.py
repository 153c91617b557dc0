"""The trial of a session that starts: what agentm is asked there, and what is made of its answers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_prove.trial import Trial, made
from agentm_prove.trials import session_start


def verdict(home: Any) -> tuple[str, str]:
    laboratory: Any = SimpleNamespace(fresh=lambda: home)
    found = made(Trial("one", "a promise", session_start.run), laboratory)
    return found.state, found.saw


class Started:
    """A home in which `agentm` says what a test has it say, by its first two words."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **said: Any) -> None:
        self.project = str(folder)
        self.environ = {"HOME": str(folder)}
        self.asked: list[Any] = []
        self.ran: list[tuple[list[str], dict[str, Any]]] = []
        plan = f"{folder}/PLAN.md\n"
        answers = {"state write": (0, ""), "hook session-start": (0, f"see {plan}"), "state path": (0, plan), **said}

        def run(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
            self.ran.append((words[4:], options))
            code, out = answers[" ".join(words[4:6])]
            return subprocess.CompletedProcess(words, code, out, " it failed \n")

        monkeypatch.setattr(subprocess, "run", run)

    def opened(self) -> Any:
        return SimpleNamespace(ask=lambda verb, **given: self.asked.append((verb, *given.values())))


def test_a_session_starts_in_a_project_with_a_plan_that_the_answer_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Started(tmp_path, monkeypatch)
    length = len(f"see {tmp_path}/PLAN.md\n")
    said = f"the hook's answer of {length} characters names the project's plan"
    assert verdict(home) == ("kept", said)
    assert (tmp_path / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert home.asked == [("write", "note.md", "a note\n")]
    assert [words for words, _ in home.ran] == [
        ["state", "write", "PLAN.md"],
        ["hook", "session-start"],
        ["state", "path", "PLAN.md"],
    ]
    assert home.ran[0][1]["input"] == "- [ ] the plan of a trial\n"
    assert json.loads(home.ran[1][1]["input"]) == {
        "session_id": "agentm-prove",
        "cwd": str(tmp_path),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    for _, options in home.ran:
        assert (options["timeout"], options["env"], options["cwd"]) == (20.0, home.environ, home.project)
        assert (options["text"], options["capture_output"], options["encoding"]) == (True, True, "utf-8")


@pytest.mark.parametrize(
    ("said", "saw"),
    [
        ({"state write": (3, "")}, "`agentm state write PLAN.md` exited 3: it failed"),
        ({"hook session-start": (4, "")}, "`agentm hook session-start` exited 4: it failed"),
        (
            {"hook session-start": (0, "x" * 300)},
            f"the project has a plan, and the hook did not say so: it said {'x' * 200!r}",
        ),
        ({"state path": (0, "\n")}, "the project has a plan, and the hook did not say so: it said "),
    ],
)
def test_an_answer_that_names_no_plan_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any], saw: str
) -> None:
    state, found = verdict(Started(tmp_path, monkeypatch, **said))
    assert (state, found[: len(saw)]) == ("broken", saw)


def test_a_path_is_known_in_json_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = 'C:\\"é"\\PLAN.md'
    home = Started(tmp_path, monkeypatch, **{"state path": (0, odd), "hook session-start": (0, json.dumps(odd))})
    assert verdict(home)[0] == "kept"
