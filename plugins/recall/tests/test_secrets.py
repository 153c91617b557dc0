"""Secrets are refused with the line named; ordinary code is not."""

from __future__ import annotations

import time

import pytest
from secret_samples import ORDINARY, planted

from agentm_kernel.plugin import InvalidContentError
from agentm_recall.secret_rules import RULES
from agentm_recall.secret_scan import find_secrets, refuse_secrets

KINDS = list(planted())


def test_there_are_more_than_forty_kinds():
    assert len(KINDS) > 40


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_secret_is_refused_with_its_line(kind, seed):
    secret = planted(seed)[kind]

    with pytest.raises(InvalidContentError, match="line 3") as caught:
        refuse_secrets("the note", f"# Deploying\n\n{secret}\n\nThat is all.\n")

    assert secret not in caught.value.message


@pytest.mark.parametrize("line", [line for line in ORDINARY.splitlines() if line])
def test_ordinary_code_is_not_taken_for_a_secret(line):
    assert find_secrets(line) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_an_example(rule):
    everything = "\n".join(planted(1).values())

    assert rule.pattern.search(everything)


def test_several_secrets_are_counted():
    text = "\n".join(list(planted(1).values())[:3])

    with pytest.raises(InvalidContentError, match="and 2 more"):
        refuse_secrets("the note", text)


@pytest.mark.parametrize(
    "text",
    [
        "a-" * 200_000,
        "token " * 50_000,
        "\n \t" * 100_000,
        "aws:" * 50_000,
        "A " * 200_000,
        "://a:" * 60_000,
        "sk-" * 100_000,
    ],
)
def test_no_text_takes_for_ever(text):
    start = time.monotonic()

    find_secrets(text + " api_key password machine private key")

    assert time.monotonic() - start < 20
