"""The entry of `agentm`: the device, then fast commands without click, and click for the rest."""
# ruff: noqa: E402

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # `python -m` puts the working directory there: nothing of a repository is to be imported

import gc

gc.disable()  # most commands live for milliseconds: what they allocate is gone before collecting it would pay

import io
import os

from agentm_kernel import errors
from agentm_kernel.cli import end_process, exit_code_of, limit, patience, report
from agentm_kernel.cli.command_table import KERNEL_COMMANDS, LIMITED, kernel_subcommands, match
from agentm_kernel.state import Device


def main(only: tuple[str, ...] = ()) -> int:
    """Run the command line; after one of the kernel's own commands leave at once, else return the exit code.

    `only` names the commands that there are, where not all of them are on offer.
    """
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        _open_closed_streams()
    _speak_utf_8()
    os.umask(os.umask(0o077) & 0o077)  # what is made stays its owner's to read and write, whatever the umask is
    arguments = sys.argv[1:]
    if only and arguments[:1] not in ([name] for name in only):
        there = f"there is no such command; there are {', '.join(only)}"
        report(errors.UsageError(there, hint="add --help to one of them"))
        return errors.UsageError.exit_code
    device = Device.now()
    if not LIMITED.isdisjoint((" ".join(arguments[:1]), " ".join(arguments[:2]))):
        limit(" ".join(arguments[:2]), patience(device.environ))
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    code = exit_code_of(lambda: _run(device, arguments), as_json="--json" in options)
    if code and arguments[:1] in (["hook"], ["event"]) and code == errors.UsageError.exit_code:
        code = 1  # agent hosts take 2 for "erase the prompt"
    if _is_of_kernel(arguments):
        # The interpreter's own tidying up costs a seventh of a command, and there is nothing to tidy: output is
        # flushed, the system frees locks, and threads that wait for one are waiting in vain.
        sys.stderr.flush()
        end_process(code)
    return code


def _is_of_kernel(arguments: list[str]) -> bool:
    """Whether a command of the kernel ran: a plugin's may count on what Python does at its end."""
    first, second = (*arguments, "", "")[:2]
    if first not in KERNEL_COMMANDS:
        return first.startswith("-") and not first.startswith("--store")
    own = kernel_subcommands(first)
    return not own or second in own or second[:1] in ("", "-")


def _run(device: Device, arguments: list[str]) -> int:
    """A declared command; a plugin's server, if its name is all that was given; click for everything else."""
    matched = match(arguments)
    if matched is not None:
        command, values = matched
        return command.run(device, values)
    from agentm_kernel.device.installed import SERVERS

    if len(arguments) == 1 and any(record.name == arguments[0] for record in device.plugins.of(SERVERS)):
        from agentm_kernel.plugins.table import load_plugin

        return load_plugin(device, SERVERS, arguments[0])(device) or 0  # type: ignore[operator]
    from agentm_kernel.cli.app import run

    gc.enable()  # click is imported; what follows may take its time, a migration for instance
    return run(device, arguments)


def _open_closed_streams() -> None:
    """An agent host may start us with standard streams closed: no file that is opened next may become one of them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8")  # noqa: SIM115


def _speak_utf_8() -> None:
    """Names of files and output are UTF-8 whatever the locale is: all sessions find a note, and any path is printed.

    How names are spelled is settled when Python starts, so it is started again where the locale spells otherwise.
    """
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - this very command
    for stream, others in (sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace"):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=others)


if __name__ == "__main__":
    sys.exit(main())
