"""What this host has seen of a folder that other programs write to as well: the content hash of every note.

The record lies in this device's state directory, a line for each note; of several lines, the last one counts. It is
knowledge about the store and no part of it: where it is lost, the next look is a first look. A write or a removal is
recorded before it is made, so no process of this host takes another's for a stranger's.
"""

from __future__ import annotations

import os

from agentm_kernel.plugin import ABSENT, AgentmError, Frozen, StorageIOError, content_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agentm_kernel.plugin import Absent

_FOLDER = "watched"
_LOOKED = ""
"""The key under which it is recorded that the whole store was looked at: no note has it."""


class Sighting(Frozen):
    """One note as it was seen."""

    __slots__ = ("version", "digest")
    version: str
    """The store's change token; empty for what this host wrote itself, because another program may have been next."""
    digest: str | None
    """The content hash; `None` for a note that this host removed."""

    def __init__(self, version: str, digest: str | None) -> None:
        self._set(version=version, digest=digest)


class Sightings:
    """The sightings of the store at `place`. With `may_write` false, what is noted stays in this process."""

    def __init__(self, state_dir: str, place: str, *, may_write: bool) -> None:
        self._folder = os.path.join(state_dir, _FOLDER)
        self._path = os.path.join(self._folder, f"{content_hash(place)[:32]}.jsonl")
        self._may_write = may_write
        self._recorded: dict[str, Sighting] | None = None
        self._read: dict[str, str] = {}

    def condition_for(self, key: str) -> str | Absent | None:
        """What must be stored now for this host to have seen it; `None` if it never looked there."""
        if key in self._read:
            return self._read[key]
        sighting = self._all().get(key)
        if sighting is not None:
            return ABSENT if sighting.digest is None else sighting.digest
        return ABSENT if self.has_looked else None

    @property
    def has_looked(self) -> bool:
        """Whether this host has seen the whole store, so that what is not recorded was not there."""
        return _LOOKED in self._all()

    def recorded(self) -> Mapping[str, Sighting]:
        """Every note that was seen, and not removed since."""
        return {key: seen for key, seen in self._all().items() if key != _LOOKED and seen.digest is not None}

    def _all(self) -> dict[str, Sighting]:
        if self._recorded is None:
            self._recorded = self._load()
        return self._recorded

    def was_read(self, key: str, digest: str) -> None:
        """A reader of this process saw the note; that counts for this process, and reading leaves no trace."""
        self._read[key] = digest

    def will_write(self, key: str, digest: str | None) -> None:
        """This host is about to write the note, or to remove it (`None`)."""
        sighting = Sighting("", digest)
        self._read.pop(key, None)
        if self._recorded is not None:
            self._recorded[key] = sighting
        if self._may_write:
            line = _line(key, sighting)
            self._change(lambda: self._append(line))

    def replace(self, sightings: dict[str, Sighting]) -> None:
        """A whole look: this is everything there is."""
        self._recorded = {_LOOKED: Sighting("", ""), **sightings}
        self._read.clear()
        if self._may_write:
            text = "".join(_line(key, seen) for key, seen in self._recorded.items())
            self._change(lambda: self._rewrite(text))

    def is_own(self, key: str, digest: str | None) -> bool:
        """Whether this host has seen or made the note as it is now, in whichever of its processes."""
        if digest is not None and self._read.get(key) == digest:
            return True
        return any(line[0] == key and line[2] == digest for line in self._lines())

    def _change(self, change: Callable[[], object]) -> None:
        """Without the record a later write could not tell whose change it meets: so nothing is written without it."""
        from agentm_kernel.plugin import make_private_folder, store_mutex

        try:
            make_private_folder(self._folder)
            with store_mutex(self._folder):
                change()
        except AgentmError:
            raise
        except OSError as error:
            raise StorageIOError(
                f"cannot record in {self._path} what agentm has seen of the store: {error.strerror}",
                errno=error.errno,
                hint="check the permissions and the free space of that folder; nothing was written",
            ) from error

    def _rewrite(self, text: str) -> None:
        from agentm_kernel.plugin import atomic_write

        atomic_write(self._path, text)

    def _append(self, line: str) -> None:
        with open(self._path, "ab", opener=_for_this_user_alone) as file:
            file.write(line.encode())

    def _load(self) -> dict[str, Sighting]:
        return {key: Sighting(version, digest) for key, version, digest in self._lines()}

    def _lines(self) -> Iterator[tuple[str, str, str | None]]:
        import json

        try:
            with open(self._path, "rb") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                key, version, digest = json.loads(line)
            except ValueError:
                continue  # cut off when a writer was killed; the note is then one that was never seen
            yield key, version, digest


def _line(key: str, sighting: Sighting) -> str:
    """It begins with a line end, too: what was cut off before it takes nothing of it along."""
    import json

    return f"\n{json.dumps([key, sighting.version, sighting.digest])}\n"


def _for_this_user_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
