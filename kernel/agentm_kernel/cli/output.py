"""What commands have in common: whom they work for, and how they print, ask and complete."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentm_kernel.cli import json_text, shown
from agentm_kernel.errors import AgentmError, ConfigError, DeclinedError
from agentm_kernel.state import Device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from click.shell_completion import CompletionItem

Result = TypeVar("Result")

_NARROWEST = 12  # columns of a terminal below which nothing can be read
NAMED_STORE = "agentm_kernel.store"  # under which a command's context keeps the name that was given with `--store`
_SAID = "agentm_kernel.store_said"

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
cwd_option = click.option("--cwd", metavar="DIR", help="Directory of the project; the current one if not given.")


class Answer(dict[str, Any]):
    """What a command has found or done so far, for a program that asks for JSON."""

    def __init__(self, *, is_wanted: bool) -> None:
        super().__init__()
        self.is_wanted = is_wanted

    def tell(self, line: str, **fields: object) -> None:
        """What was done: the fields, and a line for a person."""
        self.update(fields)
        click.echo(line)

    def show(self, headings: Sequence[str], rows: Iterable[Sequence[str]], nothing: str = "") -> None:
        """The same for a person, as a table."""
        if not self.is_wanted:
            echo_table(headings, rows, nothing)


class KernelGroup(click.Group):
    """Commands of the kernel: functions of the device and their `answer`. Those that want a `cwd` have `--cwd`."""

    def answering(self, name: str) -> Callable[[Callable[..., int | None]], click.Command]:
        def declare(function: Callable[..., int | None]) -> click.Command:
            work = functools.wraps(function)(lambda **given: function(current_device(), **given))
            command = json_option(self.command(name)(_answered(work)))
            return cwd_option(command) if "cwd" in function.__annotations__ else command

        return declare


def answering(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command that does something `--json`. The dictionary `answer`, with which it is called, takes what it
    has done so far: a program gets that, also where the command fails halfway. Lines for people, who may be asked
    something about them, go to the terminal then, and nowhere without one.
    """
    return json_option(_answered(command))


def _answered(command: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(command)
    def answered(as_json: bool, **given: Any) -> Result:
        answer = Answer(is_wanted=as_json)
        if not as_json:
            return command(answer=answer, **given)
        try:
            with open(os.devnull, "w", encoding="utf-8", errors="replace") as nowhere:
                lines = sys.stderr if sys.stderr.isatty() else nowhere
                with contextlib.redirect_stdout(lines):
                    result = command(answer=answer, **given)
        except AgentmError as error:
            error.details = {**answer, **error.details}
            raise
        echo_json(**answer)
        return result

    return answered


def current_device() -> Device:
    """The device of the command that runs now: made once by `main()`, so that nothing is looked up twice."""
    context = click.get_current_context(silent=True)
    return (context and context.find_object(Device)) or Device.now()


def store_device(named: str | None = None, cwd: str | None = None) -> Device:
    """The device of a command about one whole store: the store that was named, with `--store` mostly, else the one
    that the project here is bound to, else the default one. Where there are several, it is said which, on standard
    error or in JSON.
    """
    device, context = current_device(), click.get_current_context()
    if _SAID in context.meta:
        return device
    named = named or context.meta.get(NAMED_STORE)
    try:
        stores = ["default", *device.config.stores]
    except ConfigError:
        return device  # opening the store says what is wrong with it
    if named is None and len(stores) == 1:
        return device
    bound = device.bound_store(cwd) if named is None else None
    name = named or bound or "default"
    context.obj, context.meta[_SAID] = device.of_store(name), name
    if sys.stderr.isatty() or not context.params.get("as_json"):
        others = ", ".join(other for other in stores if other != name)
        why = ", of the project here" if bound else ""
        another = "" if named else f"{why}; for another ({others}) put `--store NAME` before the command"
        click.echo(f"store: {name}{another}", err=True)
    return current_device()


def tell_unread(root: str) -> None:
    """Say on standard error where the store that `--store` named is not the one that sessions in a project read."""
    if (named := click.get_current_context().meta.get(NAMED_STORE)) is None:
        return
    read = Device.now(current_device().environ).bound_store(root) or "default"
    if read != named:
        remedy = f"`agentm project use-store {named}` there lets them read this one"
        click.echo(f"sessions in {shown(root, err=True)} read the store '{read}', not '{named}': {remedy}", err=True)


def completing(names: str | Callable[[Device], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """What `shell_complete` of a parameter wants, from the names that a device has; a mapping says what each means.

    A text is an entry-point group, and means the names of the plugins in it. A shell asks in the middle of a line:
    whatever goes wrong, nothing is offered and nothing is said.
    """

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            device = current_device()
            found = [r.name for r in device.plugins.of(names)] if isinstance(names, str) else names(device)
            helps = found if isinstance(found, dict) else dict.fromkeys(found, "")
        except (Exception, SystemExit):  # noqa: BLE001
            return []
        return [CompletionItem(n, help=helps[n] or None) for n in sorted(helps) if n.startswith(incomplete)]

    return complete


def nearest(word: str, known: Iterable[str]) -> str:
    """The name that was meant, perhaps; nothing if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1)), "")


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`, `1,200 notes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def echo_json(**fields: Any) -> None:
    """One JSON object, with the number of its shape first; at its end the store that `store_device` has chosen."""
    context = click.get_current_context(silent=True)
    store = context.meta.get(_SAID) if context else None
    click.echo(json_text(**fields, **({} if store is None else {"store_name": store})), nl=False)


def echo_table(headings: Sequence[str], rows: Iterable[Sequence[str]], nothing: str = "") -> None:
    """Columns as wide as they need to be; where a person looks, with headings, and no wider than the terminal: where
    they cannot be made so narrow, each cell has a line of its own. A person who would see no row sees `nothing`.
    """
    on_terminal = sys.stdout.isatty()
    cells = [tuple(shown(str(cell)) for cell in row) for row in rows]
    titles = tuple(heading.upper() for heading in headings)
    has_titles = on_terminal and bool(cells) and any(titles)
    table = [titles, *cells] if has_titles else cells
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if on_terminal and not _fit(widths) and has_titles:
        for row in cells:
            echo_table(("", ""), zip(titles, row, strict=True))
            click.echo()
        return
    if on_terminal and nothing and not table:
        click.echo(nothing)
    for number, row in enumerate(table):
        sized = [*zip(row, widths, strict=True)]
        columns = [wrapped(cell, width) if len(cell) > width else [cell] for cell, width in sized]
        for parts in zip_longest(*columns, fillvalue=""):  # what is wider than its column goes on in the lines below
            line = "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
            click.echo(styled(line, bold=True) if has_titles and number == 0 else line)


def _fit(widths: list[int]) -> bool:
    """Make the widest columns so narrow that a row fits into the terminal, unless nothing would be left of them."""
    while (excess := sum(widths) + 2 * (len(widths) - 1) - terminal_width()) > 0:
        ordered = sorted(widths)
        least = max(_NARROWEST, ordered[-2] - 1 if len(ordered) > 1 else 0)
        if ordered[-1] <= _NARROWEST:
            return False
        widest = len(widths) - 1 - widths[::-1].index(ordered[-1])
        widths[widest] = max(ordered[-1] - excess, least)
    return True


def terminal_width() -> int:
    """How many columns the terminal has."""
    return shutil.get_terminal_size().columns


def wrapped(text: str, width: int) -> list[str]:
    """`text` in lines of that width, at least one; a word that is longer, a path mostly, is broken."""
    import textwrap

    return textwrap.wrap(text, max(width, _NARROWEST), break_on_hyphens=False) or [""]


def styled(text: str, **style: Any) -> str:
    """`text` in colour or bold, where a person looks at it and has not said otherwise."""
    is_wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if is_wanted else text


def confirm(question: str, *, yes: bool, hint: str = "add --yes to do it without asking") -> None:
    """Ask before something is changed that cannot be had back, unless `--yes` is the answer already."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise AgentmError(f"{question} There is no terminal to ask on", hint=hint)
    try:
        is_confirmed = click.confirm(question, err=True)
    except click.Abort as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise
        click.echo(err=True)  # Ctrl-D: the question still stands on the line
        is_confirmed = False
    if not is_confirmed:
        raise DeclinedError("not confirmed; nothing was changed")
