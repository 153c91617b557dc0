"""The work of `make bench ARGS=rivals`, for those that need nothing installed: losses are seen, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rivals.verdict import Verdict
from tests.benchmarks.rivals.works import bulk, fact

ROOT = Path(__file__).resolve().parents[2]


def cell(store: str, work: str, scratch: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.rivals", store, work, "--quick", "--json", "--scratch", scratch],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_memory_that_loses_lines_is_seen_to_lose_them(tmp_path: Path) -> None:
    found = cell("plain-files", "eight-writers", tmp_path)

    assert found["lost"] > 0
    assert found["silent"] >= found["lost"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("work", ["two-writers", "unmounted", "conflict-copy"])
def test_agentm_loses_nothing(tmp_path: Path, work: str) -> None:
    found = cell("agentm-vault", work, tmp_path)

    assert found["silent"] == 0, found


def test_words_say_what_went_wrong() -> None:
    assert Verdict(asked=3).words() == "kept"
    assert Verdict(asked=3, lost=1, refused=2).words() == "**1 of 3 lost**, 2 of 3 refused"
    assert Verdict(asked=3, beside=1).silent == 0
    assert Verdict(asked=3, did="2 kills").words() == "kept (2 kills)"


def test_lines_are_found_whole_or_not_at_all() -> None:
    from tests.benchmarks.rivals.works import _BEGUN, _WHOLE

    text = f"{fact('a')}\n{fact('b')[:20]}\n{bulk(1_000)}"
    assert _WHOLE.findall(text) == ["a", *(f"old-{n}" for n in range(5))]
    assert len(_BEGUN.findall(text)) == 7
