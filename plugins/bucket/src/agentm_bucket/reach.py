"""Whether the bucket answers, for whoever may wait a moment to know: `agentm doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.client import Client
from agentm_bucket.failures import Failure, RequestFailed, io_error
from agentm_bucket.place import Timing
from agentm_bucket.waiting import within
from agentm_kernel.plugin import STAMP_KEY

if TYPE_CHECKING:
    from agentm_bucket.credentials import Credentials
    from agentm_bucket.place import Place


def check_reachable(place: Place, credentials: Credentials, seconds: float) -> None:
    """Ask for the store's stamp once. That it is not there is an answer, too."""
    once = Timing(deadline=4 * seconds, attempt=seconds)  # one attempt fills the time
    client = Client(place, credentials, once)
    try:
        within(seconds, lambda: client.head_once(place.path(STAMP_KEY)))
    except RequestFailed as failure:
        if failure.failure is not Failure.MISSING:
            raise io_error("looking for the store", place, failure) from None
