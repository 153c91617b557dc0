"""Provider `local-fs`: a folder of this host that people and other programs edit while agentm uses it.

The disk is the truth. agentm remembers which content of a note it has seen; a write without a condition is made on
condition of that, so an edit that agentm has not seen is never overwritten unawares: what happens then is for the
policy's `sync.conflict.policy` to say.
"""

from __future__ import annotations

import os

from agentm_device_local.sightings import Sighting, Sightings
from agentm_kernel.plugin import (
    ABSENT,
    Capabilities,
    Change,
    ConcurrentModificationError,
    FileStore,
    InvalidContentError,
    Locator,
    NotFoundError,
    StorageConflictError,
    StorageError,
    WatchedStore,
    content_hash,
    encode_content,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from threading import Event

    from agentm_kernel.plugin import Absent, ProviderContext

CONFLICT_POLICIES = ("abort", "manual", "last-writer-wins", "split-conflicts")
"""What a folder can do about a conflict. Merging and rebasing need history, which a folder does not have."""

_ATTEMPTS = 10
_WAIT_MS = 200
"""How long the watcher lets changes settle: editors write a file in several steps."""


class LocalFolder(FileStore, WatchedStore):
    """The folder `mount_path`. It has to be there; nothing is made in its place."""

    def __init__(self, root: str, context: ProviderContext, *, is_replicated: bool = False) -> None:
        super().__init__(root)
        policy = context.rules.conflict_policy
        if policy not in CONFLICT_POLICIES:
            raise StorageError(
                f"a folder cannot settle conflicts by '{policy}'",
                hint=f"set sync.conflict.policy to one of {', '.join(CONFLICT_POLICIES)}",
            )
        self._policy = policy
        self._is_excluded = context.is_excluded
        self._is_replicated = is_replicated
        opening = context.opening
        self._seen = Sightings(opening.state_dir, self.describe(), may_write=not opening.read_only)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(concurrent_writers=True, sync=self._is_replicated, device_files=True, delete=True)

    # -- verbs ----------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        text = super().read(locator)
        self._seen.was_read(locator.key, content_hash(text))
        return text

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        digest = content_hash(encode_content(content, locator))
        with self._alone():  # or another process would know of this write, not find it, and take it for removed
            condition = if_match if if_match is not None else self._seen.condition_for(locator.key)
            self._seen.will_write(locator.key, digest)
            try:
                return super().write(locator, content, if_match=condition)
            except ConcurrentModificationError:
                if if_match is not None:
                    raise  # the caller made a condition and is told that it does not hold
            return self._write_over(locator, content)

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        with self._alone():
            is_seen = self._seen.condition_for(locator.key) is not None
            if if_match is None and is_seen and self.exists(locator):
                self._delete_over(locator)
            else:
                self._remove(locator, if_match)

    # -- conflicts ------------------------------------------------------------------------------------------

    def _alone(self) -> AbstractContextManager[object]:
        """Without other processes of agentm: those that write at the same time would chase each other."""
        from agentm_kernel.plugin import store_mutex

        return store_mutex(self.describe())

    def _write_over(self, locator: Locator, content: str) -> Locator:
        """Write without a condition over something else than this host saw last."""
        for _ in range(_ATTEMPTS):
            current = self._current(locator)
            if current == content:
                return locator
            self._settle(locator, current, ours=content)
            try:
                return super().write(locator, content, if_match=ABSENT if current is None else content_hash(current))
            except ConcurrentModificationError:
                continue
        raise self._conflict(locator)

    def _delete_over(self, locator: Locator) -> None:
        for _ in range(_ATTEMPTS):
            current = self._current(locator)
            if current is None:
                return
            self._settle(locator, current)
            try:
                self._remove(locator, content_hash(current))
            except ConcurrentModificationError:
                continue
            return
        raise self._conflict(locator)

    def _remove(self, locator: Locator, if_match: str | None) -> None:
        self._seen.will_write(locator.key, None)
        super().delete(locator, if_match=if_match)

    def _settle(self, locator: Locator, current: str | None, ours: str | None = None) -> None:
        """Keep what must not be lost before `current` is replaced or removed, or refuse."""
        digest = None if current is None else content_hash(current)
        if self._seen.is_own(locator.key, digest):
            return  # another process of this host was faster: that is no conflict, as nowhere without conditions
        if self._policy == "abort":
            raise self._conflict(locator)
        if self._policy == "manual":
            kept = f"your text is kept at '{self._keep(locator, ours, 'unseen')}'; " if ours is not None else ""
            raise self._conflict(locator, hint=f"{kept}settle the two by hand")
        if current is not None:
            self._keep_other(locator, current)

    def _current(self, locator: Locator) -> str | None:
        try:
            return super().read(locator)
        except NotFoundError:
            return None

    def _keep_other(self, locator: Locator, text: str) -> None:
        """Keep the version that loses: beside the note where conflicts are split, else out of the way."""
        if self._policy == "split-conflicts":
            self._put_aside(locator.beside(f"conflict {content_hash(text)[:8]}"), text)
        else:
            self._keep(locator, text, "kept")

    def _keep(self, locator: Locator, text: str, why: str) -> Locator:
        from agentm_kernel.plugin import conflict_place

        return self._put_aside(conflict_place(locator, content_hash(text), why), text)

    def _put_aside(self, place: Locator, text: str) -> Locator:
        """Its name has the content's hash, so what is there already is the same, unless somebody has edited it."""
        self._seen.will_write(place.key, content_hash(text))
        try:
            super().write(place, text, if_match=ABSENT)
        except ConcurrentModificationError:
            if self._current(place) != text:
                return self._put_aside(place.beside(os.urandom(4).hex()), text)
        return place

    def _conflict(self, locator: Locator, hint: str | None = None) -> StorageConflictError:
        return StorageConflictError(
            f"'{locator}' was not changed: another program changed it since agentm last saw it",
            hint=hint or "read it again and write on condition of what you read (`--if-match`)",
        )

    # -- changes of others ----------------------------------------------------------------------------------

    def scan(self) -> list[Change]:
        is_first = not self._seen.has_looked
        before = self._seen.recorded()
        now: dict[str, Sighting] = {}
        changes = []
        for info in self.walk(Locator()):
            key = info.locator.key
            if info.is_dir or self._is_excluded(key):
                continue
            known = before.get(key)
            if known is not None and known.version == info.version:
                now[key] = known
                continue
            digest = self._digest(info.locator)
            if digest is None:
                continue
            now[key] = Sighting(info.version, digest)
            if known is None or known.digest != digest:
                changes.append(Change(info.locator, "write"))
        changes += [Change(Locator(key), "delete") for key in before if key not in now]
        self._seen.replace(now)
        return [] if is_first else sorted(changes, key=lambda change: change.locator.key)

    def _digest(self, locator: Locator) -> str | None:
        try:
            return content_hash(super().read(locator))
        except NotFoundError:
            return None  # gone while the scan ran
        except InvalidContentError:
            return ""  # no note, but a change of it shows all the same

    def watch(self, stop: Event | None = None) -> Iterator[list[Change]]:
        """File events only wake the scan, which knows what is news: events repeat, and tell of own writes too."""
        try:
            from watchfiles import watch
        except ImportError as error:
            raise StorageError(
                "watching a folder needs the package watchfiles",
                hint="run `pip install 'agentm-device-local[watch]'`; without it, events scan the folder",
            ) from error
        self.scan()
        for _ in watch(
            self.describe(),
            stop_event=stop,
            debounce=_WAIT_MS,
            step=_WAIT_MS // 4,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            changes = self.scan()
            if changes:
                yield changes
