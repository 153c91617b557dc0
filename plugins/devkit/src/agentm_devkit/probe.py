"""Whether installed plugins can be loaded, found out in processes of their own.

A plugin that hangs, crashes the interpreter, or leaves threads and handlers behind does so in a child
(`python -m agentm_devkit.probe`) that is given a few seconds and then stopped. The child's answer travels on a
descriptor that the plugin does not know: whatever it prints is noise beside the answer, and reported as such.

The kernel asks `verify`, by the entry point `plugins` in the group `agentm.verifiers`, for `plugins list --verify`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, TYPE_CHECKING, Any

from agentm_kernel.plugin import (
    BACKENDS,
    Capabilities,
    HookCaller,
    HookContext,
    PluginError,
    PluginRecord,
    load,
    load_backend,
    unusable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import StorageBackend

TIME_LIMIT = 5.0
_AT_ONCE = 4
_NOISE_SHOWN = 80


@dataclass(frozen=True)
class ProbeResult:
    """What came of loading one plugin."""

    record: PluginRecord
    state: str
    """`ok`, `broken` or `timeout`."""
    reason: str | None = None
    """Why it is not ok; of one that is, what is still to be said about it."""
    capabilities: tuple[str, ...] | None = None
    """What a backend declares; `None` if only an open store could tell, and for other kinds of plugin."""


def verify(records: Sequence[PluginRecord]) -> dict[PluginRecord, dict[str, Any]]:
    """What came of loading each plugin: its `state`, a `reason`, and the `capabilities` that a backend declares."""
    return {
        result.record: {
            "state": result.state,
            "reason": result.reason,
            "capabilities": None if result.capabilities is None else list(result.capabilities),
        }
        for result in probe(records)
    }


def probe(records: Sequence[PluginRecord], *, limit: float = TIME_LIMIT) -> list[ProbeResult]:
    """Load each plugin in a process of its own, a few at a time, none for longer than `limit` seconds."""
    with ThreadPoolExecutor(_AT_ONCE) as workers:
        try:
            return list(workers.map(lambda record: _probe(record, limit), records))
        finally:
            workers.shutdown(cancel_futures=True)


def _probe(record: PluginRecord, limit: float) -> ProbeResult:
    request = json.dumps({"path": sys.path, "record": {name: getattr(record, name) for name in record.__slots__}})
    started = time.monotonic()
    with (
        TemporaryFile() as noise,
        subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
            [sys.executable, "-P", "-m", "agentm_devkit.probe", request],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=noise,
            start_new_session=True,  # so that what the plugin starts can be stopped with it
        ) as child,
    ):
        answer = _read_until(child, limit)
        code = child.wait()
        if not answer and time.monotonic() - started >= limit:
            return ProbeResult(record, "timeout", f"the {record} was stopped: it was not loaded after {limit:g} s")
        return _understand(record, answer, code, _first_line(noise))


def _read_until(child: subprocess.Popen[bytes], limit: float) -> bytes:
    """What the child writes before it ends or the time is up. Nothing of it runs afterwards."""
    assert child.stdout is not None
    deadline = Timer(limit, _stop, [child])
    deadline.start()
    try:
        return child.stdout.read()
    finally:
        deadline.cancel()
        deadline.join()
        _stop(child)


def _stop(child: subprocess.Popen[bytes]) -> None:
    """End the child, and what it left running in the session that was opened for it.

    Only before it is waited for: until then its number cannot have become another process's.
    """
    if not hasattr(os, "killpg"):
        child.kill()
        return
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # all of it has ended already


def _understand(record: PluginRecord, answer: bytes, code: int, noise: str) -> ProbeResult:
    try:
        fields = json.loads(answer)
    except ValueError:
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        said = f"; it said: {noise}" if noise else ""
        return ProbeResult(record, "broken", f"the {record} ended the process that loaded it ({how}){said}")
    reason = fields["reason"]
    if reason is None and noise:
        reason = f"the {record} writes to the terminal while it is loaded: {noise}"
    names = fields["capabilities"]
    return ProbeResult(record, fields["state"], reason, None if names is None else tuple(names))


def _first_line(noise: IO[bytes]) -> str:
    noise.seek(0)
    lines = noise.read(4096).decode("utf-8", "replace").strip().splitlines()
    return lines[0][:_NOISE_SHOWN] if lines else ""


# ------------------------------------------------------------------------------------------------ in the child


def _answer() -> None:
    ours = os.dup(1)
    os.dup2(2, 1)
    request = json.loads(sys.argv.pop())
    sys.path[:] = request["path"]
    fields = request["record"]
    record = PluginRecord(**{**fields, "api": tuple(fields["api"])})
    answer: dict[str, object] = {"state": "ok", "reason": None, "capabilities": None}
    try:
        answer["capabilities"] = _examine(record)
    except PluginError as error:
        answer.update(state="broken", reason=error.message)
    os.write(ours, json.dumps(answer).encode())
    sys.stderr.flush()
    os._exit(0)  # threads and exit handlers of the plugin have no say in how long this takes


def _examine(record: PluginRecord) -> list[str] | None:
    """Load the plugin as its group demands; the capabilities that a backend declares."""
    if record.group == BACKENDS:
        return _declared_capabilities(record, load_backend(record))
    if record.group.startswith("agentm.plugins"):
        caller = HookCaller(_no_context(), records=[record], patience=TIME_LIMIT)
        caller.load_all()
        for failure in caller.failures:
            raise PluginError(failure.message)
        return None
    found = load(record)
    if record.group == "agentm.commands":
        import click

        if not isinstance(found, click.Command):
            raise unusable(record, f"is not a click command: {record.value} is of type {type(found).__name__}")
    return None


def _no_context() -> HookContext:
    """Nothing is called, so nothing is asked of it."""
    return HookContext(None, os.getcwd())  # type: ignore[arg-type]


def _declared_capabilities(record: PluginRecord, backend: type[StorageBackend]) -> list[str] | None:
    """The capabilities of an instance that was never initialised: most backends promise the same of every store."""
    try:
        capabilities: object = object.__new__(backend).capabilities
    except Exception:  # noqa: BLE001 - it needs an open store to tell
        return None
    if not isinstance(capabilities, Capabilities):
        raise unusable(
            record, f"does not keep the contract: its capabilities are of type {type(capabilities).__name__}"
        )
    return [name for name in Capabilities.__slots__ if getattr(capabilities, name)]


if __name__ == "__main__":
    _answer()
