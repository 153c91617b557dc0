"""The history of a store with what its notes were elsewhere: under another name, or in the store before this one.

A store has word of every move of its notes. An entry of the history is of the place where its note was then, and of
every place to which the note has gone since. Checkpoints of the stores that notes came from are found likewise.
"""

from __future__ import annotations

from agentm_checkpoint.capture import open_image_of
from agentm_checkpoint.cids import cid_text, raw_cid
from agentm_checkpoint.directories import store_id
from agentm_checkpoint.guard import below_guard
from agentm_checkpoint.replaced import open_history_of
from agentm_checkpoint.sealed import is_sealed, opened
from agentm_kernel.plugin import IntegrityError, Locator, NotFoundError, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_checkpoint.history import Changes, Entry
    from agentm_checkpoint.image import Image
    from agentm_kernel.plugin import Device, StorageBackend

_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"


class Move:
    """What was at `old` in `store` until `time` is at `new` in `into`."""

    __slots__ = ("into", "new", "old", "store", "time")

    def __init__(self, locator: Locator, text: str) -> None:
        import json

        try:
            fields = json.loads(text)
            self.time = int(fields["time"])
            self.store, self.into = str(fields["store"]), str(fields["into"])
            self.old, self.new = Locator(fields["from"]), Locator(fields["to"])
        except (ValueError, KeyError, TypeError) as error:
            raise IntegrityError(
                f"'{locator}' should say where notes went, and cannot be understood",
                hint=f"bring it back from a backup, or delete {locator} in the store: history then ends at that move",
            ) from error

    def place_of(self, key: str) -> str | None:
        """Where what was at `key` is now; `None` if it is not among what went."""
        parts, old = key.split("/"), self.old.parts
        if tuple(parts[: len(old)]) != old:
            return None
        return "/".join((*self.new.parts, *parts[len(old) :]))


def read_moves(backend: StorageBackend) -> list[Move]:
    """Every move that the store has word of, in order; a single note before the folder that it was in."""
    moves = [Move(locator, backend.read(locator)) for locator in backend.list(Locator(layout.MOVES))]
    return sorted(moves, key=lambda move: (move.time, -len(move.old.parts)))


class Past:
    """What was changed on this device in the notes of one store, wherever they were at the time."""

    def __init__(self, store: str, files: dict[str, Changes], moves: list[Move]) -> None:
        self._store = store
        self._files = files
        self._of: dict[str, list[Entry]] = {}
        self._origin: dict[str, str] = {}
        for origin, changes in files.items():
            for entry in changes.entries:
                self._origin[entry.id] = origin
                for key in _places(store, origin, entry, moves):
                    self._of.setdefault(key, []).append(entry)
        if len(files) > 1:
            for entries in self._of.values():
                entries.sort(key=lambda entry: entry.time)

    @property
    def damage(self) -> str | None:
        """What is wrong with the files, if anything is; what is whole of them is used all the same."""
        damaged = ((origin, changes.damage()) for origin, changes in self._files.items())
        return next((f"the history of store {origin} is not whole: {why[0]}" for origin, why in damaged if why), None)

    @property
    def keys(self) -> Iterable[str]:
        return self._of

    @property
    def head(self) -> str | None:
        return self._files[self._store].head

    def of(self, key: str) -> list[Entry]:
        """What was changed in a note, oldest first."""
        return self._of.get(key, [])

    def what(self, key: str, entry: Entry) -> str:
        """The change in a few words: whether the note came from elsewhere, or was made again what it had been."""
        before = self.of(key)[: self.of(key).index(entry)]
        if entry.what == "created" and before and before[-1].key != key:
            return "moved here"
        same = next((other for other in reversed(before) if self._is_text(other, entry.new)), None)
        return f"back to {same.version}" if same is not None else entry.what

    def _is_text(self, entry: Entry, cid: str | None) -> bool:
        """Whether what `entry` replaced is the text with this id."""
        if entry.old is None or cid is None:
            return False
        try:
            return cid_text(raw_cid(self._files[self._origin[entry.id]].read(entry.old))) == cid
        except IntegrityError:
            return False  # it is damaged, which `verify` says

    def read(self, entry: Entry, backend: StorageBackend) -> bytes:
        """The bytes that were replaced, as the verbs of the store would have given them."""
        assert entry.old is not None
        origin = self._origin[entry.id]
        stored = self._files[origin].read(entry.old)
        if origin != self._store and stored.startswith(_ARMOR) and not is_sealed(backend):
            raise IntegrityError(
                f"that version of '{entry.key}' is of store {origin}, which was encrypted, and this one is not",
                hint="select the store before with `agentm config set storage.backend NAME`, and ask there",
            )
        if stored.startswith(_ARMOR) and not is_sealed(backend) and not _is_armored_now(backend, entry.key):
            raise IntegrityError(
                f"that version of '{entry.key}' is sealed: the store was encrypted then, and is plain now",
                hint="`agentm encryption init` on the device that made it plain, which has the keys, opens it again",
            )
        if is_sealed(backend) and not stored.startswith(_ARMOR):
            raise IntegrityError(
                f"that version of '{entry.key}' is in plain, as the note was stored then, and nothing plain is taken "
                "for a note of an encrypted store",
                hint="make it plain (`agentm encryption decrypt`), undo, and encrypt it again",
            )
        return opened(backend, entry.key, stored)


def _is_armored_now(backend: StorageBackend, key: str) -> bool:
    """Whether the note is an age file by itself, which anybody may keep as a note of a plain store."""
    try:
        return backend.read(Locator(key)).encode().startswith(_ARMOR)
    except NotFoundError:
        return False


def _places(store: str, origin: str, entry: Entry, moves: list[Move]) -> dict[str, None]:
    """The keys in `store` under which the note of `entry` was or is, from then on."""
    found = {(origin, entry.key): None}
    present = [(origin, entry.key)]
    for move in moves:
        if entry.time > move.time:
            continue
        for place in [place for place in present if place[0] == move.store]:
            key = move.place_of(place[1])
            if key is None or (move.into, key) == place:
                continue
            if move.into == move.store:
                present.remove(place)  # to another store, a copy goes
            present.append((move.into, key))
            found[move.into, key] = None
    return {key: None for at, key in found if at == store}


def open_past(backend: StorageBackend, device: Device) -> Past:
    """The past of the selected store, from everything that this device has kept."""
    moves = read_moves(backend)
    store = store_id(below_guard(backend))
    stores = dict.fromkeys([*(move.store for move in moves), store])
    return Past(store, {each: open_history_of(each, device).read() for each in stores}, moves)


def older_images(backend: StorageBackend, device: Device) -> list[Image]:
    """The images of the stores that the notes of this one came from, if this device has any checkpoint of them."""
    own = store_id(below_guard(backend))
    stores = dict.fromkeys(move.store for move in read_moves(backend) if move.store != own)
    return [image for image in (open_image_of(store, device) for store in stores) if image.snapshots]
