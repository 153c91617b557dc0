"""What a message tells people to run exists: every command in backquotes, with its subcommands and options."""

from __future__ import annotations

import pytest

from agentm_kernel.cli.app import app
from tests.docs.hints import all_advice, complaint


def test_every_command_that_a_message_names_is_there() -> None:
    wrong = [f"{advice}: {why}" for advice in all_advice() if (why := complaint(advice.command, app))]
    assert wrong == []


def test_there_is_advice_to_look_at() -> None:
    assert len(all_advice()) > 150


@pytest.mark.parametrize(
    "advice", ["agentm nots list", "agentm notes lst", "agentm save --slugg x", "agentm config set|sett a b"]
)
def test_a_command_that_is_not_there_is_noticed(advice: str) -> None:
    assert complaint(advice, app)
