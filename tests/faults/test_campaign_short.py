"""The fault campaign in seconds: each campaign finds nothing wrong, and catches what is wrong on purpose."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.faults.__main__ import CAMPAIGNS, main, parser
from tests.faults.found import FOUND_SEEDS
from tests.faults.harness import Outcome

REPOSITORY = Path(__file__).resolve().parents[2]
HANGS = 300  # seconds; each takes a few

pytestmark = pytest.mark.timeout(2 * HANGS)


SETTLED = {"lives": ("--seed", "141119")}
"""The ledger of whole lives is a model of the whole product: a new seed may find a gap in it as well as a fault. That
is for `make faults`; here it notices what a change breaks."""


@pytest.mark.parametrize("name", sorted(CAMPAIGNS))
def test_the_store_survives_and_a_broken_one_is_caught(name: str) -> None:
    _check(name, *_run(name, *SETTLED.get(name, ())))


@pytest.mark.parametrize(("name", "seed"), [(name, seed) for name, seeds in FOUND_SEEDS.items() for seed in seeds])
def test_what_a_seed_found_once_is_not_found_again(name: str, seed: int) -> None:
    _check(name, *_run(name, "--seed", str(seed)))


@pytest.mark.parametrize("store", ["harness", "vault"])
def test_what_programs_hold_open_is_kept_in_the_other_stores_of_files_too(store: str) -> None:
    _check("held-files", *_run("held-files", "--store", store))


def test_every_run_takes_a_new_seed_and_prints_it() -> None:
    first, second = (parser().parse_args([]).seed for _ in range(2))
    assert first != second
    command = [sys.executable, "-m", "tests.faults", "one-lock", "--short"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=HANGS)
    assert re.match(r"seed \d+, store device-local\n", done.stdout)


def test_a_campaign_that_breaks_off_has_failed_and_the_others_are_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def campaign(_intensity: object) -> Outcome:
        raise OSError("the server does not answer")

    monkeypatch.setitem(CAMPAIGNS, "broken", "tests.faults.broken_campaign")
    monkeypatch.setitem(sys.modules, "tests.faults.broken_campaign", SimpleNamespace(campaign=campaign))
    assert main(["broken", "pauses", "--short"]) == 1
    out = capsys.readouterr().out
    assert "FAIL  broken" in out
    assert "OSError: the server does not answer" in out
    assert "pass  pauses" in out


def _check(name: str, seed: int, outcome: dict[str, Any]) -> None:
    if not outcome["count"] and outcome["skips"]:
        pytest.skip("; ".join(outcome["skips"]))
    repeat = f"python -m tests.faults {name} --short --seed {seed}"
    assert outcome["violations"] == {}, f"{repeat}: {outcome['examples']}"
    assert outcome["controls"], f"{name} has no negative control"
    assert all(outcome["controls"].values()), f"{repeat}: a broken build was not caught: {outcome['controls']}"
    assert outcome["passed"]


def _run(name: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """In a process of its own: campaigns fork, patch `os` and mount."""
    command = [sys.executable, "-m", "tests.faults", name, "--short", "--json", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    return report["seed"], report["campaigns"][name]


def test_an_unknown_campaign_is_refused_by_name() -> None:
    command = [sys.executable, "-m", "tests.faults", "earthquake"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "earthquake" in done.stderr
