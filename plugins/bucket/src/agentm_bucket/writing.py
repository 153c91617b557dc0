"""The verbs of the seam over one bucket: what writes.

Every PUT carries a condition, also where the caller made none. So the server decides every race, a request that the
network delayed cannot undo a later one, and a reply that got lost can be made up for: whoever looks again finds
either what was there before, or its own write among the ancestors of what is there now (see `history`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.failures import Failure, RequestFailed, io_error
from agentm_bucket.history import History, new_write
from agentm_bucket.room import check_room
from agentm_bucket.verbs import MARKER, Known
from agentm_kernel.plugin import (
    ABSENT,
    ConcurrentModificationError,
    LocatorConflictError,
    NotFoundError,
    StorageError,
    content_hash,
    encode_content,
)

if TYPE_CHECKING:
    from agentm_bucket.verbs import Verbs
    from agentm_bucket.waiting import Deadline
    from agentm_kernel.plugin import Absent, Locator

    Condition = str | Absent | None


class Writing:
    """One write: what is to be stored, on which condition, and what is known so far."""

    def __init__(self, verbs: Verbs, locator: Locator, data: bytes, condition: Condition, deadline: Deadline) -> None:
        self._verbs = verbs
        self._client = verbs.client
        self._path = verbs.place.path(locator.key)
        self._locator = locator
        self._data = data
        self._digest = content_hash(data)
        self._condition = condition
        self._deadline = deadline
        self._id = new_write()
        self._began_on = History()
        self._may_have_landed = False
        self._was_refused = False

    def carry_out(self) -> None:
        base = self._first_base()
        self._began_on = base.version.history if base else History()
        while True:
            self._check_condition(base)
            if base is None:
                check_room(self._client, self._locator, self._deadline)
            if self._sent(base):
                return
            base = self._looked_again()
            if base is not None and self._id in base.version.history:
                return

    def _first_base(self) -> Known | None:
        """What the condition is about. What was just read need not be read again: the server compares anyway."""
        known = self._verbs.known(self._locator)
        if known is not None and self._condition in (None, known.digest):
            return known
        if self._condition is ABSENT:
            return None  # the server knows better than any look at it
        if self._condition is None:
            return self._glance()
        self._verbs.look(self._locator, self._deadline)
        return self._verbs.known(self._locator)

    def _glance(self) -> Known | None:
        """Whether something is there, without its bytes: all that writing over it or beside it needs."""
        try:
            return Known(self._client.head(self._path, self._deadline)[1], "")
        except RequestFailed as failure:
            if failure.failure is not Failure.MISSING:
                raise
            return None

    def _check_condition(self, base: Known | None) -> None:
        if self._condition is None:
            return
        if (base is None) if self._condition is ABSENT else (base is not None and base.digest == self._condition):
            return
        if base is None and self._verbs.is_directory(self._locator, self._deadline):
            raise LocatorConflictError(f"'{self._locator}' is a directory, so no note can be stored there")
        history = base.version.history if base else History()
        if self._may_have_landed and base is not None and not history.reaches_back_to(self._began_on):
            raise self._unknown(RequestFailed(Failure.UNCLEAR, "a reply was lost, and others have written since"))
        raise ConcurrentModificationError(
            f"'{self._locator}' was not written: it is not what was expected",
            hint="read it again, redo the change, and write with the new hash",
        )

    def _sent(self, base: Known | None) -> bool:
        """Whether the PUT was acknowledged."""
        history = (base.version.history if base else History()).then(self._id)
        version = base.version if base else None
        try:
            done = self._client.put(self._path, self._data, version, history, self._deadline)
        except RequestFailed as failure:
            self._consider(failure)
            return False
        self._verbs.remember(self._locator, Known(done, self._digest))
        return True

    def _consider(self, failure: RequestFailed) -> None:
        """Return if it makes sense to look again."""
        if failure.failure is Failure.FATAL:
            raise failure
        if failure.failure is Failure.REFUSED and not self._was_refused:
            self._was_refused = True  # most likely somebody was faster: one look tells, at once
            return
        self._may_have_landed = self._may_have_landed or failure.failure is Failure.UNCLEAR
        if failure.failure is Failure.LATE or not self._deadline.pause():
            raise self._unknown(failure)

    def _looked_again(self) -> Known | None:
        try:
            self._verbs.look(self._locator, self._deadline)
        except RequestFailed as failure:
            raise self._unknown(failure) from None
        return self._verbs.known(self._locator)

    def _unknown(self, failure: RequestFailed) -> StorageError:
        note = "; whether it was stored is not known" if self._may_have_landed else "; nothing was written"
        return io_error(f"writing '{self._locator}'", self._verbs.place, failure, note=note)


def write(verbs: Verbs, locator: Locator, content: str, if_match: Condition, deadline: Deadline) -> Locator:
    data = encode_content(content, locator, limit=verbs.size_limit)
    if not locator.key:
        raise LocatorConflictError("the root '' is a directory, so no note can be stored there")
    verbs.asked(f"writing '{locator}'", Writing(verbs, locator, data, if_match, deadline).carry_out)
    return locator


def mkdir(verbs: Verbs, locator: Locator, deadline: Deadline) -> Locator:
    def make() -> None:
        if verbs.is_directory(locator, deadline):
            return
        try:
            verbs.client.head(verbs.place.path(locator.key), deadline)
        except RequestFailed as failure:
            if failure.failure is not Failure.MISSING:
                raise
        else:
            raise LocatorConflictError(f"'{locator}' is a note, so it cannot become a directory")
        check_room(verbs.client, locator, deadline, is_folder=True)  # a server may keep an empty one without a marker
        _put_marker(verbs, locator, deadline)

    verbs.asked(f"making '{locator}'", make)
    return locator


def _put_marker(verbs: Verbs, locator: Locator, deadline: Deadline) -> None:
    path = f"{verbs.place.path(locator.key)}/{MARKER}"
    while True:
        try:
            verbs.client.put(path, b"", None, History(), deadline)
        except RequestFailed as failure:
            if failure.failure is Failure.REFUSED:
                return  # somebody else made it
            if failure.failure is not Failure.UNCLEAR or not deadline.pause():
                raise
        else:
            return


def delete(verbs: Verbs, locator: Locator, if_match: str | None, deadline: Deadline, *, on_condition: bool) -> None:
    """`on_condition`: whether the server has proven that it honours conditions on deletions."""
    if not locator.key:
        raise LocatorConflictError("the root '' is a directory; only notes are deleted")
    if if_match is not None and not on_condition:
        raise StorageError(
            f"'{locator}' was not deleted: this object store cannot delete on a condition",
            hint="delete it without a condition, if nobody else is writing to it",
        )
    verbs.asked(f"deleting '{locator}'", lambda: _delete(verbs, locator, if_match, deadline, on_condition))


def _delete(verbs: Verbs, locator: Locator, if_match: str | None, deadline: Deadline, on_condition: bool) -> None:
    path = verbs.place.path(locator.key)
    may_be_done = False
    while True:
        if verbs.look(locator, deadline) is None:
            if may_be_done:
                return
            raise _nothing_to_delete(verbs, locator, deadline)
        known = verbs.known(locator)
        assert known is not None
        if if_match is not None and known.digest != if_match:
            raise ConcurrentModificationError(
                f"'{locator}' was not deleted: it is not what was expected", hint="read it again, then decide again"
            )
        try:
            if on_condition:
                verbs.client.delete_on_condition(path, known.version, deadline)
            else:
                verbs.client.delete(path, deadline)
        except RequestFailed as failure:
            if failure.failure in (Failure.FATAL, Failure.LATE):
                raise
            may_be_done = may_be_done or failure.failure is Failure.UNCLEAR
            if not deadline.pause():
                raise
        else:
            verbs.remember(locator, None)
            return


def _nothing_to_delete(verbs: Verbs, locator: Locator, deadline: Deadline) -> StorageError:
    if verbs.is_directory(locator, deadline):
        return LocatorConflictError(f"'{locator}' is a directory; only notes are deleted")
    return NotFoundError(f"'{locator}' does not exist")
