"""Credentials that stand in a document as they are: found by the names of keys and by the shapes of known tokens.

A policy is reviewed, committed and shared, so it may name secrets and never hold one. What was found is described and
never repeated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_storage_policy.reading.yaml_text import Path

_NAMES = (
    "accesskey",
    "accesskeyid",
    "accountkey",
    "apikey",
    "clientsecret",
    "connectionstring",
    "credential",
    "credentials",
    "encryptionkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretaccesskey",
    "secretkey",
    "sharedkey",
    "signingkey",
    "token",
)
"""A key whose name, without case and separators, ends in one of these."""

# Every repetition that something has to follow is bounded, or a long text could make the search take for ever.
_SHAPES = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "a Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "an API key": r"\b(?:sk|rk|pk)[-_](?:live|test|ant|proj)[-_A-Za-z0-9]{16,}",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{8,300}\.eyJ[A-Za-z0-9_-]{8}",
    "a private key": r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    "an Azure account key": r"\bAccountKey=[A-Za-z0-9+/=]{20,}",
    "a shared access signature": r"[?&;]sig=[A-Za-z0-9%+/=]{16,}",
    "a user and password in a URL": r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/@:'\"]{1,200}:[^\s/@'\"]{1,200}@",
}
_SHAPE = re.compile("|".join(f"(?P<s{number}>{shape})" for number, shape in enumerate(_SHAPES.values())))
_WORDS = list(_SHAPES)
_AWS_SECRET = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9/+]{40}")


def token_shapes(text: str) -> Iterator[tuple[int, str]]:
    """Where a known kind of token begins, and which kind: comments and prose of a document count too."""
    for match in _SHAPE.finditer(text):
        yield match.start(), _WORDS[int((match.lastgroup or "s0")[1:])]


def credentials_in(value: object, path: Path = (), *, by_shape: bool = True) -> Iterator[tuple[Path, str]]:
    """The paths of fields that hold a credential, each with the reason.

    `by_shape` is for values that never were a text: in one, `token_shapes` finds more.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and _is_telling(key) and _holds_something(inner):
                yield (*path, key), "a field of this name would hold a credential"
            else:
                yield from credentials_in(inner, (*path, key), by_shape=by_shape)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from credentials_in(inner, (*path, number), by_shape=by_shape)
    elif isinstance(value, str) and (
        _AWS_SECRET.fullmatch(value.strip()) or (by_shape and next(token_shapes(value), None))
    ):
        yield path, "this looks like a credential"


def _is_telling(key: str) -> bool:
    return re.sub(r"[^a-z0-9]", "", key.lower()).endswith(_NAMES)


def _holds_something(value: object) -> bool:
    return value not in (None, "", [], {}) and not isinstance(value, bool)
