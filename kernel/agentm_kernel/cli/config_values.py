"""Settings as people and scripts see them."""

from __future__ import annotations

_SECRET_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
)
_MASK = "********"


def as_text(value: object) -> str:
    """A text as it is, so that a shell can use it; everything else as JSON."""
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


def masked(key: str, value: object) -> object:
    """`value` without what its key, or a key inside it, calls a secret."""
    if value is not None and _is_secret(key):
        return _MASK
    if isinstance(value, dict):
        return {name: masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [masked("", inner) for inner in value]
    return value


def _is_secret(key: str) -> bool:
    letters = "".join(letter for letter in key.lower() if letter.isalnum())
    return any(word in letters for word in _SECRET_WORDS)
