"""The copy of a store's state on this device: for hooks, and for agents that edit plans as files.

A file is compared three ways: as it is here, as it is in the store, and as both last agreed. Where only one side
changed, the other follows. Where both did, the store's version takes the name and this device's is kept beside it, so
nothing that was written here or there is lost. A file that is missing here is fetched again: an emptied folder must
not empty the store.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from agentm_kernel.errors import (
    AgentmError,
    ConcurrentModificationError,
    IntegrityError,
    InvalidContentError,
    LocatorConflictError,
    NotFoundError,
    StoreIdentityError,
)
from agentm_kernel.files.medium import Medium
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.backend import ABSENT, STAMP, StorageBackend
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.facets import ConflictCopy, Transfer
from agentm_kernel.seam.layout import HARNESS, PROJECT_RECORD, PROJECT_TREES, REMOTES
from agentm_kernel.seam.locator import Locator
from agentm_kernel.seam.update import read_or_none, update

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.seam import Info

_REMOTES = Locator(REMOTES)
_TREES = (*map(Locator, PROJECT_TREES), _REMOTES)
_AGREED = Locator("agreed.json")
_ROUNDS = 3
_OF_ONE_FILE = (IntegrityError, InvalidContentError, LocatorConflictError)  # the others come and go all the same
_NO_TEXT = ""  # in place of the hash of a file that is no text: it is left alone on both sides

_MARK = re.compile(r"(.+) \[conflict [0-9a-f]{8}\]")
_LONGEST_STEM = 120  # bytes: with mark and suffix the name stays below what a segment may have


def is_mirrored(locator: Locator) -> bool:
    """Whether the copy has this key: the state of projects, whose it is, and the store's mark."""
    parts = locator.parts
    if locator == STAMP or locator.parent == _REMOTES:
        return True
    if len(parts) < 3 or parts[0] not in PROJECT_TREES:
        return False
    return parts[2] == HARNESS or (parts[2] == PROJECT_RECORD and len(parts) == 3)


class Agreed(NamedTuple):
    """A file as this device and the store last both had it."""

    digest: str
    token: str
    """The store's name for that version; empty where it is not known."""


_News = dict[str, Agreed | None]
"""What both sides agree on from now on, by key; `None` for a file that neither has any more."""


class CopyFolder(Medium):
    """Agents edit the files of the copy whenever they like, and know nothing of our mutex."""

    def place_for_unseen(self, locator: Locator, digest: str) -> Locator:
        suffix = locator.short_suffix
        stem = locator.name.removesuffix(suffix).encode()[:_LONGEST_STEM].decode(errors="ignore").rstrip()
        return locator.parent.child(f"{stem} [conflict {digest[:8]}]{suffix}")


def file_of(version: Locator) -> Locator | None:
    """The file that a `CopyFolder` gave this name to a version of; `None` for any other name."""
    suffix = version.short_suffix
    mark = _MARK.fullmatch(version.name.removesuffix(suffix))
    return None if mark is None else version.parent.child(mark.group(1) + suffix)


class Mirror:
    """The copy below `copy_root`, and in `folder` what is remembered about it; the file `pulled` has its age."""

    def __init__(self, folder: str, copy_root: str, pulled: str) -> None:
        self._pulled = Locator(pulled)
        self._records = FileStore(folder, create_root=True, private=True)
        self._copy = FileStore(copy_root, medium=CopyFolder(), create_root=True, private=True)

    def keep_stamp(self, there: str | None) -> str | None:
        """Let the copy carry the store's stamp, if that has one."""
        if there is not None:
            self._copy.write(STAMP, there)
        return there

    def forget_store(self) -> None:
        """The store that this was a copy of is gone, or no longer meant. The files stay, and are compared anew with
        what takes its place: both versions are kept where they differ.
        """
        for records, locator in ((self._copy, STAMP), (self._records, _AGREED)):
            if records.exists(locator):
                records.delete(locator)

    def check_stamp(self, place: str, look: Callable[[], str | None]) -> None:
        """Refuse a store that is not the one this device knows. One that it does not know yet is not judged.

        `look` reads the stamp that the store carries; nobody is asked where there is nothing to compare with.
        """
        here = read_or_none(self._copy, STAMP)
        if here is None:
            return
        there = look()
        if there is None or _identity(there) != _identity(here):
            found = "is unmarked" if there is None else f"is the store {_identity(there)}"
            raise StoreIdentityError(
                f"what is at {place} {found}; this device knows the store {_identity(here)} there",
                hint="check its options with `agentm config list`; if the change was meant, run "
                "`agentm store forget` and set the store up again",
            )

    def follow_write(self, locator: Locator, content: str) -> None:
        """Let the copy follow a write of this device, unless it has an edit that the store does not have."""
        if is_mirrored(locator):
            here, last = _digest(self._copy, locator), self._agreed().get(locator.key)
            if locator == STAMP or not _is_edited(here, last) or here == content_hash(content):
                self._agree(self._put(locator, content, here, ""))

    def follow_delete(self, locator: Locator) -> None:
        """The same for a note that was deleted."""
        last = self._agreed().get(locator.key) if is_mirrored(locator) else None
        if last is not None:
            self._agree(self._forget(locator, last))

    def conflict_copies(self, below: Locator) -> list[ConflictCopy]:
        """The versions that lost, of the file at `below` or of those below it."""
        found = []
        for info in self._copy.walk(Locator()):
            file = None if info.is_dir else file_of(info.locator)
            if file is not None and file.parts[: len(below.parts)] == below.parts:
                found.append(ConflictCopy(file, info.locator, "agentm", info.size, info.mtime))
        return sorted(found, key=lambda copy: (copy.note, copy.copy))

    def read_copy(self, version: Locator) -> str:
        if file_of(version) is None:
            raise NotFoundError(f"'{version}' is no version that was kept beside another")
        return self._copy.read(version)

    def synchronise(self, store: StorageBackend, *, sending: bool) -> Transfer:
        """Bring the copy up to date; with `sending`, also the store. What one file is refused for is raised last."""
        if read_or_none(self._copy, STAMP) is None:
            self.keep_stamp(read_or_none(store, STAMP))
        fetched, sent = 0, 0
        conflicts: list[str] = []
        for _ in range(_ROUNDS):
            refused: list[AgentmError] = []
            fetched += self._fetch_all(store, conflicts, refused)
            if not sending:
                break
            went, is_complete = self._send_all(store, refused)
            sent += went
            if is_complete:
                break
        if refused:
            raise refused[0]
        self._records.write(self._pulled, "")
        return Transfer(fetched, sent, tuple(conflicts))

    def _fetch_all(self, store: StorageBackend, conflicts: list[str], refused: list[AgentmError]) -> int:
        """How many files came; the keys of what was kept aside for them are added to `conflicts`."""
        agreed = self._agreed()
        found = (info for tree in _TREES for info in store.walk(tree))
        there = {info.locator.key: info for info in found if not info.is_dir and is_mirrored(info.locator)}
        news: _News = {}
        try:
            for key, info in there.items():
                try:
                    here, last = _digest(self._copy, info.locator), agreed.get(key)
                    if here is None or last is None or last.token != info.version:
                        news.update(self._fetch(store, info, here, last, conflicts))
                except _OF_ONE_FILE as error:
                    refused.append(error)
            for locator in map(Locator, agreed.keys() - there.keys()):
                if not store.exists(locator):  # a listing may be older than what it lists
                    news.update(self._forget(locator, agreed[locator.key]))
        finally:
            self._agree(news)  # also where the rest failed: what came would be taken for edits of this device
        return sum(
            new is not None and (key not in agreed or agreed[key].digest != new.digest) for key, new in news.items()
        )

    def _fetch(
        self, store: StorageBackend, info: Info, here: str | None, last: Agreed | None, conflicts: list[str]
    ) -> _News:
        """Bring one file of the store here; what this device alone had is kept beside it."""
        text = None if here == _NO_TEXT else _text(store, info.locator)
        if text is None:
            return {}  # gone since it was listed: the next time will see to it; or no text
        digest = content_hash(text)
        if here != digest and _is_edited(here, last):
            if last is not None and digest == last.digest:
                return {info.locator.key: Agreed(digest, info.version)}  # only this device has changed it
            conflicts.append(self._keep_aside(info.locator).key)
        return self._put(info.locator, text, here, info.version)

    def _put(self, locator: Locator, text: str, here: str | None, token: str) -> _News:
        """Let the copy have a text of the store, which calls it `token`, in the place of what is `here`.

        Nothing is agreed on if an agent edited the file in this very moment.
        """
        digest = content_hash(text)
        try:
            if here != digest:
                self._copy.write(locator, text, if_match=ABSENT if here is None else here)
        except ConcurrentModificationError:
            return {}
        return {locator.key: Agreed(digest, token)}

    def _forget(self, locator: Locator, last: Agreed) -> _News:
        """A file that is no longer in the store goes here too, unless it was edited here: then it is sent again."""
        if locator == STAMP:
            return {}
        try:
            self._copy.delete(locator, if_match=last.digest)
        except (NotFoundError, ConcurrentModificationError):
            pass
        return {locator.key: None}

    def _send_all(self, store: StorageBackend, refused: list[AgentmError]) -> tuple[int, bool]:
        """How many files were sent, and whether none was refused because the store had news."""
        agreed = self._agreed()
        sent, is_complete = 0, True
        for info in list(self._copy.walk(Locator())):
            if info.is_dir or not (is_mirrored(info.locator) and HARNESS in info.locator.parts):
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
            except _OF_ONE_FILE as error:
                refused.append(error)
                continue
            self._agree({info.locator.key: Agreed(content_hash(text), "")})
            sent += 1
        return sent, is_complete

    def _keep_aside(self, locator: Locator) -> Locator:
        """Keep this device's version under a name of its own: it is sent like any other file."""
        text = self._copy.read(locator)
        place_for = self._copy.medium.place_for_unseen
        place = place_for(locator, content_hash(text))
        while True:
            try:
                return self._copy.write(place, text, if_match=ABSENT)
            except ConcurrentModificationError:
                if self._copy.read(place) == text:
                    return place  # the same version lost before, and was kept then
            place = place_for(locator, os.urandom(4).hex())  # somebody has edited the version that has this name

    def _agreed(self) -> dict[str, Agreed]:
        return _parse(read_or_none(self._records, _AGREED))

    def _agree(self, news: _News) -> None:
        def with_news(text: str | None) -> str:
            merged: _News = {**_parse(text), **news}
            return json.dumps({key: merged[key] for key in sorted(merged) if merged[key]}) + "\n"

        if news:
            update(self._records, _AGREED, with_news)


def _parse(text: str | None) -> dict[str, Agreed]:
    """Nothing for a record that cannot be understood: then every file is compared with the store anew."""
    try:
        return {key: Agreed(str(digest), str(token)) for key, (digest, token) in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _is_edited(here: str | None, last: Agreed | None) -> bool:
    """Whether the copy has a version that the store never had, as far as both remember."""
    return here is not None and (last is None or here != last.digest)


def _text(store: StorageBackend, locator: Locator) -> str | None:
    """The text of a file; `None` for one that is gone, or is no text and stays where it is."""
    try:
        return read_or_none(store, locator)
    except InvalidContentError:
        return None


def _digest(store: StorageBackend, locator: Locator) -> str | None:
    try:
        text = read_or_none(store, locator)
    except InvalidContentError:
        return _NO_TEXT
    return None if text is None else content_hash(text)


def _identity(stamp: str) -> str:
    try:
        return str(json.loads(stamp)["id"])
    except (ValueError, KeyError, TypeError):
        return stamp.strip()
