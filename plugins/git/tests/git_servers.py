"""Real origins for the tests: a bare repository by its path, behind `git daemon`, and behind smart HTTP on loopback.

The bare repository keeps a log of every move of its refs, so a test can tell afterwards whether anybody ever forced a
push. Everything runs without the configuration of the machine, and ends with the block that started it.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bare_git import bare_environment, fsck, git
from smart_http import Gate, SmartServer

BRANCH = "main"
TRANSPORTS = ("file", "daemon", "http")
_START_LIMIT = 30.0
_NOBODY = "0" * 40


# ------------------------------------------------------------------------------------------------ the repository


@dataclass(frozen=True)
class Origin:
    """A bare repository, and the address that clones know it by. Crosses process borders."""

    transport: str
    path: str
    url: str
    token: str | None = field(default=None, repr=False)

    def git(self, *arguments: str, data: bytes | None = None) -> bytes:
        return git(self.path, *arguments, data=data)

    def tip(self, branch: str = BRANCH) -> str:
        return self.git("rev-parse", "--verify", f"refs/heads/{branch}").decode().strip()

    def files(self, revision: str = BRANCH) -> dict[str, bytes]:
        """The files and links of a revision by path."""
        listed = self.git("ls-tree", "-r", "-z", revision).split(b"\0")
        entries = [entry.partition(b"\t") for entry in listed if b" blob " in entry]
        names = [name.decode("utf-8", "surrogateescape") for _, _, name in entries]
        contents = self.contents([facts.split()[2].decode() for facts, _, _ in entries])
        return dict(zip(names, contents, strict=True))

    def lines_ever(self) -> set[bytes]:
        """Every line of every file of every commit that a ref of the origin leads to."""
        listed = self.git("rev-list", "--objects", "--all", "--filter=object:type=blob", "--filter-provided-objects")
        ids = [line.split()[0].decode() for line in listed.splitlines()]
        return {line for content in self.contents(ids) for line in content.splitlines()}

    def contents(self, ids: list[str]) -> list[bytes]:
        said = self.git("cat-file", "--batch", data="".join(f"{name}\n" for name in ids).encode())
        found, at = [], 0
        for _ in ids:
            end = said.index(b"\n", at)
            size = int(said[at:end].split()[2])
            found.append(said[end + 1 : end + 1 + size])
            at = end + 1 + size + 1
        return found

    def forced(self) -> list[str]:
        """The moves of refs that left a commit behind: what only a force push or a deletion does."""
        moves = []
        for ref in self.git("for-each-ref", "--format=%(refname)").decode().split():
            for move in self._moves(ref):
                if not self._is_forward(*move):
                    moves.append(f"{ref}: {move[0]} -> {move[1]}")
        return moves

    def _moves(self, ref: str) -> list[tuple[str, str]]:
        with open(os.path.join(self.path, "logs", ref), encoding="utf-8", errors="replace") as log:
            return [(line.split()[0], line.split()[1]) for line in log]

    def _is_forward(self, old: str, new: str) -> bool:
        if old == _NOBODY:
            return True
        if new == _NOBODY:
            return False
        return not self.git("rev-list", "-n1", old, f"^{new}").strip()

    def complaints(self) -> str:
        """What `git fsck` says about it; empty if all is well."""
        return fsck(self.path)


def make_bare(path: str) -> None:
    """An empty bare repository that remembers every move of its refs and checks what it is sent."""
    os.makedirs(path)
    git(path, "init", "-q", "--bare", f"--initial-branch={BRANCH}")
    for name, value in (
        ("core.logAllRefUpdates", "always"),
        ("transfer.fsckObjects", "true"),
        ("http.receivepack", "true"),
        ("gc.auto", "0"),
        ("receive.autogc", "false"),
    ):
        git(path, "config", name, value)


def fill(origin: Origin, files: dict[str, bytes], message: str = "begin") -> None:
    """Commit files to the origin's branch, as somebody else with a clone of their own."""
    with _elsewhere(origin) as clone:
        for name, content in files.items():
            path = os.path.join(clone, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        git(clone, "add", "-A", "-f")
        git(clone, "commit", "-q", "-m", message)
        git(clone, "push", "-q", "origin", f"HEAD:refs/heads/{BRANCH}")


@contextlib.contextmanager
def _elsewhere(origin: Origin) -> Iterator[str]:
    clone = f"{origin.path}.elsewhere-{os.getpid()}-{threading.get_ident()}"
    git(os.path.dirname(origin.path), "clone", "-q", "--no-hardlinks", origin.path, clone)
    try:
        yield clone
    finally:
        shutil.rmtree(clone)


# ------------------------------------------------------------------------------------------------ the transports


@contextlib.contextmanager
def serving(transport: str, folder: str, *, token: str | None = None, name: str = "notes.git") -> Iterator[Origin]:
    """An empty origin below `folder`, reachable for as long as the block lasts."""
    root = os.path.join(folder, f"served-{transport}")
    path = os.path.join(root, name)
    make_bare(path)
    try:
        with _SERVERS[transport](root, token) as base:
            yield Origin(transport, path, f"{base}/{name}", token)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def _by_path(root: str, token: str | None) -> Iterator[str]:
    yield f"file://{root}"


@contextlib.contextmanager
def _by_daemon(root: str, token: str | None) -> Iterator[str]:
    port = _free_port()
    program = os.path.join(git(root, "--exec-path").decode().strip(), "git-daemon")  # itself, not a child of `git`
    options = ["--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1", "--informative-errors"]
    with open(os.path.join(root, "daemon.log"), "ab") as log:
        process = subprocess.Popen(
            [program, *options, f"--port={port}", f"--base-path={root}", root],
            env=bare_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(port, process)
        yield f"git://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _by_http(root: str, token: str | None) -> Iterator[str]:
    server = SmartServer(root, token)
    server.socket.settimeout(1.0)  # one that was reset meanwhile must not keep `shutdown` waiting for another
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_SERVERS = {"file": _by_path, "daemon": _by_daemon, "http": _by_http}


def _free_port() -> int:
    """A port that nobody listens on, below those that outgoing connections are given."""
    while True:
        port = random.randint(12000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _START_LIMIT
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError("git daemon did not start")


@contextlib.contextmanager
def redirecting(origin: Origin) -> Iterator[tuple[Origin, list[str | None]]]:
    """The origin by an address that redirects to another host, and what that host gets as authorization."""
    root = os.path.dirname(origin.path)
    elsewhere = SmartServer(root, None)
    gate = Gate(f"http://localhost:{elsewhere.server_port}")
    threads = [
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in (elsewhere, gate)
    ]
    for thread in threads:
        thread.start()
    try:
        yield (
            replace(origin, url=f"http://127.0.0.1:{gate.server_port}/{os.path.basename(origin.path)}"),
            elsewhere.given,
        )
    finally:
        for server, thread in zip((elsewhere, gate), threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
