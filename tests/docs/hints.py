"""Commands that messages tell people to run: found in the sources, and held against the commands that there are."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
_QUOTED = re.compile(r"`(agentm [^`]*)`")
UNKNOWN = "\N{BULLET}"
"""Stands for what is filled in when the message is made."""


@dataclass(frozen=True)
class Advice:
    """One command in a message, and where the message is."""

    place: str
    command: str

    def __str__(self) -> str:
        return f"{self.place}: {self.command}"


def all_advice() -> list[Advice]:
    sources = [*ROOT.glob("kernel/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    return [advice for source in sorted(sources) for advice in _advice_in(source)]


def _advice_in(source: Path) -> Iterator[Advice]:
    for node in ast.walk(ast.parse(source.read_text())):
        text = _text_of(node)
        for command in _QUOTED.findall(text):
            yield Advice(f"{source.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", command)


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else UNKNOWN for part in node.values)
        return "".join(str(part) for part in parts)
    return ""


def _stands_for_something(word: str) -> bool:
    """Whether it is an option, or what the reader puts something else for: `NAME`, `$name`, `…`."""
    return word.startswith(("-", "$", UNKNOWN, "…")) or word.isupper()


def complaint(advice: str, app: click.Group) -> str:
    """Why nobody can run `advice`, or nothing. What comes after the options of a command is not looked at."""
    try:
        words = shlex.split(advice)[1:]
    except ValueError:
        return ""  # half of a quoted text, in a message that is put together
    command: click.Command = app
    context = click.Context(app, info_name="agentm", **app.context_settings)  # click keeps the help option
    while words and isinstance(command, click.Group) and not _stands_for_something(words[0]):
        name = words.pop(0)
        if "|" in name:  # `notes list|show`: each of them
            return next(
                filter(None, (complaint(f"{context.command_path} {each}", app) for each in name.split("|"))), ""
            )
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name!r} in {context.command_path!r}"
        command = found
        context = click.Context(command, info_name=name, parent=context)
    known = {
        option for parameter in command.get_params(context) for option in parameter.opts + parameter.secondary_opts
    }
    for word in words:
        option = word.strip("[]").split("=")[0]
        if option.startswith("--") and UNKNOWN not in option and option not in known:
            return f"{context.command_path!r} has no option {option}"
    return ""
