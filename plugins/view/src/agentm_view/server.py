"""The server: the standard library's, on the loopback address, for one person and a few tabs.

The shell of the page and its scripts hold no data and are given to whoever asks. Everything else is below `/api/` and
needs the bearer.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from agentm_kernel.plugin import AgentmError, reason_of
from agentm_view.access import ADDRESS, HEADERS, Access, Refused
from agentm_view.answers import Answers
from agentm_view.doing import status_of

if TYPE_CHECKING:
    from agentm_view.memory import Memory

IDLE = 30 * 60.0
"""Seconds without a request after which the page ends."""
_SLOW = 20.0
"""Seconds that a request may take to arrive."""
_LARGEST = 24 << 20
"""Bytes of a request: the largest note, as JSON."""
_MOST_AT_ONCE = 64
_BEAT = 10.0
STATIC = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "graph.js": "text/javascript",
    "mark.svg": "image/svg+xml",
}


class PageServer(ThreadingHTTPServer):
    """Serves one memory until it is closed, or nobody has asked for `idle` seconds."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(self, memory: Memory, port: int = 0, *, idle: float = IDLE) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.access = Access(self.server_address[1])
        self.answers = Answers(memory)
        self.is_ending = threading.Event()
        self.entered = threading.Event()
        """Set when a page has traded its token."""
        self._idle = idle
        self._asked = time.monotonic()
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def serve(self) -> None:
        """Until `shutdown` is called, or nobody asks any more."""
        self.answers.warm_up()
        try:
            self.serve_forever(poll_interval=0.25)
        finally:
            self.is_ending.set()
            self.server_close()

    def service_actions(self) -> None:
        if time.monotonic() - self._asked > self._idle:
            threading.Thread(target=self.shutdown, daemon=True).start()

    def touch(self) -> None:
        self._asked = time.monotonic()

    # -- connections ------------------------------------------------------------------------------------------

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each connection, up to a limit: whoever opens more is turned away."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is nothing to report."""

    @cached_property
    def shell(self) -> bytes:
        return _static("shell.html")


def _static(name: str) -> bytes:
    return files("agentm_view").joinpath("static", name).read_bytes()


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    timeout = _SLOW
    server_version = "agentm"
    sys_version = ""

    def log_message(self, *_: object) -> None:
        """Nothing: what was asked for names notes, and the terminal may be recorded."""

    # -- methods ----------------------------------------------------------------------------------------------

    def do_GET(self) -> None:
        self._guarded(self._get)

    def do_POST(self) -> None:
        self._guarded(self._post)

    def _guarded(self, work: Any) -> None:
        try:
            self.server.access.check_address(self.headers)
            work()
        except Refused as refused:
            self.close_connection = True  # what else is in the request was not read
            self._json(refused.status, {"error": refused.message})
        except AgentmError as error:
            self._json(status_of(error), {"error": error.message, "hint": error.hint})
        except (TimeoutError, ConnectionError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not look like a page that is gone
            hint = "reload it; if agentm was upgraded meanwhile, end `agentm view` and start it again"
            self._json(500, {"error": f"the page made a mistake: {reason_of(error)}", "hint": hint})

    def _get(self) -> None:
        parts = urlsplit(self.path)
        if parts.path.startswith("/api/"):
            self._check()
            query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=20))
            if parts.path == "/api/changes":
                self._stream(query)
            else:
                status, answer = self.server.answers.get(parts.path.removeprefix("/api/"), query)
                self._json(status, answer)
        elif parts.path.startswith("/static/"):
            name = parts.path.removeprefix("/static/")
            if name not in STATIC:
                raise Refused(404, "there is no such file")
            self._send(200, STATIC[name], _static(name))
        else:
            self._send(200, "text/html", self.server.shell)

    def _post(self) -> None:
        self.server.access.check_origin(self.headers, needed=True)
        path = urlsplit(self.path).path
        if path == "/api/enter":
            given = self._body()
            bearer = self.server.access.enter(str(given.get("token", "")))
            self.server.touch()
            self.server.entered.set()
            self._json(200, {"bearer": bearer})
        elif path == "/api/do":
            self._check()
            given = self._body()
            fields = given.get("fields")
            if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
                raise Refused(400, "the fields of a form are text")
            status, answer = self.server.answers.do(str(given.get("do", "")), fields)
            self._json(status, answer)
        else:
            raise Refused(404, "there is nothing to send here")

    def _check(self) -> None:
        self.server.access.check_origin(self.headers, needed=False)
        self.server.access.check_bearer(self.headers)
        self.server.touch()

    def _body(self) -> dict[str, Any]:
        if self.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
            raise Refused(415, "what is sent here is JSON")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            raise Refused(411, "what is sent here has a length")
        if int(length) > _LARGEST:
            raise Refused(413, "this is more than a note may be")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise Refused(400, "this is not JSON") from None
        if not isinstance(given, dict):
            raise Refused(400, "this is not what the page sends")
        return given

    # -- answers ----------------------------------------------------------------------------------------------

    def _json(self, status: int, answer: object) -> None:
        self._send(status, "application/json", json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, query: dict[str, str]) -> None:
        """A line whenever the store changes, for as long as the tab looks; and one now and then to see whether it
        still does. `fetch` reads it, because it can send the bearer. An open tab that nobody uses does not keep the
        page alive: the page says so itself when a person moves or types.
        """
        self.close_connection = True
        self.send_response(200)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/x-ndjson; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in self.server.answers.changes(
            query.get("note", ""), query.get("news", ""), self.server.is_ending, _BEAT
        ):
            self.wfile.write(json.dumps(line).encode() + b"\n")
