"""Stores that remember the versions of a note wrongly."""

from __future__ import annotations

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError
from agentm_kernel.seam.facets import History, Version


class Remembering(Memory, History):
    """Sound: keeps every text that was written."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self._kept = {}

    def write(self, locator, content, *, if_match=None):
        written = super().write(locator, content, if_match=if_match)
        self._kept.setdefault(locator, []).append(content)
        return written

    def versions(self, locator):
        kept = self._kept.get(locator, [])
        return [Version(str(number), float(number)) for number in reversed(range(len(kept)))]

    def read_version(self, locator, version_id):
        kept = self._kept.get(locator, [])
        if not version_id.isdigit() or int(version_id) >= len(kept):
            raise NotFoundError(f"'{locator}' has no version {version_id}")
        return kept[int(version_id)]


@broken("versions_are_what_was_written", saying="holds '2', which is no Version")
class TellsOnlyIds(Remembering):
    def versions(self, locator):
        return [version.id for version in super().versions(locator)]


@broken("versions_are_what_was_written", saying="which is no list", also=("versions_of_nothing",))
class TellsVersionsOneByOne(Remembering):
    def versions(self, locator):
        return iter(super().versions(locator))


@broken("versions_are_what_was_written", saying="the versions read ['three\\n', 'three\\n', 'three\\n']")
class ReadsWhatIsThereNow(Remembering):
    def read_version(self, locator, version_id):
        super().read_version(locator, version_id)
        return self.read(locator)


@broken("versions_are_what_was_written", saying="the versions read ['one\\n', 'two\\n', 'three\\n']")
class TellsTheOldestFirst(Remembering):
    def versions(self, locator):
        return super().versions(locator)[::-1]


@broken("versions_of_nothing", saying="read_version('dir/note.md', 'no-such-version') returned 'three\\n'")
class ReadsTheLatestInstead(Remembering):
    def read_version(self, locator, version_id):
        return super().read_version(locator, version_id if version_id.isdigit() else "2")


@broken("versions_of_nothing", saying="raised the untyped KeyError")
class KnowsOnlyWhatWasWritten(Remembering):
    def versions(self, locator):
        self._kept[locator]
        return super().versions(locator)
