"""The rules against a list that was written after they were frozen. The goal: 95 of 100 found, 1 of 300 false."""

from __future__ import annotations

from pathlib import Path

from tests.kernel.seam.held_out_secrets import SECRETS
from tests.kernel.seam.held_out_secrets_2 import SECRETS as SECOND

from agentm_kernel.seam.secrets import find_secrets

ORDINARY = Path(__file__).with_name("held_out_ordinary.txt").read_text(encoding="utf-8").splitlines()
ORDINARY_2 = Path(__file__).with_name("held_out_ordinary_2.txt").read_text(encoding="utf-8").splitlines()


def test_of_150_kinds_at_least_95_in_100_are_found():
    missed = [kind for kind, line in SECRETS.items() if not find_secrets(line)]

    assert len(SECRETS) == 150
    assert len(missed) <= len(SECRETS) * 0.05, missed


def test_of_300_ordinary_lines_at_most_one_is_refused():
    refused = [line for line in ORDINARY if find_secrets(line)]

    assert len(ORDINARY) == 300
    assert len(refused) <= 1, refused


def test_of_the_second_list_at_least_95_in_100_are_found():
    """Written later by somebody who did not know the rules: 45 of its 60 kinds were found the first time."""
    missed = [kind for kind, line in SECOND.items() if not find_secrets(line)]

    assert len(SECOND) == 60
    assert len(missed) <= len(SECOND) * 0.05, missed


def test_of_100_more_ordinary_lines_none_is_refused():
    assert len(ORDINARY_2) == 100
    assert [line for line in ORDINARY_2 if find_secrets(line)] == []
