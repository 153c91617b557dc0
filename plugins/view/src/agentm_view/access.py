"""Who may ask: one address, one origin, one token that is traded once for the right to ask.

Other programs and other users of this machine reach the port too, and pages of other sites reach it through the
browser. `docs/explanation/page-security.md` says what each of them could try, and which line here stops it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

ADDRESS = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer. Nothing inline runs, nothing is fetched from elsewhere, nobody may frame it or keep it."""

_MOST_BEARERS = 50


class Refused(Exception):
    """A request that is not answered; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Access:
    """The tokens and bearers of one server. Only their hashes are kept.

    Requests are answered at the same time, so each step below is one operation of a set or a deque.
    """

    def __init__(self, port: int) -> None:
        self._host = f"{ADDRESS}:{port}"
        self.origin = f"http://{self._host}"
        self._tokens: set[bytes] = set()
        self._bearers: deque[bytes] = deque(maxlen=_MOST_BEARERS)

    def new_address(self) -> str:
        """An address that opens the page once. The token is in the fragment, which no browser sends anywhere."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(_hash(token))
        return f"{self.origin}/#token={token}"

    def enter(self, token: str) -> str:
        """Trade a token for a bearer. It is worth nothing afterwards."""
        try:
            self._tokens.remove(_hash(token))
        except KeyError:
            raise Refused(403, "this address was used already, or belongs to a page that has ended") from None
        bearer = secrets.token_urlsafe(32)
        self._bearers.append(_hash(bearer))
        return bearer

    # -- requests ---------------------------------------------------------------------------------------------

    def check_address(self, headers: Message) -> None:
        """The name by which this server was asked. A name that somebody's DNS leads here is not ours."""
        if headers.get_all("Host", []) != [self._host]:
            raise Refused(421, "this page answers to its own address only")

    def check_origin(self, headers: Message, *, needed: bool) -> None:
        """Which page asks. Browsers say so, and no page can say otherwise."""
        origins = headers.get_all("Origin", [])
        if origins != [self.origin] and (origins or needed):
            raise Refused(403, "another page may not ask here")
        if headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise Refused(403, "another page may not ask here")

    def check_bearer(self, headers: Message) -> None:
        kind, _, bearer = headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or _hash(bearer) not in self._bearers:
            raise Refused(401, "this tab has no key to the page, or one of a page that has ended")


def _hash(secret: str) -> bytes:
    """What is looked up is a hash, so how long looking takes says nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
