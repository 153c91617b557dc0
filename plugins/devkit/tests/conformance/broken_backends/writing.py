"""Backends that write something else, somewhere else, or where nothing may be written."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import LocatorConflictError
from agentm_kernel.seam.locator import Locator


@broken("write_returns_locator", saying="write('dir/note.md') gave None")
class ReturnsNothing(Memory):
    def write(self, locator, content, *, if_match=None):
        super().write(locator, content, if_match=if_match)


class Text(str):
    """What some template and parser libraries return for text."""


@broken(
    "read_back",
    saying="gave 'one\\ntwo\\n' as Text and not as str",
    also=("overwrite", "keys", "content", "conditions", "deleting", "writing"),
)
class ReadsAStringOfItsOwn(Memory):
    def read(self, locator):
        return Text(super().read(locator))


@broken(
    "overwrite",
    saying="after a second write gave 'short\\ner text than the next\\n'",
    also=("content", "conditions", "info_size"),
)
class DoesNotTruncate(Memory):
    def write(self, locator, content, *, if_match=None):
        before = self.read(locator) if locator in self._notes else ""
        if isinstance(content, str):
            content += before[len(content) :]
        return super().write(locator, content, if_match=if_match)


@broken(
    "parents_appear",
    saying="the store gave {'c.md': None}",
    also=(
        "keys",
        "reading",
        "writing",
        "directories",
        "listing",
        "conditions",
        "spelling",
        "deleting",
        "content",
        "errors",
    ),
)
class KeepsNoDirectories(Memory):
    """As a store that knows only names."""

    def list(self, locator):
        return [Locator(note.name) for note in self._notes] if not locator.key else []


@broken("neighbours", saying="'a/b.md.bak': '1\\n'", also=("list_children", "case_as_stored"))
class KeepsBackupsBesideNotes(Memory):
    def write(self, locator, content, *, if_match=None):
        before = self.read(locator) if locator in self._notes else None
        super().write(locator, content, if_match=if_match)
        if before is not None:
            super().write(Locator(f"{locator}.bak"), before)
        return locator


@broken("write_to_root", saying="write('', 'two\\n') returned ''")
class IgnoresTheRoot(Memory):
    def write(self, locator, content, *, if_match=None):
        if not locator.key and if_match is None:
            return locator
        return super().write(locator, content, if_match=if_match)


@broken("write_onto_directory", saying="write('dir', 'two\\n') returned 'dir'")
class ReplacesDirectories(Memory):
    def write(self, locator, content, *, if_match=None):
        if locator.key and if_match is None:
            self._directories.discard(locator)
        return super().write(locator, content, if_match=if_match)


@broken(
    "write_below_file", saying="write('dir/note.md/child.md', 'two\\n') returned", also=("condition_on_directory",)
)
class WritesBelowFiles(Memory):
    def write(self, locator, content, *, if_match=None):
        if locator.parent in self._notes:
            self._directories.add(locator.parent)
        return super().write(locator, content, if_match=if_match)


@broken("write_below_file", saying="the store was changed all the same: 'dir/half'", also=())
class MakesDirectoriesBeforeItRefuses(Memory):
    def write(self, locator, content, *, if_match=None):
        try:
            return super().write(locator, content, if_match=if_match)
        except LocatorConflictError:
            if locator.parent in self._notes and if_match is None:
                self.mkdir(Locator("dir/half"))
            raise


@broken("another_process_reads", saying="as another process sees it gave {}", persistent=True)
class KeepsItToItself(Memory):
    """Says that it outlives its process, and does not."""


@broken("mkdir_returns_locator", saying="mkdir('a/b') gave None")
class MkdirReturnsNothing(Memory):
    def mkdir(self, locator):
        super().mkdir(locator)


@broken("mkdir_makes_directory", saying="exists('a/b') gave False")
class MkdirDoesNothing(Memory):
    """As a store of objects, in which directories are only beginnings of names."""

    def mkdir(self, locator):
        before = set(self._directories)
        super().mkdir(locator)
        self._directories = before
        return locator


@broken("mkdir_again", saying="raised LocatorConflictError: 'a' exists already")
class MkdirOnlyOnce(Memory):
    def mkdir(self, locator):
        if self.exists(locator):
            raise LocatorConflictError(f"'{locator}' exists already")
        return super().mkdir(locator)


@broken("mkdir_onto_file", saying="mkdir('a/b.md') returned 'a/b.md'")
class MkdirTakesFilesForDirectories(Memory):
    def mkdir(self, locator):
        return locator if locator in self._notes else super().mkdir(locator)


@broken("mkdir_below_file", saying="raised the untyped NotADirectoryError")
class MkdirBelowFileIsARawError(Memory):
    def mkdir(self, locator):
        try:
            return super().mkdir(locator)
        except LocatorConflictError:
            if locator.parent.parent in self._notes:
                raise NotADirectoryError(20, "Not a directory") from None
            raise
