"""The entry of `agentm`: hooks first, click for the rest, and every expected failure as two lines on stderr."""

from __future__ import annotations

import sys

from agentm_kernel.errors import AgentmError


def main() -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:]
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except AgentmError as error:
        report(error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130
    except BrokenPipeError:
        return _after_broken_pipe()
    return code


def _run(arguments: list[str]) -> int:
    from agentm_kernel.cli import hot

    matched = hot.match(arguments)
    if matched is not None:
        command, values = matched
        return command.run(values)
    from agentm_kernel.cli.app import run

    return run(arguments)


def report(error: AgentmError) -> None:
    """`error:` and, where there is one, `hint:`; one line each, whatever the text holds."""
    sys.stderr.write(f"error: {_one_line(error.message)}\n")
    if error.hint:
        sys.stderr.write(f"hint: {_one_line(error.hint)}\n")


def _one_line(text: str) -> str:
    """Names in messages come from outside: no line break or terminal control may reach the screen."""
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


def _after_broken_pipe() -> int:
    """Whoever read our output has gone: nothing is left to say, and Python must not try again at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


if __name__ == "__main__":
    sys.exit(main())
