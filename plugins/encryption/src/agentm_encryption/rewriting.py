"""Sealing, resealing and opening every note of a store, each on condition that nobody changed it meanwhile.

All three can be killed at any point and run again: what a note is, its own text tells. While such work is under way
the store is mixed, and the layer refuses whatever is not as it should be; nothing is read as plain on the way.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agentm_encryption.envelope import Note, is_sealed, open_note, seal
from agentm_encryption.places import is_kept_version
from agentm_encryption.survey import note_locators, plain_leftovers, silent, stored_texts
from agentm_kernel.plugin import (
    ABSENT,
    AgentmError,
    ConcurrentModificationError,
    IntegrityError,
    Locator,
    NotFoundError,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_encryption.epochs import Keys
    from agentm_encryption.store import EncryptedStore
    from agentm_encryption.survey import Progress
    from agentm_kernel.plugin import StorageBackend

_ROUNDS = 20
_GRACE = 2.1
"""Seconds after which the write floor drops a version that nobody writes into (it keeps them for two)."""
_LONGEST_WAIT = 70.0
"""Where the system does not tell who writes into a file, a displaced version is kept for a minute."""


class Outcome:
    """What a pass over the store did, and what it left alone."""

    def __init__(self) -> None:
        self.changed = 0
        self.left: dict[str, str] = {}
        """Keys that were left as they are, with the reason."""
        self.no_text: list[str] = []
        """What is no text, and not agentm's to read or change."""


def plain_hashes(store: EncryptedStore, progress: Progress = silent) -> dict[str, str]:
    """The hash of every note that is not sealed, by key."""
    inner = store.as_stored
    return {
        locator.key: content_hash(text)
        for locator, text in stored_texts(inner, note_locators(inner), progress)
        if text is not None and not is_sealed(text)
    }


def seal_all(store: EncryptedStore, hashes: Mapping[str, str], progress: Progress = silent) -> Outcome:
    """Seal the plain notes that are what `hashes` says, and no others."""
    outcome = Outcome()
    inner = store.as_stored
    for locator, text in stored_texts(inner, note_locators(inner), progress, "Encrypting"):
        if text is None:
            outcome.no_text.append(locator.key)
        elif not is_sealed(text):
            if hashes.get(locator.key) != content_hash(text):
                outcome.left[locator.key] = "it came or changed after `init` was begun"
            elif not seal_as(store, locator, text, text, 0):
                outcome.left[locator.key] = "it is being changed"
            else:
                outcome.changed += 1
    return outcome


def reseal_all(store: EncryptedStore, progress: Progress = silent) -> Outcome:
    """Seal with the keys of the current epoch what is sealed with older ones, until nothing is."""
    outcome = Outcome()
    for _ in range(_ROUNDS):
        changed = outcome.changed
        outcome.left.clear()
        inner = store.as_stored
        for locator, text in stored_texts(inner, note_locators(inner), progress, "Encrypting with new keys"):
            if text is not None:
                _reseal(store, locator, text, outcome)
        if outcome.changed == changed:
            break
    return outcome


def _reseal(store: EncryptedStore, locator: Locator, text: str, outcome: Outcome) -> None:
    try:
        note = store.open_stored(locator, text)
    except NotFoundError:
        return
    except AgentmError as error:
        outcome.left[locator.key] = error.message
        return
    if note.epoch < store.keys.current.number:
        outcome.changed += 1
        if not seal_as(store, locator, text, note.text, note.revision):
            outcome.left[locator.key] = "it is being changed"


def reseal_from(store: EncryptedStore, lost: Keys) -> None:
    """Seal with the keys of the store what is sealed with others that this device had for the same epoch."""
    inner = store.as_stored
    for locator, text in stored_texts(inner, note_locators(inner)):
        with suppress(IntegrityError):
            note = open_note(lost, text or "", locator.key)
            if note.epoch == lost.current.number and (note.key == locator.key or is_kept_version(locator, note.key)):
                seal_as(store, locator, text or "", note.text, note.revision)


def open_all(store: EncryptedStore, below: StorageBackend, progress: Progress = silent) -> Outcome:
    """Write every sealed note as the plain text that it is, until none is sealed; `below` has names in clear."""
    outcome = Outcome()
    inner = store.as_stored
    for _ in range(_ROUNDS):
        may_be_all = True
        outcome.left.clear()
        for locator, text in stored_texts(inner, note_locators(inner), progress, "Decrypting"):
            if text is None or not is_sealed(text):
                continue
            try:
                _write_plain(inner, locator, below, locator, text, store.open_stored(locator, text).text)
                outcome.changed += 1
                may_be_all = False
            except NotFoundError:
                continue
            except AgentmError as error:
                outcome.left[locator.key] = error.message
                may_be_all = may_be_all and not isinstance(error, ConcurrentModificationError)  # else look again
        if may_be_all:
            break
    return outcome


def open_late(store: StorageBackend, keys: Keys) -> int:
    """Write in plain what a device sealed that had not heard that the store is plain now; how many notes that was."""
    opened = 0
    for locator, text in stored_texts(store, note_locators(store)):
        with suppress(IntegrityError):  # of somebody else: an age file may be a note
            note = open_note(keys, text or "", locator.key)
            place = locator if is_kept_version(locator, note.key) else Locator(note.key)
            try:
                _write_plain(store, locator, store, place, text or "", note.text)
            except ConcurrentModificationError as error:
                error.hint = f"it may have two versions now: move the plain '{place}' away, and run it again"
                raise
            opened += 1
    return opened


def _write_plain(
    inner: StorageBackend, locator: Locator, below: StorageBackend, place: Locator, stored: str, plain: str
) -> None:
    if inner is below and locator == place:
        inner.write(locator, plain, if_match=content_hash(stored))
        return
    try:
        below.write(place, plain, if_match=ABSENT)
    except ConcurrentModificationError:
        if below.read(place) != plain:  # else we were killed before the sealed one was deleted
            raise
    inner.delete(locator, if_match=content_hash(stored))


def seal_as(store: EncryptedStore, locator: Locator, stored: str, text: str, before: int) -> bool:
    """Whether a note was sealed with the current keys, as the text that it had."""
    keys = store.keys
    revision = max(before + 1, store.seen.revision(locator.key) + 1, time.time_ns() // 1_000_000)
    note = Note(locator.key, text, keys.current.number, revision, store.source.identity.device_id)
    try:
        store.as_stored.write(locator, seal(keys, note), if_match=content_hash(stored))
    except (ConcurrentModificationError, NotFoundError):
        return False
    store.seen.record(locator.key, revision)
    return True


def drop_leftovers(stored: StorageBackend) -> list[str]:
    """See to it that no plain version of a note is left in the store's folders; those that still are, as paths.

    The write floor keeps a displaced version for programs that still have it open. When their time is over, it is
    looked at again as soon as something is done in its folder: making sure that this is there will do.
    """
    place = stored.describe()
    deadline = time.monotonic() + _LONGEST_WAIT
    left = plain_leftovers(place)
    while left and time.monotonic() < deadline:
        time.sleep(_GRACE)
        for folder in {os.path.relpath(os.path.dirname(path), place) for path in left}:
            with suppress(AgentmError):  # then it stays, and is said
                stored.mkdir(Locator("" if folder == os.curdir else folder.replace(os.sep, "/")))
        left = plain_leftovers(place)
    return left
