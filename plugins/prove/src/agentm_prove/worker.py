"""`python -m agentm_prove.worker PLACE DISK_BYTES`: does to its own store what it is asked, one line of JSON each.

It uses the store as any program does: through the device, the selection and every layer around the backend. The
process that started it takes it along when it dies.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentm_prove.syncing import SyncWatch

if TYPE_CHECKING:
    from typing import BinaryIO

    from agentm_kernel.plugin import StorageBackend

_DIE_WITH_PARENT, _SIGKILL = 1, 9


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a plugin prints may come among the answers
    _die_with_parent()
    place, disk_of = sys.argv[1], int(sys.argv[2])
    desk = Desk(answers, place)
    try:
        if disk_of:
            from agentm_prove.small_disk import mount_small_disk

            mount_small_disk(place, disk_of)
            os.mkdir(os.path.join(place, "store"))
    except OSError as error:
        desk.trouble = error
    for line in sys.stdin.buffer:
        desk.serve(json.loads(line))


def _die_with_parent() -> None:
    """A worker that is paused when its parent is killed could not notice by itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, _SIGKILL)


class Desk:
    """Takes requests. Each method `do_…` is a verb."""

    def __init__(self, answers: BinaryIO, place: str) -> None:
        self._answers = answers
        self._place = place
        self._store: StorageBackend | None = None
        self.trouble: OSError | None = None

    def serve(self, request: dict[str, Any]) -> None:
        verb = request.pop("verb")
        try:
            if self.trouble is not None:
                raise self.trouble
            done = getattr(self, f"do_{verb}")(**request)
        except Exception as error:  # noqa: BLE001 - whatever it is, the trial has to hear of it
            kinds = [kind.__name__ for kind in type(error).__mro__]
            message = getattr(error, "message", None) or str(error)
            self._tell(raised=kinds[0], kinds=kinds, message=message)
        else:
            self._tell(done=done)

    def _tell(self, **message: object) -> None:
        self._answers.write(json.dumps(message).encode() + b"\n")
        self._answers.flush()

    @property
    def store(self) -> StorageBackend:
        assert self._store is not None
        return self._store

    # -- opening ----------------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """Open the configured store. One that nobody has used yet is marked first, as its `init` command would."""
        from agentm_kernel.plugin import Device, Locator, adopt_store, open_unidentified

        device = Device.now()
        unidentified = open_unidentified(device)
        is_new = unidentified.known is None and not unidentified.backend.self_stamping
        if is_new and not unidentified.backend.list(Locator()):
            adopt_store(device, unidentified.backend, unidentified.protocol)
        self._store = device.renewed().store(read_only=False)

    def do_reopen(self) -> None:
        """The same, of a store that is in use."""
        from agentm_kernel.plugin import Device

        self._store = Device.now().store(read_only=False)

    def do_facts(self) -> dict[str, bool]:
        """What the store declares. It is files only if its folder is known as well."""
        declared = self.store.capabilities.replace(
            device_files=self.store.capabilities.device_files and os.path.isabs(self.store.describe())
        )
        return {name: getattr(declared, name) for name in declared.__slots__}

    # -- the verbs of a store ---------------------------------------------------------------------------------

    def do_read(self, key: str) -> str:
        from agentm_kernel import Locator

        return self.store.read(Locator(key))

    def do_write(self, key: str, text: str, after: str | None = None) -> None:
        """`after`: the text that must be there now."""
        from agentm_kernel.plugin import Locator, content_hash

        self.store.write(Locator(key), text, if_match=None if after is None else content_hash(after))

    def do_keys(self) -> list[str]:
        """Every note but the store's own."""
        from agentm_kernel.plugin import Locator, layout

        found = [info.locator for info in self.store.walk(Locator()) if not info.is_dir]
        return [locator.key for locator in found if locator.parts[0] != layout.META]

    def do_everything(self) -> str:
        """The text of every note and of every version that was kept beside one."""
        from agentm_kernel.plugin import ConflictCopies, Locator

        texts = [self.do_read(key) for key in self.do_keys()]
        copies = self.store.facet(ConflictCopies)
        if copies is not None:
            texts += [copies.read_copy(copy.copy) for copy in copies.conflict_copies(Locator())]
        return "\n".join(texts)

    def do_copies(self) -> list[list[str]]:
        """Each conflict copy that the store lists, with its note."""
        from agentm_kernel.plugin import ConflictCopies, Locator

        copies = self.store.facet(ConflictCopies)
        found = [] if copies is None else copies.conflict_copies(Locator())
        return [[copy.note.key, copies.read_copy(copy.copy)] for copy in found] if copies else []

    def do_file_of(self, key: str) -> str:
        return os.path.join(self.store.describe(), *key.split("/"))

    # -- work ---------------------------------------------------------------------------------------------------

    def do_add_lines(self, key: str, lines: list[str]) -> None:
        """Add lines to a note, each by a read and a write on condition."""
        from agentm_kernel import Locator, update

        for line in lines:
            update(self.store, Locator(key), lambda text, line=line: f"{text or ''}{line}\n")  # type: ignore[misc]

    def do_append_lines(self, key: str, lines: list[str]) -> None:
        """The same in place, where the store can."""
        from agentm_kernel.plugin import Appends, Locator

        appends = self.store.facet(Appends)
        if appends is None:
            self.do_add_lines(key, lines)
            return
        for line in lines:
            appends.append(Locator(key), f"{line}\n")

    def do_write_until_killed(self, key: str, size: int) -> None:
        """Write one version after the other, and say the number of each once it is written."""
        from agentm_kernel import Locator

        number = 0
        while True:
            number += 1
            self.store.write(Locator(key), whole_version(number, size))
            self._tell(said=number)

    def do_hold(self, key: str, text: str) -> None:
        """Take the store for oneself, say so, wait for a line, write, and give it back."""
        from agentm_kernel.plugin import Locator, store_mutex

        with store_mutex(self.store.describe()):
            self._tell(said="inside")
            sys.stdin.buffer.readline()
            self.store.write(Locator(key), text)

    def do_watched_changes(self) -> list[list[str]]:
        """Make, change, add to and delete notes, and see what of it was sent to the disk: complaints."""
        from agentm_kernel.plugin import Locator

        watch = SyncWatch()
        note = Locator("folder/note.md")
        path = self.do_file_of(note.key)
        complaints: list[list[str]] = []

        def judge(what: str, *, file: bool = True) -> None:
            missing = watch.missing(path if file else None, os.path.dirname(path))
            complaints.extend([what, each] for each in missing)
            watch.begin()

        with watch:
            self.store.write(Locator("first.md"), "the store's first note\n")
            self.store.write(note, "one\n")
            judge("a new note")
            self.store.write(note, "two\n")
            judge("a changed note")
            self.do_append_lines(note.key, ["three"])
            complaints.extend(["an added line", each] for each in watch.missing(path, None))
            watch.begin()
            if self.store.capabilities.delete:
                self.store.delete(note)
                judge("a deleted note", file=False)
        return complaints

    # -- the disk -----------------------------------------------------------------------------------------------

    def do_fill(self) -> int:
        """Fill the disk that the store lies on, which is a small one of this process alone. Bytes that went in."""
        with open(os.path.join(self._place, "filler"), "wb", buffering=0) as filler:
            written = 0
            try:
                while True:
                    written += filler.write(b"\0" * 4096)
            except OSError:
                return written

    def do_make_room(self) -> None:
        os.unlink(os.path.join(self._place, "filler"))


def whole_version(number: int, size: int) -> str:
    """A text of which every line says which version it belongs to."""
    line = f"version {number:012d}\n"
    return line * (size // len(line))


if __name__ == "__main__":
    threading.current_thread().name = "worker"
    main()
