"""Where a bucket is, and how long to wait for it: what the options say, checked."""

from __future__ import annotations

from agentm_bucket.options import OPTIONS
from agentm_kernel.plugin import MAX_CONTENT_BYTES, Frozen, StorageSelectionError, check_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = ("s3", "azure", "gcs")
_SCHEMES = {"s3": "s3", "azure": "az", "gcs": "gs"}

_TEXTS = ("kind", "bucket", "prefix", "endpoint", "region", "account")
_NUMBERS = ("deadline", "attempt", "size_limit")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")
"""What the names of buckets, regions, accounts and hosts are made of, whoever the vendor is."""


class Place(Frozen):
    """One prefix of one bucket. Two places that are equal are one store."""

    __slots__ = ("kind", "bucket", "prefix", "endpoint", "region", "account")
    kind: str
    bucket: str
    prefix: str
    """Without slashes at either end; empty for the whole bucket."""
    endpoint: str
    """Always explicit: the client library would otherwise take it from the environment."""
    region: str
    account: str
    """Azure only."""

    def __init__(
        self, kind: str, bucket: str, prefix: str = "", endpoint: str = "", region: str = "", account: str = ""
    ) -> None:
        _check(kind, bucket, account)
        _check_names(bucket=bucket, region=region, account=account)
        _check_prefix(prefix)
        region = region or ("us-east-1" if kind == "s3" else "")
        endpoint = (endpoint or _usual_endpoint(kind, region, account)).rstrip("/")
        _check_endpoint(endpoint)
        prefix = prefix.strip("/")
        self._set(kind=kind, bucket=bucket, prefix=prefix, endpoint=endpoint, region=region, account=account)

    def __str__(self) -> str:
        where = "/".join(part for part in (self.bucket, self.prefix) if part)
        return f"{_SCHEMES[self.kind]}://{where} at {self.endpoint}"

    @property
    def is_plain_http(self) -> bool:
        return self.endpoint.startswith("http://")

    @property
    def is_loopback(self) -> bool:
        return _host_and_port(self.endpoint)[0] in _LOOPBACK

    @property
    def can_delete_on_condition(self) -> bool:
        """Whether a signed deletion can carry `If-Match`; Google wants its own header inside the signature."""
        return self.kind != "gcs"

    def path(self, key: str) -> str:
        """The name of the object that holds `key`."""
        return f"{self.prefix}/{key}".strip("/")

    def key(self, path: str) -> str:
        """The key of an object's name."""
        return path[len(self.prefix) + 1 :] if self.prefix else path


class Timing(Frozen):
    """How long verbs may take."""

    __slots__ = ("deadline", "attempt")
    deadline: float
    """Seconds for a whole verb, with everything it asks and asks again."""
    attempt: float
    """Seconds for one request; a slower one counts as lost. At most a quarter of the deadline."""

    def __init__(self, deadline: float = 30.0, attempt: float = 8.0) -> None:
        self._set(deadline=deadline, attempt=min(attempt, deadline / 4))


def parse_options(options: Mapping[str, Any]) -> tuple[Place, Timing, int, dict[str, str]]:
    """Place, timing, size limit, and what is left: the names of environment variables with credentials."""
    check_options("bucket", options, OPTIONS)
    rest = dict(options)
    scratch = _text("scratch", rest.pop("scratch", ""))
    texts = {name: _text(name, rest.pop(name)) for name in _TEXTS if name in rest}
    if scratch:
        texts["prefix"] = _scratch_prefix(texts.get("prefix", ""), scratch)
    texts = {name: text for name, text in texts.items() if text or name == "bucket"}  # empty is as good as not set
    numbers = {name: _number(name, rest.pop(name)) for name in _NUMBERS if name in rest}
    may_be_plain = rest.pop("allow_http", False) in (True, "true")
    names = {name: _text(name, value) for name, value in rest.items()}
    place = Place(**{"kind": "s3", "bucket": "", **texts})
    if place.is_plain_http and not (place.is_loopback or may_be_plain):
        raise StorageSelectionError(
            f"{place.endpoint} would carry notes and signatures in the clear",
            hint="use an https endpoint, or run `agentm config set plugins.bucket.allow_http true` if the network "
            "is private",
        )
    size_limit = int(numbers.pop("size_limit", MAX_CONTENT_BYTES))
    return place, Timing(**numbers), size_limit, names


def _scratch_prefix(prefix: str, scratch: str) -> str:
    """Short: what a prefix takes is missing from the 1,024 bytes that object stores have for a name."""
    import hashlib

    return f"{prefix}/agentm-{hashlib.sha256(scratch.encode()).hexdigest()[:12]}"


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise StorageSelectionError(f"plugins.bucket.{name} must be text, not {type(value).__name__}")
    return value


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise StorageSelectionError(f"plugins.bucket.{name} must be a positive number")
    return number


def _check(kind: str, bucket: str, account: str) -> None:
    if kind not in KINDS:
        raise StorageSelectionError(f"plugins.bucket.kind is {ascii(kind)}", hint=f"it is one of {', '.join(KINDS)}")
    if not bucket:
        raise StorageSelectionError("plugins.bucket names no bucket", hint="run `agentm bucket init BUCKET --use`")
    if "/" in bucket:
        raise StorageSelectionError(
            f"{ascii(bucket)} names no bucket: it has a slash",
            hint="a folder in the bucket is its prefix: `agentm bucket init BUCKET --prefix FOLDER`",
        )
    if kind == "azure" and not account:
        raise StorageSelectionError(
            "an Azure container needs the name of its storage account",
            hint="run `agentm bucket init CONTAINER --kind azure --account NAME`",
        )


def _check_names(**given: str) -> None:
    """The client library takes any text here and dies of it, or sends it to another server."""
    for option, name in given.items():
        if not _NAME_SIGNS.issuperset(name) or (name and not name.strip(".")):
            raise StorageSelectionError(
                f"plugins.bucket.{option} is {ascii(name)}, which no {option} is called",
                hint="names have letters, digits, hyphens, dots and underscores",
            )


def _check_prefix(prefix: str) -> None:
    parts = prefix.strip("/").split("/")
    if prefix.strip("/") and not all(part.isprintable() and part not in ("", ".", "..") for part in parts):
        raise StorageSelectionError(
            f"plugins.bucket.prefix is {ascii(prefix)}, which is no folder in a bucket",
            hint="give names with single slashes between them, as in team/notes",
        )


def _check_endpoint(endpoint: str) -> None:
    scheme, _, rest = endpoint.partition("://")
    host, port = _host_and_port(endpoint)
    is_host = host.startswith("[") or (host != "" and _NAME_SIGNS.issuperset(host))
    is_port = port == "" or (port.isascii() and port.isdigit() and int(port) < 65536)
    if "@" in rest:
        raise StorageSelectionError(
            "plugins.bucket.endpoint holds a name or a password, which would stand in files and messages",
            hint="give the address alone; credentials come from the environment",
        )
    if scheme not in ("https", "http") or not (is_host and is_port and rest.isprintable()) or set(rest) & set("?# "):
        raise StorageSelectionError(
            f"plugins.bucket.endpoint is {ascii(endpoint)}, which is not the address of a server",
            hint="give it as in https://s3.example.org or http://127.0.0.1:9000",
        )


def _host_and_port(endpoint: str) -> tuple[str, str]:
    """Of `https://host:port/path`; the host of an IPv6 address with its brackets."""
    address = endpoint.partition("://")[2].partition("/")[0]
    if address.startswith("["):
        host, _, port = address.partition("]")
        return f"{host}]", port.removeprefix(":")
    host, _, port = address.partition(":")
    return host, port


def _usual_endpoint(kind: str, region: str, account: str) -> str:
    if kind == "s3":
        return f"https://s3.{region}.amazonaws.com"
    if kind == "azure":
        return f"https://{account}.blob.core.windows.net"
    return "https://storage.googleapis.com"
