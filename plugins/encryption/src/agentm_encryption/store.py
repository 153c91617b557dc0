"""The layer: what is written is sealed first, and what is read is opened and compared with where it was found.

Callers compare and swap by the hash of the text that they know. The store beneath is asked with the hash of the text
that it has, so two writers cannot both win, and sealing the same text anew is no change to anybody.
"""

from __future__ import annotations

import time
from contextlib import suppress

from agentm_encryption.envelope import Note, is_all_sealed, open_note, seal, text_size
from agentm_encryption.places import is_kept_version, is_of_keys, is_plain
from agentm_kernel.plugin import (
    ABSENT,
    BackendLayer,
    ConcurrentModificationError,
    ConflictCopies,
    History,
    Identity,
    Info,
    IntegrityError,
    InvalidContentError,
    NotFoundError,
    Rules,
    Sealed,
    StorageReadOnlyError,
    WatchedStore,
    WorkingCopy,
    content_hash,
    encode_content,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterator
    from typing import Any

    from agentm_encryption.epochs import Keys
    from agentm_encryption.key_source import KeySource
    from agentm_kernel.plugin import Absent, Capabilities, ConflictCopy, Locator, StorageBackend, Version

_ATTEMPTS = 50
_MOST_RECENT = 100
_LARGEST_RECENT = 40_000
"""Notes, and characters of one as it is stored: together at most some megabytes."""


class EncryptedStore(BackendLayer, Sealed):
    """Every verb of `inner`, with the texts of notes sealed; the store's mark and its keys stay as they are."""

    passes = (Identity, Rules, WorkingCopy, WatchedStore, History, ConflictCopies)

    def __init__(self, inner: StorageBackend, source: KeySource) -> None:
        super().__init__(inner)
        self.source = source
        self.seen = source.seen
        self._recent: dict[str, tuple[str, Note]] = {}
        """Notes that were opened last, by key: the stored text, and what is inside. Most writes follow a read, and
        whoever reads a note again only compares the stored text. In the memory of this process and nowhere else.
        """

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities.replace(encryption=True, device_files=False)

    @property
    def keys(self) -> Keys:
        return self.source.keys

    # -- reading ----------------------------------------------------------------------------------------------

    def read(self, locator: Locator) -> str:
        stored = self.inner.read(locator)
        return stored if is_plain(locator) else self._opened(locator, stored)[1].text

    def _opened(self, locator: Locator, stored: str) -> tuple[str, Note]:
        """What is in a stored text, and that text: a newer one if the note was replaced while we looked."""
        for _ in range(_ATTEMPTS):
            note = self._checked(locator, stored)
            if self.seen.record(locator.key, note.revision):
                self._remember(locator, stored, note)
                return stored, note
            # A writer notes its revision after the write: whoever sees the one also sees the other.
            again = self.inner.read(locator)
            if again == stored:
                raise IntegrityError(
                    f"'{locator}' is an older version than this device has seen: somebody brought it back, or two "
                    "devices wrote it at once and the other's version won",
                    hint=f"`agentm encryption show {_word(locator)}` prints it, "
                    f"`agentm encryption accept {_word(locator)}` takes it; then "
                    f"`agentm checkpoint restore latest --path {_word(locator)}` can bring back the newer one, and "
                    "so can a conflict copy below _meta/conflicts",
                )
            stored = again
        raise ConcurrentModificationError(f"'{locator}' keeps changing and cannot be read", hint="try again")

    def open_stored(self, locator: Locator, stored: str) -> Note:
        """What is in a text that `as_stored` gave, if it is what `read` would give."""
        return self._opened(locator, stored)[1]

    def _checked(self, locator: Locator, stored: str) -> Note:
        recent = self._recent.get(locator.key)  # once: another thread may put its own there at any time
        is_known = recent is not None and recent[0] == stored
        note = recent[1] if is_known and recent else self._at(locator, self.open_any(stored, locator.key))
        if note.epoch < self.keys.oldest:
            raise IntegrityError(
                f"'{locator}' is sealed with keys of epoch {note.epoch}; those before {self.keys.oldest} are over",
                hint="somebody who left may have written it, or a device before it heard of the new keys; `agentm "
                f"encryption show {_word(locator)}` prints it, `agentm encryption accept {_word(locator)}` takes it",
            )
        return note

    def open_any(self, stored: str, name: str) -> Note:
        """What is in a stored text, of any epoch and under any key; `name` is what messages call it."""
        keys = self.keys
        try:
            return open_note(keys, stored, name)
        except IntegrityError:
            newest = self.source.newest_keys()
            if newest is keys:
                raise
        return open_note(newest, stored, name)  # another process has made new keys since this one read them

    def _remember(self, locator: Locator, stored: str, note: Note) -> None:
        if len(self._recent) >= _MOST_RECENT:
            self._recent = {}
        if len(stored) <= _LARGEST_RECENT:
            self._recent[locator.key] = stored, note

    def _at(self, locator: Locator, note: Note) -> Note:
        if note.key != locator.key and not is_kept_version(locator, note.key):
            raise IntegrityError(
                f"what is at '{locator}' was written as '{note.key}': somebody moved or exchanged it",
                hint=f"move it back; `agentm encryption show {_word(locator)}` shows what it says",
            )
        return note

    def info(self, locator: Locator) -> Info:
        return self._sized(self.inner.info(locator))

    def walk(self, locator: Locator) -> Iterator[Info]:
        return map(self._sized, self.inner.walk(locator))

    def _sized(self, info: Info) -> Info:
        """With the size of the text, which follows from the size of what is stored."""
        if info.is_dir or is_plain(info.locator):
            return info
        size = text_size(info.size, info.locator.key, self.source.store_id)
        return info if size is None else Info(info.locator, False, size, info.mtime, info.version)

    # -- writing ----------------------------------------------------------------------------------------------

    def write(self, locator: Locator, content: str, *, if_match: str | Absent | None = None) -> Locator:
        if is_plain(locator):
            self._refuse_keys(locator)
            return self.inner.write(locator, content, if_match=if_match)
        encode_content(content, locator)  # refuses what is no text, or too much of it, before anything is sealed
        if if_match is ABSENT:
            self._put(locator, content, 0, ABSENT)
            return locator

        if if_match == content_hash(content):
            # Nothing will be written, so nobody else compares it with what is stored.
            self._recent.pop(locator.key, None)

        def replace(note: Note | None, condition: str | Absent) -> None:
            if note is None or note.text != content or note.epoch != self.keys.current.number:
                self._put(locator, content, 0 if note is None else note.revision, condition)

        self._change(locator, if_match, replace)
        return locator

    def delete(self, locator: Locator, *, if_match: str | None = None) -> None:
        if is_plain(locator):
            self._refuse_keys(locator)
            self.inner.delete(locator, if_match=if_match)
            return

        def remove(note: Note | None, condition: str | Absent) -> None:
            with self.seen.coming_and_going(locator.key):
                # Known before it is gone: what another device creates there afterwards is newer, and stays so.
                newest = max(self.seen.revision(locator.key), 0 if note is None else note.revision)
                # Where nothing is stored, or a folder is, the store says so, as it says it of a plain note.
                self.inner.delete(locator, if_match=condition if isinstance(condition, str) else if_match)
                self.seen.record(locator.key, newest + 1)  # the same version, brought back, is an older one

        self._change(locator, if_match, remove, may_be_missing=True)

    def _put(self, locator: Locator, content: str, before: int, condition: str | Absent) -> None:
        keys = self.source.newest_keys()
        if condition is not ABSENT:  # the store compares it with what we go above
            self._put_above(keys, locator, content, before, condition)
            return
        with self.seen.coming_and_going(locator.key):
            stored = self._put_above(keys, locator, content, before, condition)
        newest = self.source.newest_keys()
        if newest is not keys:
            # Whoever made new keys meanwhile may have sealed all that there was just before there was this note.
            try:
                self._put_above(newest, locator, content, before, content_hash(stored))
            except ConcurrentModificationError:
                pass  # somebody has found it, and sealed or changed it

    def _put_above(self, keys: Keys, locator: Locator, content: str, before: int, condition: str | Absent) -> str:
        """Store a text as newer than any that anybody can have seen, and return it as it is stored."""
        # Never below what anybody can have seen: the clock is for notes that were deleted on another device.
        revision = max(before + 1, self.seen.revision(locator.key) + 1, time.time_ns() // 1_000_000)
        note = Note(locator.key, content, keys.current.number, revision, self.source.identity.device_id)
        stored = seal(keys, note)
        self.inner.write(locator, stored, if_match=condition)
        self.seen.record(locator.key, revision)
        self._remember(locator, stored, note)
        return stored

    def _change(
        self,
        locator: Locator,
        if_match: str | Absent | None,
        carry_out: Callable[[Note | None, str | Absent], None],
        *,
        may_be_missing: bool = False,
    ) -> None:
        """Replace or delete what is there, on condition that the store still has the text that was looked at.

        Somebody may seal the same text anew in between: then the caller's condition still holds, and we look again.
        """
        for attempt in range(_ATTEMPTS):
            stored, note = self._look(locator, if_match, fresh=attempt > 0)
            is_missing = stored is None and may_be_missing
            if if_match is not None and not is_missing and (note is None or content_hash(note.text) != if_match):
                raise ConcurrentModificationError(
                    f"'{locator}' was changed by somebody else meanwhile", hint="read it again, then change it"
                )
            try:
                carry_out(note, ABSENT if stored is None else content_hash(stored))
            except ConcurrentModificationError:
                if attempt + 1 == _ATTEMPTS:
                    raise
                self._recent.pop(locator.key, None)
            else:
                return

    def _look(
        self, locator: Locator, if_match: str | Absent | None, *, fresh: bool
    ) -> tuple[str | None, Note | None]:
        """What is stored, and the note inside; no note where there is none, or none that a blind write would keep."""
        recent = None if fresh or if_match is None else self._recent.get(locator.key)
        if recent is not None and content_hash(recent[1].text) == if_match:
            return recent  # the store compares it with what it has
        try:
            stored = self.inner.read(locator)
        except NotFoundError:
            return None, None
        try:
            return self._opened(locator, stored)
        except NotFoundError:  # it was deleted when we looked at it again
            return None, None
        except (IntegrityError, InvalidContentError):
            if if_match is not None:
                raise
            return stored, None

    def _refuse_keys(self, locator: Locator) -> None:
        if is_of_keys(locator):
            raise StorageReadOnlyError(
                f"'{locator}' belongs to the keys of the store and was not changed",
                hint="`agentm encryption` changes keys",
            )

    def seal_kept(self, locator: Locator, data: bytes) -> bytes:
        """What may be kept of bytes that were written to a note in plain: nothing, if the note has them by now."""
        text = data.decode(errors="replace")
        if is_plain(locator) or is_all_sealed(text):
            return data
        with suppress(NotFoundError, IntegrityError, InvalidContentError):
            if text in self.read(locator):
                return b""
        keys = self.source.newest_keys()
        now = time.time_ns() // 1_000_000
        return seal(keys, Note(locator.key, text, keys.current.number, now, self.source.identity.device_id)).encode()

    # -- facets -----------------------------------------------------------------------------------------------

    @property
    def as_stored(self) -> StorageBackend:
        return self.inner

    def open_text(self, locator: Locator, text: str) -> str:
        return text if is_plain(locator) else self._at(locator, self.open_any(text, locator.key)).text

    def seal_derived(self, data: bytes) -> bytes:
        return self.source.identity.seal_own(data)

    def open_derived(self, data: bytes) -> bytes:
        return self.source.identity.open_own(data)

    def wrap_facet(self, kind: type[Any], found: Any) -> Any:
        if kind is History:
            return _OpenedHistory(self, found)
        return _OpenedCopies(self, found) if kind is ConflictCopies else found


def _word(locator: Locator) -> str:
    """The key as somebody types it in a shell."""
    from shlex import quote

    return quote(locator.key)


class _OpenedHistory(History):
    """Earlier versions, opened. Those of epochs that are over are too: the operator asked for the past."""

    def __init__(self, store: EncryptedStore, inner: History) -> None:
        self._store, self._inner = store, inner

    def versions(self, locator: Locator) -> builtins.list[Version]:
        return self._inner.versions(locator)

    def read_version(self, locator: Locator, version_id: str) -> str:
        return self._store.open_text(locator, self._inner.read_version(locator, version_id))


class _OpenedCopies(ConflictCopies):
    """Conflict copies, each opened with the key of the note that it is a version of."""

    def __init__(self, store: EncryptedStore, inner: ConflictCopies) -> None:
        self._store, self._inner = store, inner

    def conflict_copies(self, below: Locator) -> builtins.list[ConflictCopy]:
        return self._inner.conflict_copies(below)

    def read_copy(self, copy: Locator) -> str:
        from agentm_kernel.plugin import Locator

        note = self._store.open_any(self._inner.read_copy(copy), copy.key)
        if not any(found.copy == copy for found in self._inner.conflict_copies(Locator(note.key))):
            raise IntegrityError(f"'{copy}' was written as '{note.key}', and is no conflict copy of that")
        return note.text
