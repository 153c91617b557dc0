"""A client of the RPC API that kubo and js-ipfs speak, as small as the work that it does.

A daemon may be down, silent, slow, full, dying or lying. Each of these ends in a typed error within the deadline: a
clock runs over the whole request, not only over each wait. Nothing that a daemon says is believed here that can be
checked, and only a daemon on this machine is talked to unless the configuration allows more.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import secrets
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from agentm_checkpoint.cids import cid_text, parse_cid
from agentm_kernel.plugin import ConfigError, IntegrityError, InvalidContentError, StorageIOError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentm_checkpoint.cids import Cid

DEFAULT_API = "http://127.0.0.1:5001"
DEFAULT_TIMEOUT = 300.0
"""Seconds for one push or pull."""
CONNECT_SECONDS = 2.0
SILENCE_SECONDS = 30.0
"""How long a daemon may say nothing while it works."""

_LONGEST_ANSWER = 1 << 20
_PIECE = 1 << 16


class Daemon:
    """The daemon at `api`. One instance serves one operation: its clock starts with it."""

    def __init__(
        self,
        api: str = DEFAULT_API,
        *,
        allow_remote: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        address = urlsplit(api)
        try:
            port = address.port or 5001
        except ValueError:
            port = 0
        if address.scheme != "http" or not address.hostname or not port or address.path.strip("/"):
            raise ConfigError(
                f"{ascii(api)} is not the address of an IPFS API", hint=f"it looks like {DEFAULT_API}, without a path"
            )
        self.api = api
        self._host, self._port = address.hostname, port
        self._allow_remote = allow_remote
        self._silence = silence
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout

    # -- what is asked ----------------------------------------------------------------------------------------

    def version(self) -> str:
        """Which daemon it is."""
        answer = self._ask("version", {})
        return str(answer.get("Version", "?")) if isinstance(answer, dict) else "?"

    def import_car(self, pieces: Iterable[bytes], root: Cid) -> None:
        """Send an archive and have its root pinned."""
        answer = self._ask("dag/import", {"pin-roots": "true"}, body=pieces)
        pinned = answer.get("Root") if isinstance(answer, dict) else None
        if not isinstance(pinned, dict) or _linked(pinned.get("Cid")) != root:
            raise self._lied("it did not say that it has the checkpoint")
        if pinned.get("PinErrorMsg"):
            raise self._refused("could not pin the checkpoint", str(pinned["PinErrorMsg"]))

    def put_node(self, block: bytes) -> Cid | None:
        """Store one node; the identifier that the daemon computed for it."""
        fields = {"cid-codec": "dag-cbor", "format": "dag-cbor", "mhtype": "sha2-256", "version": "1"}
        answer = self._ask("block/put", fields, body=[block])
        return _parsed(answer.get("Key")) if isinstance(answer, dict) else None

    def pinned(self) -> set[Cid]:
        """What the daemon keeps for good, as far as it is ours."""
        answer = self._ask("pin/ls", {"type": "recursive"})
        keys = answer.get("Keys") if isinstance(answer, dict) else None
        if not isinstance(keys, dict):
            raise self._lied("it did not list what it has pinned")
        return {cid for cid in map(_parsed, keys) if cid is not None}

    def export_car(self, root: Cid) -> Iterator[bytes]:
        """The archive of everything below `root`, in pieces as they come."""
        with _Exchange(self, "dag/export", {"arg": cid_text(root)}, None) as exchange:
            yield from exchange.pieces()

    # -- asking -----------------------------------------------------------------------------------------------

    def _ask(self, verb: str, fields: dict[str, str], *, body: Iterable[bytes] | None = None) -> Any:
        """The JSON of a short answer; of several, the first."""
        with _Exchange(self, verb, fields, body) as exchange:
            answer = b""
            for piece in exchange.pieces():
                answer += piece
                if len(answer) > _LONGEST_ANSWER:
                    raise self._lied("its answer has no end")
        try:
            return json.loads(answer.split(b"\n", 1)[0])
        except (ValueError, RecursionError):
            raise self._lied("its answer is not JSON") from None

    def remaining(self, *, may_be_silent: bool = False) -> float:
        """Seconds until the daemon has to say something; an error if the time of the operation is over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.failed(
                f"did not finish within {self._timeout:g} s",
                hint="give it longer with `agentm config set plugins.checkpoint.ipfs_timeout SECONDS`; "
                "the local image is not affected",
            )
        return left if may_be_silent else min(left, self._silence)

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(
            self._host, self._port, timeout=min(CONNECT_SECONDS, self.remaining())
        )
        try:
            connection.connect()
        except OSError as error:
            raise self.failed(f"cannot be reached: {error.strerror or error}") from error
        peer = ipaddress.ip_address(connection.sock.getpeername()[0].partition("%")[0])
        if not (peer.is_loopback or self._allow_remote):
            connection.close()
            raise ConfigError(
                f"the IPFS API {self.api} is not on this machine, and whoever reads a checkpoint reads every note",
                hint="if that is meant, run `agentm config set plugins.checkpoint.ipfs_allow_remote true`",
            )
        return connection

    # -- failures ---------------------------------------------------------------------------------------------

    def failed(self, what: str, hint: str = "") -> StorageIOError:
        start = "start it (`ipfs daemon`) or name another with --ipfs URL; the local image is not affected"
        return StorageIOError(f"the IPFS daemon at {self.api} {what}", hint=hint or start)

    def _refused(self, what: str, reason: str) -> StorageIOError:
        shown = "".join(c if c.isprintable() else " " for c in reason)[:200]
        return StorageIOError(
            f"the IPFS daemon at {self.api} {what}: {shown}",
            hint="see its log, and whether its disk has room; the local image is not affected",
        )

    def refused_request(self, status: int, body: bytes) -> StorageIOError:
        try:
            reason = str(json.loads(body)["Message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            reason = body.decode(errors="replace")
        return self._refused(f"refused with status {status}", reason or "no reason given")

    def _lied(self, what: str) -> IntegrityError:
        return IntegrityError(
            f"the IPFS daemon at {self.api} gave an answer that cannot be right: {what}",
            hint="is this the API of an IPFS daemon? the local image is not affected",
        )


class _Exchange:
    """One request and its answer."""

    def __init__(self, daemon: Daemon, verb: str, fields: dict[str, str], body: Iterable[bytes] | None) -> None:
        self._daemon = daemon
        self._target = f"/api/v0/{verb}?{urlencode({**fields, 'cid-base': 'base32'})}"
        self._body = body
        self._is_thinking = verb == "dag/import"  # it pins before it answers, and visits every block for that
        self._connection = daemon.connect()
        self._socket = self._connection.sock  # the connection lets go of it once the answer has begun

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def pieces(self) -> Iterator[bytes]:
        """Send the request; the answer as it comes. What goes wrong with the connection is a `StorageIOError`."""
        try:
            self._send()
            self._socket.settimeout(self._daemon.remaining(may_be_silent=self._is_thinking))
            response = self._connection.getresponse()
            if response.status != 200:
                raise self._daemon.refused_request(response.status, response.read(_PIECE))
            while piece := self._next(response):
                yield piece
        except StorageIOError:
            raise
        except TimeoutError:
            self._daemon.remaining()
            raise self._daemon.failed("does not answer") from None
        except (OSError, http.client.HTTPException) as error:
            raise self._daemon.failed(f"broke off: {type(error).__name__} {error}".rstrip()) from error

    def _next(self, response: http.client.HTTPResponse) -> bytes:
        self._socket.settimeout(self._daemon.remaining(may_be_silent=self._is_thinking))
        return response.read1(_PIECE)

    def _send(self) -> None:
        if self._body is None:
            self._connection.putrequest("POST", self._target)
            self._connection.putheader("Content-Length", "0")
            self._connection.endheaders()
            return
        boundary = secrets.token_hex(16)
        self._connection.putrequest("POST", self._target)
        self._connection.putheader("Content-Type", f"multipart/form-data; boundary={boundary}")
        self._connection.putheader("Transfer-Encoding", "chunked")
        self._connection.endheaders()
        disposition = 'Content-Disposition: form-data; name="file"; filename="blocks"'
        self._send_chunk(f"--{boundary}\r\n{disposition}\r\nContent-Type: application/octet-stream\r\n\r\n".encode())
        for piece in self._body:
            self._send_chunk(piece)
        self._send_chunk(f"\r\n--{boundary}--\r\n".encode())
        self._send_all(b"0\r\n\r\n")

    def _send_chunk(self, piece: bytes) -> None:
        if piece:
            self._send_all(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _send_all(self, data: bytes) -> None:
        """`sendall` with the clock over the whole of it: a daemon that takes a byte a second is not alive."""
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._daemon.remaining())
            try:
                view = view[self._socket.send(view) :]
            except (BrokenPipeError, ConnectionResetError):
                self._raise_early_answer()
                raise

    def _raise_early_answer(self) -> None:
        """A daemon that hangs up in the middle may have said why: that its disk is full, for instance."""
        try:
            self._socket.settimeout(CONNECT_SECONDS)
            response = self._connection.getresponse()
            status, body = response.status, response.read(_PIECE)
        except (OSError, http.client.HTTPException):
            return
        if status != 200:
            raise self._daemon.refused_request(status, body)


def _parsed(text: object) -> Cid | None:
    try:
        return parse_cid(text) if isinstance(text, str) else None
    except InvalidContentError:
        return None


def _linked(value: object) -> Cid | None:
    return _parsed(value.get("/")) if isinstance(value, dict) else None
