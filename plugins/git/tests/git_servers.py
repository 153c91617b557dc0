"""Real origins for the tests: a bare repository by its path, behind `git daemon`, and behind smart HTTP on loopback.

The bare repository keeps a log of every move of its refs, so a test can tell afterwards whether anybody ever forced a
push. Everything runs without the configuration of the machine, and ends with the block that started it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BRANCH = "main"
TRANSPORTS = ("file", "daemon", "http")
_START_LIMIT = 30.0
_NOBODY = "0" * 40


def bare_environment() -> dict[str, str]:
    """What git is started with here: an identity, and nothing of this machine or of the caller."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    person = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _PERSON.items()}
    return {
        **inherited,
        **person,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


_PERSON = {"NAME": "Test", "EMAIL": "test@example.com"}


def git(folder: str, *arguments: str, check: bool = True, data: bytes | None = None) -> bytes:
    """Bare git, for what the plugin must not do itself: play the operator, look behind its back."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=bare_environment(), input=data, capture_output=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


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


def fsck(folder: str) -> str:
    done = subprocess.run(
        ["git", "fsck", "--strict", "--full", "--no-dangling", "--no-progress"],
        cwd=folder,
        env=bare_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode(errors="replace").strip()
    return said if done.returncode or said else ""


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
    server = _SmartServer(root, token)
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


# ------------------------------------------------------------------------------------------------ smart HTTP


class _SmartServer(ThreadingHTTPServer):
    """`git http-backend` for every request; with a token, only for those that carry it."""

    daemon_threads = False  # closing waits for the answers that are under way

    def __init__(self, root: str, token: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _SmartHandler)
        self.root = root
        self.welcome = None if token is None else {f"Bearer {token}", _basic(token)}

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients of these tests are killed in the middle of a sentence; anything else is a fault of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


class _SmartHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _SmartServer
    timeout = 30

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Tests read no log of it."""

    def _answer(self) -> None:
        body = self._body()
        welcome = self.server.welcome
        if welcome is not None and self.headers.get("Authorization") not in welcome:
            self._send(401, [("WWW-Authenticate", 'Basic realm="notes"')], b"a token is needed\n")
            return
        done = subprocess.run(
            ["git", "http-backend"], env=self._gateway(len(body)), input=body, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.partition(b":") for line in head.split(b"\r\n") if line]
        headers = [(name.decode().strip(), value.decode().strip()) for name, _, value in fields]
        status = next((int(value.split()[0]) for name, value in headers if name.lower() == "status"), 200)
        self._send(status, [pair for pair in headers if pair[0].lower() != "status"], content)

    def _gateway(self, length: int) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        return {
            **bare_environment(),
            "GIT_PROJECT_ROOT": self.server.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "REMOTE_USER": "test",
        }

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
