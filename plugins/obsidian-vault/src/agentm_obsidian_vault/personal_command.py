"""`agentm personal`: writing to the operator's own notes, which only the operator can allow.

The question goes to the terminal itself and not to standard input: text piped into the command is content, and a
program that starts it cannot answer.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from agentm_kernel.command import answering, current_device, read_text
from agentm_kernel.plugin import (
    ABSENT,
    AuthorizationError,
    DeclinedError,
    Locator,
    PersonalSpace,
    StorageError,
    content_hash,
)
from agentm_obsidian_vault.authorization import Authorization

if TYPE_CHECKING:
    from collections.abc import Iterator

_YES = "yes"
_SHOWN_LINES = 5


@click.group("personal")
def command() -> None:
    """Write to your own notes, beside the store, after asking you."""


@command.command("write")
@click.argument("locator")
@click.option(
    "--body-file", default="-", metavar="FILE", help="File with the text; - (the default) is standard input."
)
@click.option("--if-match", metavar="HASH", help="Only if the note has this sha256 now; `absent` for a new one only.")
@answering
def write(locator: str, body_file: str, if_match: str | None, answer: dict[str, str]) -> None:
    """Write standard input to LOCATOR in the personal space, once you have typed yes; prints the path."""
    place = Locator(locator)
    content = read_text(body_file)
    store = current_device().store(read_only=False)
    space = store.facet(PersonalSpace)
    if space is None:
        raise StorageError(
            f"the selected store, {store.describe()}, has no personal space beside it",
            hint="a vault has one: `agentm config set plugins.vault.personal_root PATH`",
        )
    path = space.personal_path(place)
    authorization = _ask(place, content, path)
    condition = ABSENT if if_match == "absent" else if_match
    space.write_personal(place, content, authorization=authorization, if_match=condition)
    answer.update(path=path, hash=content_hash(content))
    click.echo(path)


def _ask(place: Locator, content: str, path: str) -> Authorization:
    """The operator's permission for this one write; the only place that makes one."""
    with _terminal() as (question, answer):
        question.write(_described(content, path))
        question.write(f"Allow this one write? Type {_YES}: ")
        question.flush()
        if answer.readline().strip().casefold() != _YES:
            raise DeclinedError("not allowed; nothing was written")
    return Authorization(place, content)


def _described(content: str, path: str) -> str:
    lines = content.splitlines()
    shown = [f"  | {_printable(line)}" for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"  | … {len(lines) - _SHOWN_LINES} more lines")
    what = "replaces your note" if os.path.lexists(path) else "makes a new note"
    size = f"{len(content.encode()):,} bytes, sha256 {content_hash(content)[:16]}"
    return "\n".join((f"This {what}: {_printable(path)}", f"with {size}", *shown, ""))


def _printable(text: str) -> str:
    """No control character of a note or a path reaches the terminal on which the operator decides."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.expandtabs(4))


@contextmanager
def _terminal() -> Iterator[tuple[TextIO, TextIO]]:
    """The terminal that the operator sits at, to write to and to read from, or a refusal."""
    out_path, in_path = ("CONOUT$", "CONIN$") if os.name == "nt" else ("/dev/tty", "/dev/tty")
    try:
        question = open(out_path, "w", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError:
        raise _nobody_to_ask() from None
    with question, open(in_path, encoding="utf-8", errors="replace") as answer:
        if os.name != "nt" and os.tcgetpgrp(answer.fileno()) != os.getpgrp():
            raise _nobody_to_ask()  # in the background, the question would stop this process for ever
        yield question, answer


def _nobody_to_ask() -> AuthorizationError:
    return AuthorizationError(
        "the personal space is written to only after asking the operator, and there is no terminal to ask on",
        hint="run the command yourself, in a terminal",
    )
