"""The operator is asked before anything is read from them, and only a whole yes is one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import AuthorizationError, ConfigError
from agentm_recall import asking

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminal:
    """Shows what was flushed, and answers only somebody who was shown the question."""

    def __init__(self, answer: str) -> None:
        self._answer, self._written, self.shown = answer, "", ""

    def write(self, text: str) -> None:
        self._written += text

    def flush(self) -> None:
        self.shown, self._written = self.shown + self._written, ""

    def readline(self) -> str:
        assert self.shown == "Two notes.\nGo on? Type yes: "
        return self._answer


@pytest.mark.parametrize(("answer", "is_yes"), [("yes\n", True), (" YES \n", True), ("y\n", False), ("", False)])
def test_the_question_is_shown_before_the_answer_is_read(
    monkeypatch: pytest.MonkeyPatch, answer: str, is_yes: bool
) -> None:
    terminal = Terminal(answer)

    @contextmanager
    def opened() -> Iterator[tuple[Terminal, Terminal]]:
        yield terminal, terminal

    monkeypatch.setattr(asking, "_terminal", opened)
    if is_yes:
        asking.ask_operator("Two notes.", "Go on?")
    else:
        with pytest.raises(AuthorizationError, match="not confirmed; nothing was changed"):
            asking.ask_operator("Two notes.", "Go on?")


def test_a_command_that_does_not_agree_or_cannot_be_asked_is_a_no(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asking.ask_command("cat", "Two notes.")
    assert capfd.readouterr().out == "Two notes."
    with pytest.raises(AuthorizationError, match=r"did not agree \(exit code 3\); nothing was accepted"):
        asking.ask_command("sh -c 'exit 3'", "Two notes.")
    for command in ("/none/such", "'"):
        with pytest.raises(ConfigError, match="nothing was accepted"):
            asking.ask_command(command, "Two notes.")
    monkeypatch.setattr(asking, "_PATIENCE", 0.05)
    with pytest.raises(AuthorizationError, match=r"did not answer in 0\.05 s; nothing was accepted"):
        asking.ask_command("sleep 10", "Two notes.")
