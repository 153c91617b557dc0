"""Taking a project from one store to another: copied and compared, then left with a word of where it went.

Every step can be repeated: what was copied is recognised by its hash, so a run that was cut off is simply run again.
Nothing is taken out of the first store before the second was read once more and agrees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.errors import ConcurrentModificationError, LocatorConflictError
from agentm_kernel.projects.in_store import dump_note, parse_note
from agentm_kernel.projects.records import MOVED_TO_STORE
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.layout import PROJECT_RECORD
from agentm_kernel.seam.update import read_or_none, update
from agentm_kernel.seam.values import Frozen

if TYPE_CHECKING:
    from agentm_kernel.projects.records import ProjectRecord
    from agentm_kernel.seam.backend import StorageBackend
    from agentm_kernel.seam.locator import Locator

_ROUNDS = 5


class Move(Frozen):
    """The files of a project in one store, and where they go in another."""

    source: StorageBackend
    folder: Locator
    target: StorageBackend
    place: Locator

    def files(self) -> list[Locator]:
        """What is to be moved; the record stays, to say where the rest went."""
        record = self.folder.child(PROJECT_RECORD)
        return [info.locator for info in self.source.walk(self.folder) if not info.is_dir and info.locator != record]

    def goes_to(self, file: Locator) -> Locator:
        return self.place.child(*file.parts[len(self.folder.parts) :])

    def check(self) -> int:
        """How many files the target lacks; refused if it has another text under the name of one."""
        missing = 0
        differing = []
        for file in self.files():
            text, held = self.source.read(file), read_or_none(self.target, self.goes_to(file))
            missing += held is None
            if held not in (None, text):
                differing.append(self.goes_to(file).key)
        if differing:
            raise LocatorConflictError(
                f"{self.target.describe()} has other notes under {len(differing)} of the names: {differing[0]} …",
                hint="nothing was written; settle those notes first",
            )
        return missing

    def copy(self) -> dict[Locator, str]:
        """Bring the target up to date until both agree; the files with the hash that was copied."""
        copied: dict[Locator, str] = {}
        for _ in range(_ROUNDS):
            changed = [file for file in self.files() if self._differs(file)]
            if not changed:
                return {file: copied.get(file) or content_hash(self.source.read(file)) for file in self.files()}
            for file in changed:
                text = self.source.read(file)
                self.target.write(self.goes_to(file), text, if_match=copied.get(file, ABSENT))
                copied[file] = content_hash(text)
        raise ConcurrentModificationError(
            f"the notes in {self.folder} change all the time",
            hint="stop the agents that write there, and run it again",
        )

    def _differs(self, file: Locator) -> bool:
        return read_or_none(self.target, self.goes_to(file)) != read_or_none(self.source, file)

    def remove(self, copied: dict[Locator, str]) -> int:
        """Take the files out of the source, each only if it is what was copied; how many are gone."""
        for file, digest in copied.items():
            self.source.delete(file, if_match=digest)
        return len(copied)


def leave_word(store: StorageBackend, record: ProjectRecord, store_id: str | None) -> None:
    """Have the record say in which store the project's notes are; `None`: in this one."""

    def changed(text: str | None) -> str:
        document = {} if text is None else parse_note(text, record.locator)
        document.pop(MOVED_TO_STORE, None)
        return dump_note(document if store_id is None else {**document, MOVED_TO_STORE: store_id})

    update(store, record.locator, changed)
