"""Smart HTTP on loopback: `git http-backend` behind the standard library's server, and a gate that redirects."""

from __future__ import annotations

import base64
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bare_git import bare_environment


class SmartServer(ThreadingHTTPServer):
    """`git http-backend` for every request; with a token, only for those that carry it."""

    daemon_threads = False  # closing waits for the answers that are under way

    def __init__(self, root: str, token: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _SmartHandler)
        self.root = root
        self.welcome = None if token is None else {f"Bearer {token}", _basic(token)}
        self.given: list[str | None] = []
        """What each request gave as its authorization."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients of these tests are killed in the middle of a sentence; anything else is a fault of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


class _SmartHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SmartServer
    timeout = 30

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Tests read no log of it."""

    def _answer(self) -> None:
        body = self._body()
        self.server.given.append(self.headers.get("Authorization"))
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


class Gate(ThreadingHTTPServer):
    """Sends everybody on to another host."""

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _GateHandler)
        self.target = target


class _GateHandler(BaseHTTPRequestHandler):
    server: Gate

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.server.target + self.path)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Tests read no log of it."""
