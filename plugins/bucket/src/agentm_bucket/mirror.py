"""The copy of the `_harness/` trees on this host, for hooks and for agents that edit plans as files.

A file is compared three ways: as it is here, as it is in the bucket, and as both last agreed. Where only one side
changed, the other follows. Where both did, the bucket's version takes the name and this host's is kept beside it, so
nothing that was written here or there is lost. A file that is missing here is fetched again: an emptied folder must
not empty the bucket.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from agentm_bucket.backend import PULLED
from agentm_bucket.copying import EditedFolder
from agentm_bucket.kept import kept_versions, place_for
from agentm_kernel.plugin import (
    ABSENT,
    STAMP_KEY,
    ConcurrentModificationError,
    FileStore,
    InvalidContentError,
    Locator,
    NotFoundError,
    StorageIOError,
    StoreIdentityError,
    content_hash,
    make_private_folder,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_bucket.kept import Kept
    from agentm_kernel.plugin import Info, StorageBackend

_TREES = ("projects", "personal-projects")
_HARNESS = "_harness"
_RECORD = "_project.json"
_STAMP = Locator(STAMP_KEY)
_AGREED = Locator("agreed.json")
_ROUNDS = 3
_NO_TEXT = ""  # in place of the hash of a file that is no text: it is left alone on both sides


class Agreed(NamedTuple):
    """A file as this host and the bucket last both had it."""

    digest: str
    token: str
    """The bucket's name for that version; empty where it is not known."""


class Synced(NamedTuple):
    """What one synchronisation did."""

    fetched: int
    sent: int
    conflicts: tuple[str, ...]
    """The keys of versions that were kept beside the file they lost to."""


def is_mirrored(locator: Locator) -> bool:
    """Whether the copy has this key: state of projects, whose it is, and the store's identity."""
    parts = locator.parts
    if locator == _STAMP:
        return True
    if len(parts) < 3 or parts[0] not in _TREES:
        return False
    return parts[2] == _HARNESS or (parts[2] == _RECORD and len(parts) == 3)


def _is_sent(locator: Locator) -> bool:
    return is_mirrored(locator) and _HARNESS in locator.parts


class Mirror:
    """The copy below `copy_root`, and in `folder` beside it what is remembered about it."""

    def __init__(self, folder: str, copy_root: str) -> None:
        self._folder = folder
        self._notes = FileStore(folder, create_root=True, private=True)
        self._copy = EditedFolder(copy_root, create_root=True, private=True)

    # -- identity ---------------------------------------------------------------------------------------------

    def note_stamp(self, there: str | None) -> str | None:
        """Let the copy carry the stamp of the bucket, if that has one."""
        if there is not None:
            self._copy.write(_STAMP, there)
        return there

    def check_stamp(self, place: str, look: Callable[[], str | None]) -> None:
        """Refuse a bucket that is not the one this device knows. One that it does not know yet is not judged.

        `look` reads the stamp that the bucket carries; nobody is asked where there is nothing to compare with.
        """
        here = _read(self._copy, _STAMP)
        if here is None:
            return
        there = look()
        if there is None or _identity(there) != _identity(here):
            found = "is unmarked" if there is None else f"is the store {_identity(there)}"
            raise StoreIdentityError(
                f"the bucket at {place} {found}; this device knows the store {_identity(here)} there",
                hint="check endpoint, bucket and prefix; if the change was meant, run `agentm store forget` and "
                "`agentm bucket init`",
            )

    # -- after a write through the verbs -----------------------------------------------------------------------

    def wrote(self, locator: Locator, content: str) -> None:
        """Let the copy follow a write of this host, unless the copy has an edit that the bucket does not have."""
        if not is_mirrored(locator):
            return
        here, agreed = _digest(self._copy, locator), self._agreed().get(locator.key)
        digest = content_hash(content)
        if here not in (None, digest) and (agreed is None or here != agreed.digest) and locator != _STAMP:
            return
        if self._put(locator, content, here):
            self._agree({locator.key: Agreed(digest, "")})

    def kept_versions(self) -> list[Kept]:
        """The versions of this copy that lost to the bucket's and wait for the operator."""
        return kept_versions(self._copy)

    # -- synchronising ----------------------------------------------------------------------------------------

    def synchronise(self, store: StorageBackend, *, pushing: bool) -> Synced:
        if _read(self._copy, _STAMP) is None:
            self.note_stamp(_read(store, _STAMP))
        fetched, sent = 0, 0
        conflicts: list[str] = []
        for _ in range(_ROUNDS):
            came, lost = self._fetch_all(store)
            fetched, conflicts = fetched + came, conflicts + lost
            if not pushing:
                break
            went, is_complete = self._send_all(store)
            sent += went
            if is_complete:
                break
        self._note_the_time()
        return Synced(fetched, sent, tuple(conflicts))

    def _fetch_all(self, store: StorageBackend) -> tuple[int, list[str]]:
        agreed = self._agreed()
        there = {info.locator.key: info for tree in _TREES for info in store.walk(Locator(tree)) if _is_file(info)}
        news: dict[str, Agreed | None] = {}
        conflicts: list[str] = []
        for key, info in there.items():
            here = _digest(self._copy, info.locator)
            last = agreed.get(key)
            if here is None or last is None or last.token != info.version:
                news.update(self._fetch(store, info, here, last, conflicts))
        for key in agreed.keys() - there.keys():
            news.update(self._forget(Locator(key), agreed[key]))
        changed = sum(1 for key, value in news.items() if value and agreed.get(key, value).digest != value.digest)
        new = sum(1 for key, value in news.items() if value and key not in agreed)
        self._agree(news)
        return changed + new, conflicts

    def _fetch(
        self, store: StorageBackend, info: Info, here: str | None, last: Agreed | None, conflicts: list[str]
    ) -> dict[str, Agreed | None]:
        """Bring one file of the bucket here; what this host alone had is kept beside it."""
        locator = info.locator
        text = None if here == _NO_TEXT else _text(store, locator)
        if text is None:
            return {}  # gone since it was listed: the next time will see to it; or no text
        digest = content_hash(text)
        if here not in (None, digest) and (last is None or here != last.digest):
            if last is not None and digest == last.digest:
                return {locator.key: Agreed(digest, info.version)}  # only this host has changed it
            conflicts.append(self._keep_aside(locator).key)
        if here == digest or self._put(locator, text, here):
            return {locator.key: Agreed(digest, info.version)}
        return {}

    def _forget(self, locator: Locator, last: Agreed) -> dict[str, Agreed | None]:
        """A file that is no longer in the bucket goes here too, unless it was edited here: then it is sent again."""
        if locator == _STAMP:
            return {}
        try:
            self._copy.delete(locator, if_match=last.digest)
        except (NotFoundError, ConcurrentModificationError):
            pass
        return {locator.key: None}

    def _send_all(self, store: StorageBackend) -> tuple[int, bool]:
        """How many files were sent, and whether none was refused because the bucket had news."""
        agreed = self._agreed()
        sent, is_complete = 0, True
        for info in list(self._copy.walk(Locator())):
            if info.is_dir or not _is_sent(info.locator):
                continue
            text = _text(self._copy, info.locator)
            last = agreed.get(info.locator.key)
            if text is None or (last is not None and content_hash(text) == last.digest):
                continue
            try:
                store.write(info.locator, text, if_match=ABSENT if last is None else last.digest)
            except ConcurrentModificationError:
                is_complete = False
                continue
            self._agree({info.locator.key: Agreed(content_hash(text), "")})
            sent += 1
        return sent, is_complete

    # -- the copy ---------------------------------------------------------------------------------------------

    def _put(self, locator: Locator, text: str, here: str | None) -> bool:
        """Whether the copy took it: not if an agent edited the file in this very moment."""
        try:
            self._copy.write(locator, text, if_match=ABSENT if here is None else here)
        except ConcurrentModificationError:
            return False
        return True

    def _keep_aside(self, locator: Locator) -> Locator:
        """Keep this host's version under a name of its own: it is sent like any other file."""
        text = self._copy.read(locator)
        place = place_for(locator, content_hash(text))
        while True:
            try:
                return self._copy.write(place, text, if_match=ABSENT)
            except ConcurrentModificationError:
                if self._copy.read(place) == text:
                    return place  # the same version lost before, and was kept then
            place = place_for(locator, os.urandom(4).hex())  # somebody has edited the version that has this name

    def _note_the_time(self) -> None:
        path = os.path.join(self._folder, PULLED)
        try:
            make_private_folder(self._folder)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(path)
        except OSError as error:
            raise StorageIOError(f"cannot write {path}: {error.strerror}", errno=error.errno) from error

    # -- what both sides last agreed on ------------------------------------------------------------------------

    def _agreed(self) -> dict[str, Agreed]:
        return _parse(_read(self._notes, _AGREED))

    def _agree(self, news: dict[str, Agreed | None]) -> None:
        if not news:
            return

        def with_news(text: str | None) -> str:
            merged: dict[str, Agreed | None] = {**_parse(text), **news}
            return json.dumps({key: merged[key] for key in sorted(merged) if merged[key]}, indent=1) + "\n"

        update(self._notes, _AGREED, with_news)


def _parse(text: str | None) -> dict[str, Agreed]:
    """Nothing for a record that cannot be understood: then every file is compared with the bucket anew."""
    try:
        return {key: Agreed(str(digest), str(token)) for key, (digest, token) in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _is_file(info: Info) -> bool:
    return not info.is_dir and is_mirrored(info.locator)


def _read(store: StorageBackend, locator: Locator) -> str | None:
    try:
        return store.read(locator)
    except NotFoundError:
        return None


def _text(store: StorageBackend, locator: Locator) -> str | None:
    """The text of a file; `None` for one that is gone, or is no text and stays where it is."""
    try:
        return store.read(locator)
    except (NotFoundError, InvalidContentError):
        return None


def _digest(store: StorageBackend, locator: Locator) -> str | None:
    try:
        text = _read(store, locator)
    except InvalidContentError:
        return _NO_TEXT
    return None if text is None else content_hash(text)


def _identity(stamp: str) -> str:
    try:
        return str(json.loads(stamp)["id"])
    except (ValueError, KeyError, TypeError):
        return stamp.strip()
