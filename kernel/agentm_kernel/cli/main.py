"""The entry of `agentm`: hooks first, click for the rest, and every expected failure as two lines on stderr."""

from __future__ import annotations

import gc
import os
import sys

from agentm_kernel.cli.declared import match
from agentm_kernel.errors import AgentmError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


class UsageError(AgentmError):
    """A command line that cannot be used."""

    exit_code = 2


def main(only: tuple[str, ...] = ()) -> int:
    """Run the command line; after one of the kernel's own commands leave at once, else return the exit code.

    `only` names the commands that there are, where not all of them are on offer.
    """
    gc.disable()  # most commands live for milliseconds: what they allocate is gone before collecting it would pay
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _open_closed_streams()
    arguments = sys.argv[1:]
    if only and arguments[:1] not in ([name] for name in only):
        report(UsageError(f"there is no such command; there are {', '.join(only)}", hint="add --help to one of them"))
        return UsageError.exit_code
    matched = match(arguments)
    if matched is not None:
        command, values = matched
        _leave(exit_code_of(lambda: command.run(values), as_json=bool(values.get("json"))))
    code = exit_code_of(lambda: _click(arguments), as_json=_wants_json(arguments))
    if _is_of_kernel(arguments):
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process. The interpreter's own tidying up costs a seventh of a command, and there is nothing to tidy:
    output is flushed, the system frees locks, and threads that wait for one are waiting in vain.
    """
    sys.stderr.flush()
    os._exit(code)


def _is_of_kernel(arguments: list[str]) -> bool:
    """Whether a command of the kernel ran: a plugin's may count on what Python does at its end."""
    from agentm_kernel.cli.names import kernel_commands

    first = arguments[0] if arguments else ""
    return first.startswith("-") or first in kernel_commands()


def exit_code_of(work: Callable[[], int], *, as_json: bool = False) -> int:
    """Run `work`, say what went wrong if something expected did, and return the exit code."""
    try:
        code = work()
        sys.stdout.flush()
    except AgentmError as error:
        report(error)
        if as_json:
            _answer_in_json(error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130
    except BrokenPipeError:
        _give_output_up()  # whoever read our output has gone: nothing is left to say
        return 1
    except OSError as error:
        if _can_flush():
            raise
        _give_output_up()
        report(AgentmError(f"the output cannot be written: {error.strerror}"))
        return 1
    return code


def _can_flush() -> bool:
    """Whether standard output takes what is waiting for it: if not, an error was about that and nothing else."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _click(arguments: list[str]) -> int:
    from agentm_kernel.cli.app import run

    gc.enable()  # click is imported; what follows may take its time, a migration for instance
    return run(arguments)


def _wants_json(arguments: list[str]) -> bool:
    """Whether `--json` is among the options: what follows `--` is not."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _answer_in_json(error: AgentmError) -> None:
    """Whoever asked for JSON gets an object on standard output in any case, and learns there what went wrong."""
    from agentm_kernel.cli.hook_verbs import json_text

    answer = json_text(**error.details, error=error.message, code=error.code, hint=error.hint)
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except OSError:  # the lines on standard error have said it
        _give_output_up()


def report(error: AgentmError) -> None:
    """`error:` and, where there is one, `hint:`; one line each, whatever the text holds."""
    code = f" [{error.code}]" if error.code else ""
    sys.stderr.write(f"error: {one_line(error.message)}{code}\n")
    if error.hint:
        sys.stderr.write(f"hint: {one_line(error.hint)}\n")


def _open_closed_streams() -> None:
    """A host may start us with standard streams closed: the next file that is opened must not become one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115


def _give_output_up() -> None:
    """Python must not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
