"""Keys from a secret, and codes that prove who wrote something: HKDF and HMAC with SHA-256."""

from __future__ import annotations

import hmac

SECRET_BYTES = 32
MAC_BYTES = 32


def derive(secret: bytes, purpose: str, length: int = 32) -> bytes:
    """HKDF-SHA256 (RFC 5869) of the secret, without a salt, for one purpose."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    made, block, number = b"", b"", 0
    while len(made) < length:
        number += 1
        block = hmac.digest(extracted, block + purpose.encode() + bytes([number]), "sha256")
        made += block
    return made[:length]


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def begun_mac(key: bytes) -> hmac.HMAC:
    """A code of nothing yet: a copy of it goes on with the data, and gives what `mac` would."""
    return hmac.new(key, digestmod="sha256")


def is_same(one: bytes, other: bytes) -> bool:
    """Compared in a time that does not depend on where they differ."""
    return hmac.compare_digest(one, other)
