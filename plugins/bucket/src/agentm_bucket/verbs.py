"""The verbs of the seam over one bucket: what reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from agentm_bucket.failures import Failure, RequestFailed, io_error
from agentm_kernel.plugin import (
    Info,
    InvalidLocatorError,
    Locator,
    NotFoundError,
    check_size,
    content_hash,
    decode_content,
)

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator

    from agentm_bucket.client import Client, Entry, Version
    from agentm_bucket.waiting import Deadline

T = TypeVar("T")

_REMEMBERED = 512


class Known(NamedTuple):
    """What an object was when it was last read or written: enough to write on condition without reading again."""

    version: Version
    digest: str


class Verbs:
    """Reading. Remembers the version of what it read, because `update` writes next what it has just read."""

    def __init__(self, client: Client, size_limit: int) -> None:
        self.client = client
        self.place = client.place
        self.size_limit = size_limit
        self._known: dict[str, Known] = {}

    def read(self, locator: Locator, deadline: Deadline | None = None) -> str:
        """`deadline` is that of a verb which reads on the way."""
        data = self.asked(f"reading '{locator}'", lambda: self.look(locator, deadline or self.client.deadline()))
        if data is None:
            raise NotFoundError(f"'{locator}' does not exist, or is a directory")
        return decode_content(data, locator)

    def info(self, locator: Locator) -> Info:
        found = self.asked(f"looking at '{locator}'", lambda: self._info(locator, self.client.deadline()))
        if found is None:
            raise NotFoundError(f"'{locator}' does not exist")
        return found

    def exists(self, locator: Locator) -> bool:
        return self.asked(f"looking at '{locator}'", lambda: self._info(locator, self.client.deadline())) is not None

    def list(self, locator: Locator) -> builtins.list[Locator]:
        path = self.place.path(locator.key)
        found = self.asked(f"listing '{locator}'", lambda: self.client.folder(path, self.client.deadline()))
        children = (*(entry.path for entry in found.files), *found.folders)
        return sorted({child for path in children if (child := self._locator(path)) is not None})

    def walk(self, locator: Locator) -> Iterator[Info]:
        infos: dict[Locator, Info] = {}
        for entry in self._below(locator):
            child = self._locator(entry.path)
            above = self._locator(entry.path.rpartition("/")[0]) if child is None else child.parent
            while above is not None and above not in infos and above != locator:
                infos[above] = _directory(above)
                above = above.parent if above.key else None
            if child is not None:
                infos[child] = _file(child, entry)
        return iter([infos[found] for found in sorted(infos, key=lambda found: found.parts)])

    def foreign_entries(self, locator: Locator) -> Iterator[str]:
        for entry in self._below(locator):
            name = entry.path.rpartition("/")[2]
            if name != MARKER and self._locator(entry.path) is None:
                yield self.place.key(entry.path)

    # -- pieces that writing needs too ----------------------------------------------------------------------

    def look(self, locator: Locator, deadline: Deadline) -> bytes | None:
        """The bytes at `locator`, remembered; `None` where no object is."""
        try:
            entry, version, data = self.client.get(self.place.path(locator.key), deadline, limit=self.size_limit)
        except RequestFailed as failure:
            if failure.failure is not Failure.MISSING:
                raise
            self._known.pop(locator.key, None)
            return None
        if data is None:
            check_size(entry.size, locator, limit=self.size_limit)
        assert data is not None
        self.remember(locator, Known(version, content_hash(data)))
        return data

    def is_directory(self, locator: Locator, deadline: Deadline) -> bool:
        return not locator.key or self.client.holds_anything(self.place.path(locator.key), deadline)

    def known(self, locator: Locator) -> Known | None:
        return self._known.get(locator.key)

    def remember(self, locator: Locator, known: Known | None) -> None:
        self._known.pop(locator.key, None)
        if known is not None:
            self._known[locator.key] = known
            if len(self._known) > _REMEMBERED:
                self._known.pop(next(iter(self._known)), None)

    def asked(self, what: str, question: Callable[[], T]) -> T:
        """The answer; a request that failed for good becomes a typed error that says `what` failed."""
        try:
            return question()
        except RequestFailed as failure:
            raise io_error(what, self.place, failure) from None

    def _info(self, locator: Locator, deadline: Deadline) -> Info | None:
        if not locator.key:
            return _directory(locator)
        try:
            return _file(locator, self.client.head(self.place.path(locator.key), deadline)[0])
        except RequestFailed as failure:
            if failure.failure is not Failure.MISSING:
                raise
        return _directory(locator) if self.is_directory(locator, deadline) else None

    def _below(self, locator: Locator) -> builtins.list[Entry]:
        path = self.place.path(locator.key)
        return self.asked(f"listing '{locator}'", lambda: self.client.below(path, self.client.deadline()))

    def _locator(self, path: str) -> Locator | None:
        """The locator of an object's name; `None` if no key is spelled like that."""
        key = self.place.key(path)
        try:
            locator = Locator(key)
        except InvalidLocatorError:
            return None
        return locator if locator.key == key else None


MARKER = ".agentm-dir"
"""The object that stands for an empty directory. No key can be called that, so no verb ever shows it."""


def _directory(locator: Locator) -> Info:
    return Info(locator, True, 0, 0.0, "directory")


def _file(locator: Locator, entry: Entry) -> Info:
    return Info(locator, False, entry.size, entry.mtime, entry.token)
