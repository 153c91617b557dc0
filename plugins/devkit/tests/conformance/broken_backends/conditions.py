"""Backends whose conditions do not hold what they promise."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import ConcurrentModificationError, LocatorConflictError, NotFoundError
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash


@broken("matching_hash", saying="raised ConcurrentModificationError")
class ComparesTranslatedText(Memory):
    """Hashes what its own editor would show, not what is stored."""

    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and locator in self._notes:
            shown = self.read(locator).replace("\r\n", "\n")
            if content_hash(shown) != if_match:
                raise ConcurrentModificationError(f"'{locator}' was not written")
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken(
    "wrong_hash",
    saying="returned 'dir/note.md'",
    also=("hash_is_the_currency", "hash_of_nothing", "update_keeps_a_rival_edit"),
)
class IgnoresConditions(Memory):
    def write(self, locator, content, *, if_match=None):
        return super().write(locator, content, if_match=None if isinstance(if_match, str) else if_match)


@broken("hash_is_the_currency", saying="returned 'dir/note.md'")
class TakesVersionsToo(Memory):
    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and locator in self._notes and self.info(locator).version == if_match:
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken("hash_of_nothing", saying="returned 'dir/note.md'")
class CreatesWhereAHashIsExpected(Memory):
    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and not self.exists(locator) and locator.parent not in self._notes:
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken("hash_of_nothing", saying="the store was changed all the same: 'dir'", also=("condition_on_directory",))
class MakesDirectoriesFirst(Memory):
    def write(self, locator, content, *, if_match=None):
        if isinstance(if_match, str) and not self.exists(locator.parent):
            self.mkdir(locator.parent)
        return super().write(locator, content, if_match=if_match)


@broken("absent_creates", saying="raised ConcurrentModificationError", also=("update", "update_keeps_a_rival_edit"))
class NeverCreatesOnCondition(Memory):
    def write(self, locator, content, *, if_match=None):
        if if_match is ABSENT:
            raise ConcurrentModificationError(f"'{locator}' was not written")
        return super().write(locator, content, if_match=if_match)


@broken("absent_never_replaces", saying="returned 'dir/note.md'")
class TakesEmptyForAbsent(Memory):
    def write(self, locator, content, *, if_match=None):
        if if_match is ABSENT and locator in self._notes and not self.read(locator):
            if_match = None
        return super().write(locator, content, if_match=if_match)


@broken("condition_on_directory", saying="raised the untyped IsADirectoryError")
class ConditionOnDirectoryIsARawError(Memory):
    def write(self, locator, content, *, if_match=None):
        try:
            return super().write(locator, content, if_match=if_match)
        except LocatorConflictError:
            if if_match is not None:
                raise IsADirectoryError(21, "Is a directory") from None
            raise


@broken(
    "update",
    saying="the text that update handed over gave [None, 'line']",
    also=("matching_hash", "absent_creates"),
)
class LosesTheLastNewline(Memory):
    def write(self, locator, content, *, if_match=None):
        if if_match is not None and isinstance(content, str):
            content = content.removesuffix("\n")
        return super().write(locator, content, if_match=if_match)


@broken("update_keeps_a_rival_edit", saying="read('new.md') gave 'mine' and not 'rival mine'")
class RemembersAbsence(Memory):
    """Answers `ABSENT` from what it saw when it last looked."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self._missed = set()

    def read(self, locator):
        try:
            return super().read(locator)
        except NotFoundError:
            self._missed.add(locator)
            raise

    def write(self, locator, content, *, if_match=None):
        if if_match is ABSENT and locator in self._missed and not self._is_directory(locator):
            if_match = None
        return super().write(locator, content, if_match=if_match)

    def _is_directory(self, locator):
        return locator in self._directories
