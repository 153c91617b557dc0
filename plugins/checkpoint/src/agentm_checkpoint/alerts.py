"""Where an alert goes: the operator's terminal, `_meta/alerts.md` in the store, and a command of the operator's own.

A process that was opened to read only writes nothing and starts nothing: there, the terminal is all.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import ConfigError, Locator, StorageIOError, hookimpl, layout, update

if TYPE_CHECKING:
    from agentm_kernel.plugin import Alert, HookContext

_HEADING = "# Alerts\n\n"
_COMMAND_SECONDS = 2.0


@hookimpl
def agentm_alert(alert: Alert, context: HookContext) -> None:
    """The line on the terminal comes first: nothing that fails later may keep it back."""
    _show(f"agentm alert: {alert.message}" + (f" ({alert.hint})" if alert.hint else ""))
    if context.store is None:
        return  # what noticed it only reads
    try:
        _log(alert, context)
    finally:
        _run_command(alert, context)


def _show(line: str) -> None:
    """On standard error; where that is not a terminal, as in an agent's hook, on the terminal behind it as well."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
    if sys.stderr.isatty() or os.name == "nt":
        return
    try:
        descriptor = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return  # nobody is at a terminal
    try:
        os.write(descriptor, f"{line}\r\n".encode(errors="replace"))
    except OSError:
        pass  # the terminal went away, or does not take more: standard error has the line
    finally:
        os.close(descriptor)


def _log(alert: Alert, context: HookContext) -> None:
    assert context.store is not None
    when = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())
    entry = f"- {when} {alert.message}\n"
    update(context.store, Locator(layout.ALERTS_KEY), lambda text: (text or _HEADING) + entry)


def _run_command(alert: Alert, context: HookContext) -> None:
    """Start what `plugins.integrity.alert_command` names, without a shell; the text goes in variables."""
    command = context.device.config.options("integrity").get("alert_command")
    if command is None:
        return
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        raise ConfigError(
            "plugins.integrity.alert_command is not a list of a program and its arguments",
            hint="""for example: agentm config set plugins.integrity.alert_command '["/usr/local/bin/notify-me"]'""",
        )
    import subprocess
    import threading

    environ = {
        **context.device.environ,
        "AGENTM_ALERT_SUBJECT": alert.subject,
        "AGENTM_ALERT_MESSAGE": alert.message,
        "AGENTM_ALERT_HINT": alert.hint or "",
    }
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator's own configuration names it
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), env=environ, start_new_session=True
        )
        code = process.wait(_COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        # It goes on by itself: an alert must not hold up the hook that raised it.
        threading.Thread(target=process.wait, daemon=True).start()
        return
    except OSError as error:
        raise StorageIOError(f"the alert command {command[0]!r} cannot be started: {error.strerror}") from error
    if code:
        raise StorageIOError(f"the alert command {command[0]!r} ended with {code}")
