"""How a command ends: every failure as two lines on standard error and an exit code, never as a traceback."""

from __future__ import annotations

import os
import sys

from agentm_kernel.errors import AgentmError, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DEBUG_VARIABLE = "AGENTM_DEBUG"


class UsageError(AgentmError):
    """A command line that cannot be used."""

    exit_code = 2


def report(error: AgentmError) -> None:
    """`error:` and, where there is one, `hint:`; one line each, whatever the text holds."""
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        traceback.print_exception(error)
    code = f" [{error.code}]" if error.code else ""
    sys.stderr.write(f"error: {one_line(error.message)}{code}\n")
    if error.hint:
        sys.stderr.write(f"hint: {one_line(error.hint)}\n")


def _answer_in_json(error: AgentmError) -> None:
    """Whoever asked for JSON gets an object on standard output in any case, and learns there what went wrong."""
    from agentm_kernel.cli.streams import json_text

    answer = json_text(**error.details, error=error.message, code=error.code, hint=error.hint)
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except OSError:  # the lines on standard error have said it
        _give_output_up()


def exit_code_of(work: Callable[[], int], *, as_json: bool = False) -> int:
    """Run `work`, say what went wrong if something did, in JSON too where it was asked for; the exit code."""
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
            report(_unexpected(error))
            return 1
        _give_output_up()
        report(AgentmError(f"the output cannot be written: {error.strerror}"))
        return 1
    except Exception as error:  # noqa: BLE001 - a bug, ours or a plugin's: said in one line, and in full on demand
        report(_unexpected(error))
        return 1
    return code


def _unexpected(error: Exception) -> AgentmError:
    """A bug, told with the module it happened in: a plugin's command may have brought it."""
    module = "agentm"
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__") or module
        trace = trace.tb_next
    found = AgentmError(
        f"something unexpected happened in {module.partition('.')[0]}: {type(error).__name__}: {error}",
        hint=f"run it again with {DEBUG_VARIABLE}=1 to see where, and report it",
    )
    found.__cause__ = error
    return found


def _can_flush() -> bool:
    """Whether standard output takes what is waiting for it: if not, an error was about that and nothing else."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _give_output_up() -> None:
    """Python must not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
