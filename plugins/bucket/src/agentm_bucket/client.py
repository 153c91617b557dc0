"""The requests that the verbs are made of. What only reads is asked again until the deadline; what writes is sent
once, because only the verb can tell whether sending it again is safe.
"""

from __future__ import annotations

import http.client
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore import exceptions

from agentm_bucket.failures import NOWHERE, Failure, RequestFailed, answered, failed
from agentm_bucket.history import FIELD, History
from agentm_bucket.waiting import Deadline, within
from agentm_kernel.plugin import StorageSelectionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from obstore import Attributes, ListResult, ObjectMeta, UpdateVersion
    from obstore.store import AzureStore, GCSStore, S3Store

    from agentm_bucket.credentials import Credentials
    from agentm_bucket.place import Place, Timing

T = TypeVar("T")

_FAILURES = (exceptions.BaseError, OSError)  # the library raises FileNotFoundError and PermissionError as well
_GOOGLE_TOKENS = "oauth2.googleapis.com"
_PAGE = 1000
_REMEMBERED = 512
_SIGNED_FOR = timedelta(minutes=15)
"""As far as clocks may be apart: a server whose clock is ahead takes a shorter one for expired."""


class Version(NamedTuple):
    """Which bytes are meant, as the server names them, and the writes that led to them."""

    etag: str | None
    generation: str | None
    history: History

    @property
    def condition(self) -> UpdateVersion:
        """For a conditional PUT. The library takes no `None` for a field."""
        fields = {"e_tag": self.etag, "version": self.generation}
        return {name: value for name, value in fields.items() if value}  # type: ignore[return-value]


class Entry(NamedTuple):
    """What a listing or a HEAD says about an object."""

    path: str
    size: int
    mtime: float
    token: str


class Folder(NamedTuple):
    """One level of a listing."""

    files: tuple[Entry, ...]
    folders: tuple[str, ...]
    """Their paths."""


class Client:
    """One bucket."""

    def __init__(self, place: Place, credentials: Credentials, timing: Timing) -> None:
        self.place = place
        self.timing = timing
        self._credentials = credentials
        try:
            self._store = _open(place, credentials, timing)
        except exceptions.BaseError:  # what the library says of a key may hold parts of it
            raise StorageSelectionError(
                f"the client library does not accept the credentials for {place}", hint=credentials.advice
            ) from None
        self._short: set[str] = set()
        """Folders that were one page long."""

    def deadline(self) -> Deadline:
        return Deadline(self.timing)

    # -- what only reads ------------------------------------------------------------------------------------

    def get(self, path: str, deadline: Deadline, *, limit: int) -> tuple[Entry, Version, bytes | None]:
        """The object; `None` for the bytes of one that is larger than `limit`."""

        def attempt() -> tuple[Entry, Version, bytes | None]:
            found = obstore.get(self._store, path)
            data = bytes(found.bytes()) if found.meta["size"] <= limit else None
            return _entry(found.meta), _version(found.meta, found.attributes), data

        return self._repeat(attempt, deadline)

    def head(self, path: str, deadline: Deadline) -> tuple[Entry, Version]:
        """Everything about the object but its bytes."""

        def attempt() -> tuple[Entry, Version]:
            found = obstore.get(self._store, path, options={"head": True})
            return _entry(found.meta), _version(found.meta, found.attributes)

        return self._repeat(attempt, deadline)

    def head_once(self, path: str) -> Entry:
        """`head`, without asking again."""
        return self._once(lambda: _entry(obstore.head(self._store, path)))

    def folder(self, path: str, deadline: Deadline) -> Folder:
        """What lies immediately below `path`. The library asks for all its pages in one go, so the clock is ours,
        unless there was only one page when this folder was last listed.

        A server that keeps folders lists one that has become empty as if it lay in itself: that is left out.
        """

        def ask() -> ListResult[Sequence[ObjectMeta]]:
            return obstore.list_with_delimiter(self._store, path or None)

        def attempt() -> Folder:
            found = ask() if path in self._short else within(deadline.left, ask)
            self._remember_length(path, len(found["objects"]) + len(found["common_prefixes"]))
            files = tuple(_entry(meta) for meta in found["objects"] if meta["path"] != path)
            return Folder(files, tuple(found["common_prefixes"]))

        return self._repeat(attempt, deadline)

    def below(self, path: str, deadline: Deadline) -> list[Entry]:
        """Everything below `path`, page by page."""

        def attempt() -> list[Entry]:
            found: list[Entry] = []
            for page in obstore.list(self._store, path or None, chunk_size=_PAGE):
                deadline.check()
                found += (_entry(meta) for meta in page if meta["path"] != path)
            return found

        return self._repeat(attempt, deadline)

    def holds_anything(self, path: str, deadline: Deadline) -> bool:
        """Whether anything lies below `path`: the first page tells."""
        return self._repeat(
            lambda: any(page for page in obstore.list(self._store, path or None, chunk_size=1)), deadline
        )

    # -- what writes: one request each ------------------------------------------------------------------------

    def put(self, path: str, data: bytes, base: Version | None, history: History, deadline: Deadline) -> Version:
        """Store `data` where `base` is, or where nothing is for `None`. Every PUT of ours is conditional: a late one
        that the network kept for a while can then never undo what came after it.
        """
        deadline.check()
        mode: Any = "create" if base is None else base.condition
        attributes: dict[str, str] = {"Content-Type": "text/markdown; charset=utf-8", FIELD: str(history)}
        done = self._once(
            lambda: obstore.put(self._store, path, data, mode=mode, attributes=attributes, use_multipart=False)
        )
        return Version(done["e_tag"], done["version"], history)

    def delete(self, path: str, deadline: Deadline) -> None:
        deadline.check()
        self._once(lambda: obstore.delete(self._store, path))

    def delete_on_condition(self, path: str, version: Version, deadline: Deadline) -> None:
        """Delete exactly these bytes. The library has no conditional deletion, so we send one ourselves."""
        deadline.check()
        url = self._once(lambda: self._deletion_address(path))
        headers, seconds = {"If-Match": version.etag or ""}, self.timing.attempt
        status = within(seconds, lambda: _send_delete(url, headers, seconds))
        if status not in {200, 202, 204}:
            raise answered(status)

    def _deletion_address(self, path: str) -> str:
        if self.place.kind != "azure":
            return obstore.sign(self._store, "DELETE", path, _SIGNED_FOR)
        from agentm_bucket.azure_signing import address, deletion_query

        given = self._credentials.azure()
        query = given.get("sas_token") or deletion_query(self.place, path, given["access_key"], _SIGNED_FOR)
        return address(self.place, path, query)

    def _remember_length(self, path: str, length: int) -> None:
        if length >= _PAGE or len(self._short) >= _REMEMBERED:
            self._short.clear()
        if length < _PAGE:
            self._short.add(path)

    # -- attempts ---------------------------------------------------------------------------------------------

    def _once(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except _FAILURES as error:
            raise self._credentials.problem or failed(error) from None

    def _repeat(self, action: Callable[[], T], deadline: Deadline) -> T:
        while True:
            deadline.check()
            try:
                return self._once(action)
            except RequestFailed as failure:
                if failure.failure is not Failure.UNCLEAR or not deadline.pause():
                    raise


def _open(place: Place, credentials: Credentials, timing: Timing) -> S3Store | AzureStore | GCSStore:
    from obstore.store import AzureStore, GCSStore, S3Store

    seconds = timedelta(seconds=timing.attempt)
    options: dict[str, Any] = {"timeout": seconds, "connect_timeout": seconds, "allow_http": place.is_plain_http}
    common: dict[str, Any] = {
        "client_options": {**options, **_nowhere_else(place)},
        "retry_config": {"max_retries": 0, "retry_timeout": seconds},  # whether to send again is ours to decide
        **credentials.for_client(),
    }
    if place.kind == "s3":
        return S3Store(
            place.bucket,
            endpoint=place.endpoint,
            region=place.region,
            virtual_hosted_style_request=False,
            conditional_put="etag",
            **common,
        )
    if place.kind == "azure":
        return AzureStore(place.bucket, account_name=place.account, endpoint=place.endpoint, **common)
    return GCSStore(place.bucket, base_url=place.endpoint, **common)


def _nowhere_else(place: Place) -> dict[str, str]:
    """Options that let the client talk with the endpoint and with nobody else.

    The library follows redirects and cannot be told not to: the bytes of a stranger would be taken for a note. But it
    can be told to reach every other server through a proxy, and that proxy is an address where nobody can listen.
    Whoever has to use a proxy of their own has only that one's rules: the library takes a single proxy.
    """
    from urllib.request import getproxies, proxy_bypass

    host = urlsplit(place.endpoint).hostname or ""
    proxies = getproxies()
    if (place.endpoint.partition(":")[0] in proxies or "all" in proxies) and not proxy_bypass(host):
        return {}
    own = [host, _GOOGLE_TOKENS] if place.kind == "gcs" else [host]
    return {"proxy_url": f"http://{NOWHERE}", "proxy_excludes": ",".join(own)}


def _entry(meta: ObjectMeta) -> Entry:
    token = meta["e_tag"] or meta["version"] or ""
    seconds = float(int(meta["last_modified"].timestamp()))  # a HEAD knows no fractions, a listing does
    return Entry(meta["path"], meta["size"], seconds, token.removeprefix("W/").strip('"'))


def _version(meta: ObjectMeta, attributes: Attributes) -> Version:
    named: Mapping[Any, str] = attributes
    return Version(meta["e_tag"], meta["version"], History.parse(named.get(FIELD)))


def _send_delete(url: str, headers: Mapping[str, str], timeout: float) -> int | None:
    """The status of the answer, `None` for none."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=timeout)
    try:
        connection.request("DELETE", f"{parts.path}?{parts.query}", headers=dict(headers))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
