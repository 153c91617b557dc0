"""A network between a clone and its origin that hangs, cuts answers off, or loses them."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit


class BadNetwork:
    """Forwards connections to an origin. `allowance` is how many bytes of each answer get through; `None` for all."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = [self._listener]
        self.allowance: int | None = None
        self.is_silent = False
        """Whether connections are accepted and then nothing ever happens."""
        self.url = parts._replace(netloc=f"127.0.0.1:{self._listener.getsockname()[1]}").geturl()

    def __enter__(self) -> BadNetwork:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for opened in self._sockets:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()
        for thread in self._threads:
            thread.join()

    def _start(self, work, *arguments) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            if self.is_silent:
                continue
            server = socket.create_connection(self._target)
            self._sockets.append(server)
            self._start(self._forward, client, server, None)
            self._start(self._forward, server, client, self.allowance)

    def _forward(self, source: socket.socket, target: socket.socket, allowance: int | None) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if allowance is not None:
                    data, allowance = data[:allowance], allowance - len(data)
                target.sendall(data)
                if allowance is not None and allowance <= 0:
                    break
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
