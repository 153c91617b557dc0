"""Backends that take two spellings for two keys, or two keys for one."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import LocatorConflictError
from agentm_kernel.seam.locator import Locator


class _OwnClashes(Memory):
    """Finds clashes by its own rule instead of the sound one."""

    def clashes(self, new, stored):
        raise NotImplementedError

    def _make_room(self, locator):
        hidden = {}
        for other in self.list(locator.parent):
            if other.name.casefold() == locator.name.casefold() and not self.clashes(locator, other):
                hidden[other] = self._notes.pop(other, None)
                self._directories.discard(other)
        try:
            super()._make_room(locator)
        finally:
            for other, note in hidden.items():
                if note is None:
                    self._directories.add(other)
                else:
                    self._notes[other] = note


@broken("case_of_files", saying="write('dir/plan.md', 'two\\n') returned", also=("case_beyond_ascii", "errors"))
class ForgetsCase(_OwnClashes):
    def clashes(self, new, stored):
        return stored in self._directories


@broken("case_of_directories", saying="write('notes/b.md', 'two\\n') returned")
class LooksOnlyAtTheLastName(Memory):
    def write(self, locator, content, *, if_match=None):
        above = [Locator("/".join(locator.parts[:depth])) for depth in range(1, len(locator.parts))]
        if (isinstance(content, str) and not content.isascii()) or any(place in self._notes for place in above):
            return super().write(locator, content, if_match=if_match)
        if if_match is None and locator not in self._directories:
            self._directories.update(above)
        return super().write(locator, content, if_match=if_match)


@broken("case_of_file_and_directory", saying="write('NOTES', 'two\\n') returned 'NOTES'", also=("case_in_mkdir",))
class ComparesFilesWithFilesOnly(_OwnClashes):
    def clashes(self, new, stored):
        return stored in self._notes


@broken("case_in_mkdir", saying="mkdir('notes') returned 'notes'")
class MkdirForgetsCase(Memory):
    def mkdir(self, locator):
        if not self.exists(locator) and locator.parent in self._directories:
            self._directories.add(locator)
        return super().mkdir(locator)


@broken("case_beyond_ascii", saying="write('STRASSE.md', 'two\\n') returned")
class LowersInsteadOfFolding(_OwnClashes):
    def clashes(self, new, stored):
        return new.name.lower() == stored.name.lower()


@broken("case_when_reading", saying="read('dir/plan.md') returned 'one\\n'")
class ReadsAnyCase(Memory):
    def read(self, locator):
        for stored in self._notes:
            if stored.key.casefold() == locator.key.casefold():
                return super().read(stored)
        return super().read(locator)


@broken("case_as_stored", saying="differs only in its suffix", also=("neighbours", "accepted_keys", "list_children"))
class ComparesWithoutSuffix(Memory):
    def write(self, locator, content, *, if_match=None):
        for other in self.list(locator.parent):
            if other != locator and other in self._notes and _stem(other) == _stem(locator):
                raise LocatorConflictError(f"'{locator}' differs only in its suffix from '{other}'")
        return super().write(locator, content, if_match=if_match)


def _stem(locator):
    return locator.name.rpartition(".")[0].casefold()
