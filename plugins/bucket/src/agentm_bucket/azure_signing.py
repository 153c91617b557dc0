"""The address of one blob that lets its holder delete it, for a while.

The client library signs such addresses too, but over the name as the address spells it (`a%20b`), where Azure wants
it as it is (`a b`): notes with a space or an umlaut in their names could not be deleted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_bucket.place import Place

_VERSION = "2020-12-06"
_FIELDS = 16
"""How many lines a signature of this version is over; those that say nothing here are empty."""


def address(place: Place, path: str, query: str) -> str:
    return f"{place.endpoint}/{place.bucket}/{quote(path)}?{query}"


def deletion_query(place: Place, path: str, account_key: str, period: timedelta) -> str:
    """What the account's key, which stays here, lets the holder of the address do."""
    until = (datetime.now(UTC) + period).strftime("%Y-%m-%dT%H:%M:%SZ")
    protocols = "https,http" if place.is_plain_http else "https"
    lines = [""] * _FIELDS
    lines[0], lines[2], lines[3] = "d", until, f"/blob/{place.account}/{place.bucket}/{path}"
    lines[6], lines[7], lines[8] = protocols, _VERSION, "b"
    signature = hmac.digest(base64.b64decode(account_key), "\n".join(lines).encode(), hashlib.sha256)
    fields = {"sp": "d", "se": until, "spr": protocols, "sv": _VERSION, "sr": "b"}
    return urlencode({**fields, "sig": base64.b64encode(signature).decode()})
