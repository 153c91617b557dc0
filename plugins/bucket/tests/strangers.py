"""Servers that are no bucket: one that sends whoever asks elsewhere, one without ETags, one nobody signed for."""

from __future__ import annotations

import datetime as dt
import http.server
import ssl
import subprocess
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers everything with one text; keeps what it was asked for."""

    protocol_version = "HTTP/1.1"
    text = b"the words of a stranger\n"
    asked: list[str]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.text)))
        self.send_header("ETag", '"stranger"')
        self.send_header("Last-Modified", dt.datetime.now(dt.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(self.text)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        return None


class Redirector(Stranger):
    """Sends everybody to `target`."""

    target = ""
    status = 307

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append(self.path)
        self.send_response(self.status)
        self.send_header("Location", self.target + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET


class WithoutEtags(Stranger):
    """Takes what it is given and never says which version that is. It has nothing."""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def listening(
    kind: type[Stranger], folder: Path | None = None, **attributes: object
) -> Iterator[tuple[int, list[str]]]:
    """The port of such a server, and what it was asked for; with a `folder`, behind a certificate of its own."""
    asked: list[str] = []
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Handler", (kind,), {"asked": asked, **attributes})
    )
    if folder is not None:
        server.socket = _certified(folder).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()


def _certified(folder: Path) -> ssl.SSLContext:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    words += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
