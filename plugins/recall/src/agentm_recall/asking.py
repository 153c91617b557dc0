"""Asking the operator, and nobody else: on the terminal itself, and by a command that has to agree.

The question goes to the terminal and not to standard input: a program that starts the command cannot answer there
by piping. It can open a terminal of its own, though. What it cannot do is answer for `inbox.confirm`, a command that
asks where the agent cannot reach: another account, a desktop, a phone.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from agentm_kernel.plugin import AuthorizationError, ConfigError, DeclinedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_YES = "yes"
_PATIENCE = 300.0


def ask_operator(described: str, question: str) -> None:
    """Return if the operator types yes; `AuthorizationError` otherwise, and where there is no terminal."""
    with _terminal() as (shown, answer):
        shown.write(f"{described}\n{question} Type {_YES}: ")
        shown.flush()
        if answer.readline().strip().casefold() != _YES:
            raise DeclinedError("not confirmed; nothing was changed")


def ask_command(command: str, described: str) -> None:
    """Run the command that has to agree, with what it is about on its standard input; any exit code but 0 is a no."""
    try:
        words = shlex.split(command)
        done = subprocess.run(words, input=described, text=True, timeout=_PATIENCE, check=False)  # noqa: S603
    except (ValueError, OSError) as error:
        raise ConfigError(
            f"inbox.confirm cannot be run, so nothing was accepted: {error}", hint="`agentm config get inbox.confirm`"
        ) from None
    except subprocess.TimeoutExpired:
        raise AuthorizationError(f"inbox.confirm did not answer in {_PATIENCE:g} s; nothing was accepted") from None
    if done.returncode != 0:
        raise AuthorizationError(f"inbox.confirm did not agree (exit code {done.returncode}); nothing was accepted")


@contextmanager
def _terminal() -> Iterator[tuple[TextIO, TextIO]]:
    """The terminal that the operator sits at, to write to and to read from, or a refusal."""
    out_path, in_path = ("CONOUT$", "CONIN$") if os.name == "nt" else ("/dev/tty", "/dev/tty")
    try:
        shown = open(out_path, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError:
        raise _nobody_to_ask() from None
    with shown, open(in_path, encoding="utf-8", errors="replace") as answer:
        if os.name != "nt" and os.tcgetpgrp(answer.fileno()) != os.getpgrp():
            raise _nobody_to_ask()  # in the background, the question would stop this process for ever
        yield shown, answer


def _nobody_to_ask() -> AuthorizationError:
    return AuthorizationError(
        "proposals are settled only after asking the operator, and there is no terminal to ask on",
        hint="run the command yourself, in a terminal",
    )
