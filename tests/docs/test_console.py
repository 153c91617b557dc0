"""Every console session in README and docs is run, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.console import matches, run, steps_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
PAGES_WITH_SESSIONS = [page for page in PAGES if steps_of(page.read_text())]

pytestmark = pytest.mark.timeout(300)  # some pages have dozens of commands


@pytest.mark.parametrize("page", PAGES_WITH_SESSIONS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_tells_what_happens(page: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    steps = steps_of(page.read_text())
    results = run(steps, home)
    assert len(results) == len(steps), f"the shell stopped after: {steps[len(results)].command}"
    for step, (code, output) in zip(steps, results, strict=True):
        assert matches(step.expected, output), (
            f"$ {step.command}\n{output}\n--- but the page says ---\n{step.expected}"
        )
        assert step.may_fail == (code != 0), f"$ {step.command}\nended with {code}:\n{output}"


def test_a_session_that_lies_is_caught(tmp_path: Path) -> None:
    steps = steps_of("```console\n$ echo one\ntwo\n```\n")
    [(code, output)] = run(steps, tmp_path)
    assert code == 0
    assert not matches(steps[0].expected, output)


def test_dots_after_a_sentence_stand_for_lines_alone() -> None:
    assert matches("One.\n...\nTwo.\n...\n", "One.\nand\nTwo.\nend")
    assert not matches("One.\n...\n", "One\nend.")
    assert matches("...\nOne\n", "One")


def test_the_exit_code_of_a_step_is_its_own(tmp_path: Path) -> None:
    steps = steps_of("```console\n$ (exit 3)\n$ true\n```\n")
    assert [code for code, _ in run(steps, tmp_path)] == [3, 0]
