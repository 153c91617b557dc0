"""A network that fails: some requests are refused, some hang, and some are carried out and their reply is lost.

Speaks just enough HTTP/1.1 to see where a request and its answer end. One connection carries one request.
"""

from __future__ import annotations

import random
import socket
import threading
from urllib.parse import urlsplit

_LIMIT = 60.0


class FaultProxy:
    """Forwards to `endpoint`; of `rate` of all requests, a third each is refused, hangs, and loses its reply."""

    def __init__(self, endpoint: str, *, rate: float, hang: float, seed: int = 1) -> None:
        parts = urlsplit(endpoint)
        self._target = (parts.hostname or "", parts.port or 80)
        self._rate, self._hang = rate, hang
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self.faults = {"refused": 0, "hung": 0, "lost": 0}
        self.passed = 0
        self.partitioned = False
        self._closing = threading.Event()
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def close(self) -> None:
        """Wake the thread that waits for a connection, and only then close: its `accept` would outlive the socket,
        and take the connections of whichever other server is given the same descriptor next.
        """
        self._closing.set()
        socket.create_connection(self._listener.getsockname()[:2]).close()
        self._serving.join()
        self._listener.close()

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _fate(self) -> str:
        if self.partitioned:
            return "partition"
        if self._random.random() >= self._rate:
            self.passed += 1
            return "pass"
        fate = self._random.choice(("refused", "hung", "lost"))
        self.faults[fate] += 1
        return fate

    def _handle(self, client: socket.socket) -> None:
        client.settimeout(_LIMIT)
        with client:
            try:
                request = _message(client, is_request=True)
                fate = self._fate() if request else "refused"
                if fate == "partition":
                    return
                if fate == "hung":
                    self._closing.wait(self._hang)
                if fate != "refused":
                    answer = self._forwarded(request)
                    if fate == "pass":
                        client.sendall(answer)
            except OSError:
                return  # the client has given up waiting, or the server is down: both are what this is for

    def _forwarded(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        with socket.create_connection(self._target, timeout=_LIMIT) as server:
            server.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            answer = _message(server, is_request=False)
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


def _message(source: socket.socket, *, is_request: bool) -> bytes:
    """One whole message; an answer ends where its sender closes."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = source.recv(65536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = _content_length(head)
    while (length is None and not is_request) or (length is not None and len(body) < length):
        piece = source.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def _content_length(head: bytes) -> int | None:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return None
