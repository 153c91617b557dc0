"""File stores that treat files and other programs badly."""

from __future__ import annotations

import os
import pathlib
import stat

from broken_backends.table import Files, broken

from agentm_kernel.errors import InvalidContentError, NotFoundError, StorageIOError
from agentm_kernel.files.store import FileStore
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.locator import Locator


@broken("device_path", saying="device_path('dir/note.md') gave PosixPath(")
class GivesPaths(Files):
    def device_path(self, locator):
        return pathlib.Path(super().device_path(locator))


@broken(
    "bytes_on_disk",
    saying="the file gave b'",
    also=(
        "edits_of_other_programs",
        "matching_hash",
        "info_size",
        "empty_note_exists",
        "file_that_is_not_text",
        "size_limit",
        "conditions",
        "deleting",
        "hard_link",
    ),
)
class KeepsATrailer(Files):
    """Appends a line of its own to each file, and hides it from readers."""

    _TRAILER = "%% agentm %%"

    def write(self, locator, content, *, if_match=None):
        if isinstance(content, str):
            content += self._TRAILER
        if isinstance(if_match, str) and self.exists(locator) and content_hash(self._quietly(locator)) == if_match:
            if_match = content_hash(self._quietly(locator) + self._TRAILER)
        return super().write(locator, content, if_match=if_match)

    def read(self, locator):
        return super().read(locator).removesuffix(self._TRAILER)

    def _quietly(self, locator):
        try:
            return self.read(locator)
        except (NotFoundError, InvalidContentError):
            return ""


@broken(
    "edits_of_other_programs",
    saying="read('dir/note.md') gave 'one\\n'",
    also=("root_vanishes", "root_replaced", "file_where_directory_was"),
)
class CachesWhatItWrote(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        self._cache = {}

    def write(self, locator, content, *, if_match=None):
        super().write(locator, content, if_match=if_match)
        self._cache[locator] = content
        return locator

    def delete(self, locator, *, if_match=None):
        super().delete(locator, if_match=if_match)
        self._cache.pop(locator, None)

    def read(self, locator):
        return self._cache[locator] if locator in self._cache else super().read(locator)


@broken("reading_creates_nothing", saying="the scratch directory gave [")
class MakesWhatIsAskedFor(Files):
    def device_path(self, locator):
        path = super().device_path(locator)
        if not locator.key:
            os.makedirs(os.path.join(path, ".git"), exist_ok=True)
        return path


@broken("file_that_is_not_text", saying="read('dir/note.md') returned")
class ReplacesBadBytes(Files):
    def read(self, locator):
        try:
            return super().read(locator)
        except InvalidContentError:
            if os.path.getsize(self.device_path(locator)) > 10_000:
                raise
            with open(self.device_path(locator), encoding="utf-8", errors="replace") as file:
                return file.read()


@broken("file_that_is_not_text", saying="read('dir/note.md') raised NotFoundError", also=("file_over_the_limit",))
class BadBytesAreAbsent(Files):
    def read(self, locator):
        try:
            return super().read(locator)
        except InvalidContentError:
            raise NotFoundError(f"'{locator}' does not exist") from None


@broken("file_over_the_limit", saying="read('dir/note.md') returned", also=("root_replaced",))
class ReadsAnySize(Files):
    def __init__(self, scratch):
        super().__init__(scratch)
        self._boundless = FileStore(scratch, size_limit=1 << 40)

    def read(self, locator):
        return self._boundless.read(locator)


@broken("mode_is_kept", saying="the mode after a write gave '0o644' and not '0o600'")
class MakesEverythingReadable(Files):
    def write(self, locator, content, *, if_match=None):
        super().write(locator, content, if_match=if_match)
        os.chmod(self.device_path(locator), 0o644)
        return locator


@broken("hard_link", saying="the file outside gave b'inside\\n'")
class WritesInPlaceWhereLinked(Files):
    def write(self, locator, content, *, if_match=None):
        path = self.device_path(locator)
        if os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode) and os.stat(path).st_nlink > 1:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            return locator
        return super().write(locator, content, if_match=if_match)


@broken("file_where_directory_was", saying="read('dir/note.md') raised StorageIOError")
class ExpectsADirectory(Files):
    def read(self, locator):
        if locator.parent == Locator("dir") and os.path.isfile(self.device_path(locator.parent)):
            raise StorageIOError(f"'{locator}' has no directory")
        return super().read(locator)
