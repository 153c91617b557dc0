"""A store on Redis, written from the authors' guide alone: what the kit says about a sound store that has no files.

Notes, entries and folded names are three hashes, the keys in a folder a set. A change watches
the hashes, reads, and queues what it writes: Redis runs the queue only if nobody changed one meanwhile; otherwise
everything is read again.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agentm_kernel.plugin import (
    ABSENT,
    AgentmError,
    Capabilities,
    ConcurrentModificationError,
    Info,
    Locator,
    LocatorConflictError,
    LockTimeout,
    NotFoundError,
    StorageBackend,
    StorageIOError,
    content_hash,
    decode_content,
    encode_content,
)

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator

    from agentm_kernel.plugin import Absent

PATIENCE = 10.0


class Entry(NamedTuple):
    is_dir: bool
    size: int
    mtime: float
    version: str


class RedisStore(StorageBackend):
    """The store `name` of the server at `port` of this machine."""

    self_stamping = True
    heavy_imports = ("typing", "json")  # no hook ever loads it

    def __init__(self, port: int, name: str) -> None:
        self._port = port
        self._name = name
        self._notes, self._entries, self._folded = (f"{name}:{part}" for part in ("notes", "entries", "folded"))
        self._connected: Any = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, delete=True)

    def describe(self) -> str:
        return f"redis://127.0.0.1:{self._port}/{self._name}"

    # -- reading --------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        with self._asking("read", locator) as redis:
            return decode_content(self._note(redis, locator), locator)

    def list(self, locator: Locator) -> builtins.list[Locator]:
        with self._asking("list", locator) as redis:
            return sorted(Locator(key.decode()) for key in redis.smembers(self._children(locator)))

    def exists(self, locator: Locator) -> bool:
        with self._asking("look for", locator) as redis:
            return not locator.key or self._entry(redis, locator) is not None

    def info(self, locator: Locator) -> Info:
        if not locator.key:
            return Info(locator, True, 0, 0.0)
        with self._asking("look at", locator) as redis:
            entry = self._entry(redis, locator)
        if entry is None:
            raise NotFoundError(f"'{locator}' does not exist")
        return Info(locator, entry.is_dir, entry.size, entry.mtime, entry.version)

    # -- writing --------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        data = encode_content(content, locator)

        def change(redis: Any) -> None:
            self._check_condition(redis, locator, if_match)
            if self._is_dir(redis, locator):
                raise LocatorConflictError(f"'{locator}' is a directory, so no note can be stored there")
            folders = self._missing_above(redis, locator)
            self._check_spelling(redis, (*folders, locator))
            redis.multi()
            for folder in folders:
                self._put(redis, folder, None)
            self._put(redis, locator, data)

        self._change("write", locator, change)
        return locator

    def mkdir(self, locator: Locator) -> Locator:
        def change(redis: Any) -> None:
            if self._is_dir(redis, locator):
                redis.multi()
                return
            if self._entry(redis, locator) is not None:
                raise LocatorConflictError(f"'{locator}' is a note, so it cannot be a directory")
            folders = (*self._missing_above(redis, locator), locator)
            self._check_spelling(redis, folders)
            redis.multi()
            for folder in folders:
                self._put(redis, folder, None)

        self._change("make the directory", locator, change)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        def change(redis: Any) -> None:
            if self._is_dir(redis, locator):
                raise LocatorConflictError(f"'{locator}' is a directory; only notes are deleted")
            self._note(redis, locator)
            self._check_condition(redis, locator, if_match)
            redis.multi()
            redis.hdel(self._notes, locator.key)
            redis.hdel(self._entries, locator.key)
            redis.hdel(self._folded, locator.key.casefold())
            redis.srem(self._children(locator.parent), locator.key)

        self._change("delete", locator, change)

    # -- the server -----------------------------------------------------------------------------------------

    def _change(self, doing: str, locator: Locator, change: Callable[[Any], None]) -> None:
        from redis.exceptions import WatchError

        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with self._asking(doing, locator) as redis, redis.pipeline() as transaction:
                transaction.watch(self._notes, self._entries, self._folded)
                refusal = None
                try:
                    change(transaction)
                except AgentmError as error:  # unless somebody wrote between two of its questions
                    refusal = error
                    transaction.multi()
                    transaction.ping()
                try:
                    transaction.execute()
                except WatchError:
                    continue
                if refusal is not None:
                    raise refusal
                return
        raise LockTimeout(f"cannot {doing} '{locator}': others wrote all the time")

    @contextmanager
    def _asking(self, doing: str, locator: Locator) -> Iterator[Any]:
        import redis

        if self._connected is None:
            self._connected = redis.Redis(port=self._port, socket_timeout=PATIENCE, retry=None)
        try:
            yield self._connected
        except (AgentmError, redis.WatchError):
            raise  # our own errors are errors of the system, too: `NotFoundError` is a `FileNotFoundError`
        except (redis.RedisError, OSError) as error:
            raise StorageIOError(f"cannot {doing} '{locator}' in {self.describe()}: {error}") from error

    def _children(self, locator: Locator) -> str:
        return f"{self._name}:in:{locator.key}"

    # -- what is stored -------------------------------------------------------------------------------------

    def _entry(self, redis: Any, locator: Locator) -> Entry | None:
        found = redis.hget(self._entries, locator.key)
        return None if found is None else Entry(*json.loads(found))

    def _is_dir(self, redis: Any, locator: Locator) -> bool:
        entry = self._entry(redis, locator)
        return not locator.key or (entry is not None and entry.is_dir)

    def _note(self, redis: Any, locator: Locator) -> bytes:
        data: bytes | None = redis.hget(self._notes, locator.key)
        if data is None:
            raise NotFoundError(f"there is no note '{locator}'")
        return data

    def _check_condition(self, redis: Any, locator: Locator, if_match: str | Absent | None) -> None:
        if if_match is None:
            return
        entry = self._entry(redis, locator)
        data = b"" if entry is None or entry.is_dir else self._note(redis, locator)
        if (ABSENT if entry is None else content_hash(data)) != if_match:
            raise ConcurrentModificationError(f"'{locator}' was not changed: it is not what was expected")

    def _missing_above(self, redis: Any, locator: Locator) -> tuple[Locator, ...]:
        """The directories above it that are not there yet, from the top."""
        missing: builtins.list[Locator] = []
        parent = locator.parent
        while parent.key and not self._is_dir(redis, parent):
            if self._entry(redis, parent) is not None:
                raise LocatorConflictError(f"'{parent}' is a note, so nothing can be stored below it: '{locator}'")
            missing.insert(0, parent)
            parent = parent.parent
        return tuple(missing)

    def _check_spelling(self, redis: Any, locators: tuple[Locator, ...]) -> None:
        for locator in locators:
            stored = redis.hget(self._folded, locator.key.casefold())
            if stored is not None and stored.decode() != locator.key:
                wanted = locators[-1]
                raise LocatorConflictError(f"'{wanted}' differs only in case from the stored '{stored.decode()}'")

    def _put(self, redis: Any, locator: Locator, data: bytes | None) -> None:
        entry = Entry(data is None, len(data or b""), time.time(), os.urandom(8).hex())
        redis.hset(self._entries, locator.key, json.dumps(entry))
        redis.hset(self._folded, locator.key.casefold(), locator.key)
        redis.sadd(self._children(locator.parent), locator.key)
        if data is not None:
            redis.hset(self._notes, locator.key, data)
