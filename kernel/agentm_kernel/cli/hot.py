"""The plain spellings of hook-class commands, parsed without click.

Whatever is not plain (help, an unknown or abbreviated option, a missing value) is `None` here: click then parses the
same declaration and says what is wrong.
"""

from __future__ import annotations

from agentm_kernel.cli.declared import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.cli.declared import DeclaredCommand, Parameter

Match = tuple["DeclaredCommand", dict[str, object]]


def match(arguments: list[str]) -> Match | None:
    """The declared command that `arguments` spell plainly, with its values."""
    for command in COMMANDS:
        words = len(command.path)
        if tuple(arguments[:words]) == command.path:
            values = _parse(command, arguments[words:])
            return None if values is None else (command, values)
    return None


def _parse(command: DeclaredCommand, words: list[str]) -> dict[str, object] | None:
    options = {parameter.name: parameter for parameter in command.parameters if parameter.is_option}
    pending = [parameter for parameter in command.parameters if not parameter.is_option]
    values: dict[str, object] = {parameter.key: False if parameter.flag else None for parameter in command.parameters}
    remaining = iter(words)
    for word in remaining:
        if word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            option = options.get(name)
            if option is None or (option.flag and equals):
                return None
            given: object = True if option.flag else value if equals else _plain(next(remaining, None))
        elif pending:
            option, given = pending.pop(0), word
        else:
            return None
        if given is None or not _is_allowed(option, given) or values[option.key] not in (None, False):
            return None
        values[option.key] = given
    missing = pending or [p for p in command.parameters if p.required and values[p.key] is None]
    return None if missing else values


def _plain(word: str | None) -> str | None:
    """A value that stands by itself, unless it looks like an option: then click has to decide."""
    return None if word is None or (word.startswith("-") and word != "-") else word


def _is_allowed(parameter: Parameter, value: object) -> bool:
    return not parameter.choices or value in parameter.choices
