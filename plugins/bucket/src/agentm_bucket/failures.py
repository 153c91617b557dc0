"""What went wrong with a request, in our own words.

The library's messages carry whole addresses, which for Azure can hold a signature, and the server's answer. None of
that reaches an error of ours: only the kind of failure and the status do.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from obstore import exceptions

from agentm_kernel.plugin import StorageIOError

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
NOWHERE = "127.0.0.1:0"
"""Where the client is sent if it wants to talk with another server than the endpoint: nobody can listen there."""
_CERTIFICATE = "InvalidCertificate"
_CERTIFICATES = {
    "UnknownIssuer": "nobody whom this machine trusts has signed it",
    "Expired": "it has expired",
    "NotValidYet": "it is not valid yet",
    "NotValidForName": "it is for another name",
}
_NO_TLS = ("InvalidContentType", "received corrupt message", "InvalidMessage")
_NO_ETAG = ("MissingEtag", "ETag Header missing")
_REDIRECTS = (301, 302, 303, 307, 308)
_TRANSIENT = (408, 409, 425, 429, 500, 502, 503, 504)


class Failure(Enum):
    """What a failed request means for whoever sent it."""

    MISSING = auto()
    """The object is not there; the bucket is."""
    REFUSED = auto()
    """The condition did not hold, so nothing was written."""
    UNCLEAR = auto()
    """No answer, or one that says nothing: the request may have been carried out."""
    LATE = auto()
    """The verb's time ran out before the request was sent."""
    FATAL = auto()
    """Asking again will not help."""


class RequestFailed(Exception):
    """One request, and what became of it."""

    def __init__(self, failure: Failure, said: str, hint: str | None = None) -> None:
        super().__init__(said)
        self.failure = failure
        self.said = said
        self.hint = hint


def failed(error: Exception) -> RequestFailed:
    """What an exception of the library means."""
    text = str(error)
    status = _status(text)
    named = _named(text)
    if named is not None:
        return named
    if any(sign in text for sign in _NO_BUCKET):
        return RequestFailed(Failure.FATAL, "there is no such bucket", "create it, or correct plugins.bucket.bucket")
    if isinstance(error, (exceptions.AlreadyExistsError, exceptions.PreconditionError)):
        return RequestFailed(Failure.REFUSED, "the condition did not hold")
    if isinstance(error, FileNotFoundError):
        return RequestFailed(Failure.MISSING, "there is no such object")
    if status in {401, 403} or isinstance(error, (PermissionError, exceptions.UnauthenticatedError)):
        return RequestFailed(
            Failure.FATAL,
            "the server refused the credentials",
            "check the key, its rights on this bucket, and this machine's clock",
        )
    return answered(status)


def _named(text: str) -> RequestFailed | None:
    """Failures that look like a network that is down, and are none: asking again does not help."""
    if f"{NOWHERE}," in text or f"{NOWHERE}\n" in text:
        return _redirected()
    if _CERTIFICATE in text:
        why = next((words for sign, words in _CERTIFICATES.items() if sign in text), "it is not one for a server")
        return RequestFailed(
            Failure.FATAL,
            f"the certificate of the server is not accepted: {why}",
            "check the endpoint and this machine's clock; a certificate of your own has to be among those that this "
            "machine trusts",
        )
    if any(sign in text for sign in _NO_TLS):
        return RequestFailed(
            Failure.FATAL,
            "the server does not speak TLS at this address",
            "check the port, and https in the endpoint",
        )
    if any(sign in text for sign in _NO_ETAG):
        return RequestFailed(
            Failure.FATAL,
            "the server sends no ETags, so a write cannot name what it replaces",
            "writers on two machines would lose each other's notes there; use a server that sends them",
        )
    return None


def answered(status: int | None) -> RequestFailed:
    """What a status that is not success means, `None` for no answer at all."""
    if status is None:
        return RequestFailed(Failure.UNCLEAR, "the server cannot be reached, or did not answer in time")
    if status == 404:
        return RequestFailed(Failure.MISSING, "there is no such object")
    if status == 412:
        return RequestFailed(Failure.REFUSED, "the condition did not hold")
    if status in _REDIRECTS:
        return _redirected()
    failure = Failure.UNCLEAR if status in _TRANSIENT else Failure.FATAL
    return RequestFailed(failure, f"the server answered with status {status}")


def _redirected() -> RequestFailed:
    return RequestFailed(
        Failure.FATAL,
        "the server redirects to another address, which is not followed",
        "make the address where the bucket is the endpoint; check its region, too",
    )


def io_error(what: str, place: object, failure: RequestFailed, *, note: str = "") -> StorageIOError:
    """The typed error for a verb that could not be carried out."""
    hint = failure.hint or "check the network and the server, then try again; nothing was assumed to be absent"
    return StorageIOError(f"{what} in {place} failed: {failure.said}{note}", hint=hint)


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found.group(1) or found.group(2)) if found else None
