"""Backends that delete too much, too quietly, or too early."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import LocatorConflictError, NotFoundError
from agentm_kernel.seam import Capabilities
from agentm_kernel.seam.locator import Locator


@broken("delete_refused", saying="delete('dir/note.md') returned None")
class DeletesWithoutSayingSo(Memory):
    @property
    def capabilities(self):
        return Capabilities()


@broken("delete", saying="the store gave {'dir': None}", also=("delete_leaves_no_ghost",))
class DeletesByPrefix(Memory):
    def delete(self, locator, *, if_match=None):
        super().delete(locator, if_match=if_match)
        for note in [note for note in self._notes if note.key.startswith(locator.key)]:
            del self._notes[note]


@broken("delete_of_nothing", saying="delete('missing.md') returned None")
class DeletesNothingQuietly(Memory):
    def delete(self, locator, *, if_match=None):
        try:
            super().delete(locator, if_match=if_match)
        except NotFoundError:
            return


@broken("delete_of_directory", saying="delete('dir') returned None")
class DeletesTrees(Memory):
    def delete(self, locator, *, if_match=None):
        if locator in self._directories:
            for note in [note for note in self._notes if note.parent == locator]:
                del self._notes[note]
            return
        super().delete(locator, if_match=if_match)


@broken("delete_of_directory", saying="delete('') raised NotFoundError")
class RootIsMissing(Memory):
    def delete(self, locator, *, if_match=None):
        if not locator.key:
            raise NotFoundError("'' does not exist")
        super().delete(locator, if_match=if_match)


@broken("delete_on_condition", saying="delete('dir/note.md', if_match=")
class DeletesUnconditionally(Memory):
    def delete(self, locator, *, if_match=None):
        super().delete(locator)


@broken("delete_leaves_no_ghost", saying="raised LocatorConflictError")
class RemembersTheDead(Memory):
    def __init__(self, scratch):
        super().__init__(scratch)
        self._dead = set()

    def delete(self, locator, *, if_match=None):
        super().delete(locator, if_match=if_match)
        self._dead.add(locator.key.casefold())

    def write(self, locator, content, *, if_match=None):
        if locator.key.casefold() in self._dead and not self.exists(Locator(locator.key)):
            raise LocatorConflictError(f"'{locator}' differs only in case from a deleted note")
        return super().write(locator, content, if_match=if_match)
