"""Noticing that the store has changed, by the times of its folders: whoever adds or replaces a note changes one.

A program that writes into a note in place changes no folder, so the note that is looked at is watched itself. A store
elsewhere is not asked again and again: there the page looks anew once in a while. What plugins write down on this
device (what agents were told, for one) is noticed by the times of those files.
"""

from __future__ import annotations

import os
import time
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, DeviceCopy, Locator, NotFoundError, layout
from agentm_view.opening import FOLDER as OWN

if TYPE_CHECKING:
    from agentm_view.memory import Memory

_EVERY = 1.0
_ELSEWHERE = 30.0
_MOST = 500
"""Files of one folder of this device that are looked at."""
_SHARE = 20
"""Looking takes at most one part in so many of the time."""


class Watcher:
    """How the store's folders are; shared by every tab of the page."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = Lock()
        self._folders: dict[str, str] = {}
        self._device: dict[str, int] = {}
        self._looked = 0.0
        self._cost = 0.0
        self._number = 0
        """Grows with every change of the store."""
        self.news = 0
        """Grows with every change that is seen, of the store or of what this device writes down."""
        self.trouble: str | None = None
        """Why the store cannot be looked at now."""

    def token(self) -> object:
        """Equal tokens mean that no folder has changed in between."""
        self.look()
        return None if self.trouble else self._number

    def look(self) -> None:
        """Look, unless that was done just now."""
        with self._lock:
            now = time.monotonic()
            if self._looked and now - self._looked < max(_EVERY, self._cost * _SHARE):
                return
            found, trouble = self._folders, None
            try:
                found = self._versions()
            except AgentmError as error:
                trouble = str(error)
            device = self._device_files()
            # What happened in a folder before the first look at it may be in no list: it counts as changed.
            if found != self._folders or trouble != self.trouble:
                self._number += 1
                self.news += 1
            elif device != self._device:
                self.news += 1
            self._folders, self._device, self.trouble = found, device, trouble
            self._looked = time.monotonic()
            self._cost = self._looked - now

    def changed(self) -> None:
        """Something was written here: that is known without looking, and without waiting for one who looks.

        Of two who count at once one is enough: the number is not what it was.
        """
        self._number += 1
        self.news += 1

    def version_of(self, key: str) -> str:
        """The version of one note; empty where it cannot be told."""
        try:
            return self._memory.store().info(Locator(key)).version
        except AgentmError:
            return ""

    def _versions(self) -> dict[str, str]:
        store = self._memory.store()
        if store.facet(DeviceCopy) is not None:
            return {"": str(int(time.monotonic() / _ELSEWHERE))}
        versions = {}
        for folder in self._known_folders():
            try:
                versions[folder] = store.info(Locator(folder)).version
            except NotFoundError:
                versions[folder] = ""
        return versions

    def _device_files(self) -> dict[str, int]:
        """When each file was written that plugins keep on this device, the page's own not among them."""
        state = self._memory.device().state_dir
        found: dict[str, int] = {}
        for folder in (state, *(path for path, _ in _entries(state) if os.path.basename(path) != OWN)):
            found |= dict(_entries(folder))
        return found

    def _known_folders(self) -> set[str]:
        """Every folder that holds a note, and those above: a new folder changes the one that it is made in."""
        folders = {"", layout.META, layout.INBOX, layout.PROJECTS, layout.PERSONAL}
        for key in self._memory.known_keys():
            folder = key.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return folders


def _entries(folder: str) -> list[tuple[str, int]]:
    """Path and time of what is in a folder; nothing if it is no folder, or gone."""
    try:
        with os.scandir(folder) as scan:
            return [(entry.path, entry.stat(follow_symlinks=False).st_mtime_ns) for entry in islice(scan, _MOST)]
    except OSError:
        return []
