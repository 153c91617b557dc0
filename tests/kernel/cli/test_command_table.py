"""The tiny parser and click read one declaration: where the first one answers, the second answers the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentm_kernel.cli import exit_code_of
from agentm_kernel.cli.app import run as run_click
from agentm_kernel.cli.command_table import COMMANDS, DeclaredCommand, match
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from collections.abc import Iterator

Call = tuple[tuple[str, ...], dict[str, object]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """What click calls, instead of doing it."""
    made: list[Call] = []

    def note(command: DeclaredCommand, device: Device, values: dict[str, object]) -> int:
        made.append((command.path, values))
        return 0

    monkeypatch.setattr(DeclaredCommand, "run", note)
    return made


def by_click(arguments: list[str], calls: list[Call]) -> Call | None:
    calls.clear()
    exit_code_of(lambda: run_click(Device.now(), arguments))
    return calls[0] if calls else None


def by_hand(arguments: list[str]) -> Call | None:
    matched = match(arguments)
    return None if matched is None else (matched[0].path, matched[1])


VALUES = st.sampled_from(["plan", "progress", "foo", "a b", "", "-", "--", "-x", "--cwd", "plain", "codex", "é", "1"])


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A declared command with its own words in any number and order, some of them misspelt."""
    command = draw(st.sampled_from(COMMANDS))
    names = [parameter.name for parameter in command.parameters if parameter.is_option]
    words: list[str] = []
    for kind in draw(st.lists(st.sampled_from(["value", "pair", "equals", "name", "odd"]), max_size=6)):
        name = draw(st.sampled_from(names)) if names else "--none"
        value = draw(VALUES)
        words += {
            "value": [value],
            "pair": [name, value],
            "equals": [f"{name}={value}"],
            "name": [name],
            "odd": [draw(st.sampled_from([name[:-1], name.upper(), f"{name}x", "-h", "--help", "--json=1", "-c"]))],
        }[kind]
    return [*command.path, *words]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=command_lines())
def test_where_the_tiny_parser_answers_click_answers_the_same(arguments, calls, capfd):
    answer = by_hand(arguments)

    assert answer is None or answer == by_click(arguments, calls), arguments
    capfd.readouterr()


def plain_spellings() -> Iterator[list[str]]:
    for command in COMMANDS:
        positional = [p.choices[0] if p.choices else "word" for p in command.parameters if not p.is_option]
        required = [word for p in command.parameters if p.required for word in (p.name, "value")]
        yield [*command.path, *positional, *required]
        for parameter in command.parameters:
            if parameter.is_option and not parameter.required:
                value = parameter.choices[-1] if parameter.choices else "value"
                given_ = [parameter.name] if parameter.flag else [parameter.name, value]
                yield [*command.path, *given_, *positional, *required]
                if not parameter.flag:
                    yield [*command.path, *positional, *required, f"{parameter.name}={value}"]


@pytest.mark.parametrize("arguments", [*plain_spellings()], ids=" ".join)
def test_every_plain_spelling_is_answered_without_click(arguments, calls):
    assert by_hand(arguments) == by_click(arguments, calls) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--version"],
        ["state-path"],
        ["state-path", "elsewhere"],
        ["state-path", "plan", "progress"],
        ["state-path", "plan", "--cwd"],
        ["state-path", "plan", "--cw", "x"],
        ["state-path", "plan", "--help"],
        ["state-path", "plan", "--cwd", "a", "--cwd", "b"],
        ["state-path", "--", "plan"],
        ["offer-save-here", "--kind", "decision"],
        ["hook"],
        ["hook", "nonsense", "--host", "plain"],
        ["config", "get", "key", "--json=yes"],
        ["config", "list"],
    ],
    ids=" ".join,
)
def test_whatever_is_odd_goes_to_click(arguments):
    assert by_hand(arguments) is None


def test_every_declared_command_exists():
    for command in COMMANDS:
        target = command.target
        if isinstance(target, str):
            module, _, name = target.partition(":")
            target = getattr(__import__(f"agentm_kernel.{module}", fromlist=[name]), name)
        assert callable(target), command.target


def test_click_shows_help_for_every_declared_command(capfd):
    for command in COMMANDS:
        assert exit_code_of(lambda: run_click(Device.now(), [*command.path, "--help"])) == 0  # noqa: B023
        shown = capfd.readouterr().out
        assert " ".join(command.help.split()[:5]) in " ".join(shown.split())
        for parameter in command.parameters:
            assert (parameter.name if parameter.is_option else parameter.key.upper()) in shown or parameter.choices


def test_the_environment_does_not_reach_the_parameters(monkeypatch, calls):
    monkeypatch.setitem(os.environ, "AGENTM_STATE_PATH_CWD", "/elsewhere")

    assert by_click(["state-path", "plan"], calls) == (("state-path",), {"which": "plan", "cwd": None, "plan": None})
