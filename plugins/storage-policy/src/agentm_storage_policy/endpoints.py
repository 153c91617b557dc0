"""The allow-list of endpoints: a policy may name any server, but this device only talks to those it was told of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def is_allowed(endpoint: str, allowed: Sequence[str]) -> bool:
    """Whether the host of `endpoint` is listed: by name, with its port, as a URL, or as one below `*.name`."""
    host = _host(endpoint)
    name = host.rpartition(":")[0] if _has_port(host) else host
    for entry in allowed:
        wanted = _host(entry)
        if wanted in (host, name):
            return True
        if wanted.startswith("*.") and name.endswith(wanted[1:]) and len(name) > len(wanted) - 1:
            return True
    return False


def _host(text: str) -> str:
    return text.lower().partition("://")[2].partition("/")[0] if "://" in text else text.lower().partition("/")[0]


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")
