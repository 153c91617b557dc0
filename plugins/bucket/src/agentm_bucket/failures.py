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


def answered(status: int | None) -> RequestFailed:
    """What a status that is not success means, `None` for no answer at all."""
    if status is None:
        return RequestFailed(Failure.UNCLEAR, "the server cannot be reached, or did not answer in time")
    if status == 404:
        return RequestFailed(Failure.MISSING, "there is no such object")
    if status == 412:
        return RequestFailed(Failure.REFUSED, "the condition did not hold")
    failure = Failure.UNCLEAR if status in _TRANSIENT else Failure.FATAL
    return RequestFailed(failure, f"the server answered with status {status}")


def io_error(what: str, place: object, failure: RequestFailed, *, note: str = "") -> StorageIOError:
    """The typed error for a verb that could not be carried out."""
    hint = failure.hint or "check the network and the server, then try again; nothing was assumed to be absent"
    return StorageIOError(f"{what} in {place} failed: {failure.said}{note}", hint=hint)


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found.group(1) or found.group(2)) if found else None
