"""What this device knows to be good: the guarded notes as leaves of a tree, in a file outside of the store.

One file, replaced atomically under a lock. A note that is about to be written is entered as pending first: so at
every moment what lies in the store is either known or pending, however the writer ends, and nobody who reads between
the two takes it for a stranger's change.
"""

from __future__ import annotations

import os
import time

from agentm_checkpoint.cids import cid_text, decode_node, encode_node, matches, node_cid
from agentm_kernel.plugin import IntegrityError, StorageIOError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from agentm_checkpoint.sections import Mark
    from agentm_checkpoint.tree import Leaf

    Signature = tuple[int, int, int, int]

FORMAT = "agentm-known-good/1"
_SETTLED_NS = 2_000_000_000


class Lock:
    """Why a note is locked."""

    __slots__ = ("since", "what")

    def __init__(self, since: int, what: str) -> None:
        self.since = since
        self.what = what


class KnownGood:
    """The record as it was read. Changed only by an `Edit`."""

    def __init__(self, fields: dict[str, Any] | None = None) -> None:
        self.fields = fields or {"format": FORMAT, "good": {}, "locked": {}, "pending": {}}
        self._good: dict[str, list[Any]] = self.fields["good"]
        self._pending: dict[str, list[Any] | None] = self.fields["pending"]
        self._locked: dict[str, list[Any]] = self.fields["locked"]

    def accepts(self, key: str, leaf: Leaf | None) -> bool:
        """Whether this is what the note may be; `None` for a note that is not there."""
        good = self._good.get(key)
        if (good is None) if leaf is None else (good is not None and good[0] == leaf[0] and good[1] == leaf[1]):
            return True
        return self.expects(key, leaf)

    def expects(self, key: str, leaf: Leaf | None) -> bool:
        """Whether this is what a writer was about to make of the note."""
        if key not in self._pending:
            return False
        pending = self._pending[key]
        return pending is None if leaf is None else pending is not None and tuple(pending) == leaf

    def leaf(self, key: str) -> Leaf | None:
        good = self._good.get(key)
        return (good[0], good[1]) if good else None

    def marks(self, key: str) -> list[Mark]:
        """The sections of the note as it was known."""
        good = self._good.get(key)
        return [(label, digest) for label, digest in good[2]] if good else []

    def leaves(self) -> dict[str, Leaf]:
        return {key: (good[0], good[1]) for key, good in self._good.items()}

    def lock(self, key: str) -> Lock | None:
        found = self._locked.get(key)
        return Lock(found[0], found[1]) if found else None

    def locks(self) -> dict[str, Lock]:
        return {key: Lock(since, what) for key, (since, what) in self._locked.items()}

    def root(self) -> str:
        """The root of the tree of what is known."""
        from agentm_checkpoint.tree import build_tree

        return cid_text(build_tree(self.leaves())[0].cid)


class Edit(KnownGood):
    """The record while it is being changed: nobody else changes it meanwhile."""

    def __init__(self, before: KnownGood, save: Callable[[bytes], None]) -> None:
        super().__init__(before.fields)
        self._save = save

    def expect(self, key: str, leaf: Leaf | None) -> None:
        """The note is about to become this; `None` if it is about to go."""
        self._pending[key] = None if leaf is None else [*leaf]
        self.save()

    def give_up(self, key: str) -> None:
        """What was expected did not happen."""
        self.drop(key)
        self.save()

    def leftovers(self) -> list[str]:
        """What is expected although nobody who holds the record has said so."""
        return [*self._pending]

    def drop(self, key: str) -> None:
        self._pending.pop(key, None)

    def settle(self, key: str, leaf: Leaf | None, marks: list[Mark]) -> None:
        """The note is this now, and that is good."""
        self._pending.pop(key, None)
        self._locked.pop(key, None)
        if leaf is None:
            self._good.pop(key, None)
        else:
            self._good[key] = [*leaf, [[*mark] for mark in marks]]

    def add_lock(self, key: str, what: str) -> bool:
        """Lock the note; whether it was not locked before."""
        if key in self._locked:
            return False
        self._locked[key] = [int(time.time()), what]
        return True

    def save(self) -> None:
        body = encode_node(self.fields)
        self._save(node_cid(body) + body)


class Record:
    """The file. `current()` is cheap enough for every read of a guarded note."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.path = os.path.join(folder, "known-good.cbor")
        self._last = KnownGood()
        self._signature: Signature | None = None

    def current(self) -> KnownGood:
        """What is known now."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return KnownGood()
        except OSError as error:
            raise self._unreadable(error) from error
        signature = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if signature != self._signature:
            self._last = self.read()
            # A file that young could be replaced by one that looks the same: its signature is not to be relied on.
            is_settled = time.time_ns() - status.st_ctime_ns > _SETTLED_NS
            self._signature = signature if is_settled else None
        return self._last

    def read(self) -> KnownGood:
        """The file, whatever was read before."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return KnownGood()
        except OSError as error:
            raise self._unreadable(error) from error
        cid, body = data[:36], data[36:]
        fields = decode_node(body) if len(cid) == 36 and matches(cid, body) else None
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise IntegrityError(
                f"the record of what is known to be good, {self.path}, is damaged",
                hint="move it away, look at the guarded notes, and run `agentm checkpoint accept`",
            )
        return KnownGood(fields)

    def edit(self) -> _Editing:
        """`with record.edit() as edit:` holds the record's lock; what was changed is saved at the end."""
        return _Editing(self)

    def _unreadable(self, error: OSError) -> StorageIOError:
        return StorageIOError(
            f"the record of what is known to be good, {self.path}, cannot be read: {error.strerror}",
            errno=error.errno,
            hint="check its permissions; guarded notes are not read without it",
        )


class _Editing:
    def __init__(self, record: Record) -> None:
        self._record = record

    def __enter__(self) -> Edit:
        from agentm_checkpoint.directories import make_folder
        from agentm_kernel.plugin import store_mutex

        make_folder(self._record.folder)
        self._mutex = store_mutex(self._record.folder)
        self._mutex.__enter__()
        try:
            self._edit = Edit(self._record.read(), self._write)
        except BaseException:
            self._mutex.__exit__(None, None, None)
            raise
        return self._edit

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if value is None:
                self._edit.save()
        finally:
            self._mutex.__exit__(kind, value, trace)

    def _write(self, data: bytes) -> None:
        from agentm_kernel.plugin import atomic_write

        atomic_write(self._record.path, data)
