"""Noticing that the store has changed, by the times of its folders: whoever adds or replaces a note changes one.

A program that writes into a note in place changes no folder, so the note that is looked at is watched itself. A store
elsewhere is not asked again and again: there the page looks anew once in a while.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, DeviceCopy, Locator, NotFoundError, layout

if TYPE_CHECKING:
    from agentm_view.memory import Memory

_EVERY = 1.0
_ELSEWHERE = 30.0
_SHARE = 20
"""Looking takes at most one part in so many of the time."""


class Watcher:
    """How the store's folders are; shared by every tab of the page."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = Lock()
        self._folders: dict[str, str] = {}
        self._looked = 0.0
        self._cost = 0.0
        self.number = 0
        """Grows with every change that is seen."""
        self.trouble: str | None = None
        """Why the store cannot be looked at now."""

    def token(self) -> object:
        """Equal tokens mean that no folder has changed in between."""
        self.look()
        return None if self.trouble else self.number

    def look(self) -> None:
        """Look, unless that was done just now."""
        with self._lock:
            now = time.monotonic()
            if self._looked and now - self._looked < max(_EVERY, self._cost * _SHARE):
                return
            found, self.trouble = self._folders, None
            try:
                found = self._versions()
            except AgentmError as error:
                self.trouble = str(error)
            if found != self._folders or self.trouble:
                self.number += 1
            self._folders = found
            self._looked = time.monotonic()
            self._cost = self._looked - now

    def changed(self) -> None:
        """Something was written here: that is known without looking."""
        with self._lock:
            self.number += 1

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

    def _known_folders(self) -> set[str]:
        """Every folder that holds a note, and those above: a new folder changes the one that it is made in."""
        folders = {"", layout.META, layout.INBOX, layout.PROJECTS, layout.PERSONAL}
        for key in self._memory.known_keys():
            folder = key.rpartition("/")[0]
            while folder not in folders:
                folders.add(folder)
                folder = folder.rpartition("/")[0]
        return folders
