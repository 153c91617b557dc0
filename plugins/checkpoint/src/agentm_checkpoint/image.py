"""The local image: every checkpoint of one store in one file, which only ever grows or is replaced as a whole.

It is a CAR archive. The header names a block that says whose image it is; then come the blocks of one checkpoint
after the other, each checkpoint closed by its snapshot. The blocks are on the disk before the snapshot is written,
so a snapshot that is there is complete. Whatever comes after the last one is what a writer that was killed left.

Reading executes nothing, changes nothing and believes nothing: a block is compared with its identifier each time it
is taken out. Where the file is damaged, what is whole before and after that place is found all the same, and only the
checkpoints that need what was there are broken.
"""

from __future__ import annotations

import os

from agentm_checkpoint.beginning import IMAGE_FORMAT, preamble, said_by
from agentm_checkpoint.car import encode_frame
from agentm_checkpoint.cids import cid_text, matches
from agentm_checkpoint.directories import make_folder
from agentm_checkpoint.index import MARK, Index
from agentm_checkpoint.reading import follow, reachable
from agentm_kernel.plugin import (
    ConcurrentModificationError,
    IntegrityError,
    NotFoundError,
    StorageIOError,
    atomic_write,
    store_mutex,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import RawIOBase

    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.device_state import DeviceState
    from agentm_checkpoint.snapshot import Snapshot


class Image:
    """The image at `path` as it was when it was opened; `append` brings it up to date first."""

    def __init__(self, path: str, store: str) -> None:
        self.path = path
        self.store = store
        self._preamble = preamble(store)
        self._index = Index()
        self._inode = 0
        self.size = 0
        self.damage: str | None = None
        """What is wrong with the file, if anything was met; snapshots that need nothing of it are usable."""
        self._view = memoryview(b"")
        """As much of the file as was needed so far: all that it had then, or nothing."""
        self.reload()

    # -- reading ----------------------------------------------------------------------------------------------

    @property
    def snapshots(self) -> list[Snapshot]:
        """Oldest first."""
        return self._index.snapshots

    def reload(self) -> None:
        """Look at the file as it is now. No file is an image without snapshots."""
        try:
            status = os.stat(self.path)
            index = Index.load(self.path, self.store, status)
        except FileNotFoundError:
            self._index, self._inode, self.size, self.damage, self._view = Index(), 0, 0, None, memoryview(b"")
        except OSError as error:
            raise self._failed("read", error) from error
        else:
            if index is None:
                self.scan()
            else:
                self._index, self._inode, self.size, self.damage = index, status.st_ino, status.st_size, None
                self._view = memoryview(b"")

    def scan(self) -> None:
        """Go through all of the file and compare every block, whatever is remembered of it."""
        data = self._read()
        self._index, self.size, self.damage, self._view = Index(), len(data), None, memoryview(data)
        if not data:
            self.damage = f"the image {self.path} is empty" if self._inode else None
            return
        is_ours = data.startswith(self._preamble)
        said = {} if is_ours else said_by(data)
        if said.get("store", self.store) != self.store:
            self.damage = f"the image {self.path} is that of another store"
            return
        if said.get("format", IMAGE_FORMAT) != IMAGE_FORMAT:
            self._index.unusable = "is of a format that this agentm does not know"
        else:
            self._index.scan(data, len(self._preamble) if is_ours else 0)
        self.damage = self._describe_damage(is_ours)

    def _describe_damage(self, is_ours: bool) -> str | None:
        index = self._index
        if index.unusable is not None:
            return f"the image {self.path} {index.unusable}"
        gaps = [gap for gap in index.gaps if gap[0] < index.end] if is_ours else index.gaps
        if gaps:
            bad = sum(end - start for start, end in gaps)
            return f"the image {self.path} is damaged: {bad:,} bytes at byte {gaps[0][0]:,} are no block" + (
                f", and {len(gaps) - 1} more such places" if len(gaps) > 1 else ""
            )
        rest = self.size - index.end
        return f"the image {self.path} ends in {rest:,} bytes of a checkpoint that is not complete" if rest else None

    def _read(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                self._inode = os.fstat(file.fileno()).st_ino
                return file.read()
        except FileNotFoundError:
            self._inode = 0
            return b""
        except OSError as error:
            raise self._failed("read", error) from error

    def _load(self) -> None:
        """Read what the index speaks of. If the file was replaced meanwhile, the index is another one then."""
        inode = self._inode
        self._view = memoryview(self._read())
        if self._inode != inode or len(self._view) < self.size:
            self.scan()

    def _block(self, cid: Cid) -> memoryview | None:
        """The block of `cid`, not compared with it; hashing a view spares a copy of every note."""
        place = self._index.place(cid)
        if place is not None and place[1] > len(self._view):
            self._load()
            place = self._index.place(cid)
        return None if place is None else self._view[place[0] : place[1]]

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._index

    def fetch(self, cid: Cid) -> bytes:
        """The block of `cid`, compared with it."""
        view = self._block(cid)
        if view is None:
            raise IntegrityError(
                f"the image {self.path} lacks the block {cid_text(cid)}",
                hint="`agentm checkpoint verify` shows which checkpoints are whole; `pull` gets one from IPFS",
            )
        if not matches(cid, view):
            raise IntegrityError(
                f"the block {cid_text(cid)} in the image {self.path} is damaged",
                hint="`agentm checkpoint verify` shows what is whole; `create --full` replaces damaged blocks",
            )
        return bytes(view)

    def is_whole(self, cid: Cid, size: int | None = None) -> bool:
        """Whether the block is there, undamaged, and of that size."""
        view = self._block(cid)
        return view is not None and (size is None or len(view) == size) and matches(cid, view)

    def newest(self, store: str) -> Snapshot | None:
        """The last snapshot that was taken of that store, not of another one that was pulled."""
        return self._index.newest(store)

    def latest(self) -> Snapshot | None:
        """The newest snapshot that somebody wanted; one that a restore takes of what it replaces is never meant."""
        return next((snapshot for snapshot in reversed(self.snapshots) if not snapshot.automatic), None)

    def device_state(self, snapshot: Snapshot) -> DeviceState | None:
        """What this device kept of its checkouts together with that snapshot."""
        return self._index.device_states.get(snapshot.id)

    def find(self, name: str) -> Snapshot:
        """The snapshot that `name` means: `latest`, `latest~N`, an id, or the beginning of one id."""
        base, tilde, back = name.partition("~")
        if base == "latest" and (not tilde or back.isdigit()):
            steps = int(back or 0)
            wanted = [snapshot for snapshot in self.snapshots if not snapshot.automatic]
            if steps < len(wanted):
                return wanted[-1 - steps]
            raise NotFoundError(
                f"there is no checkpoint '{name}': the image has {len(wanted)}",
                hint="`agentm checkpoint list`",
            )
        found = {snapshot.id: snapshot for snapshot in self.snapshots if snapshot.id.startswith(name)}
        if len(found) == 1 and len(name) > len("bafyrei"):
            return next(iter(found.values()))
        problem = f"{len(found)} checkpoints begin with" if len(found) > 1 else "no checkpoint here is called"
        raise NotFoundError(f"{problem} {ascii(name)}", hint="`agentm checkpoint list` shows what there is")

    def find_certain(self, name: str) -> Snapshot:
        """As `find`, but on a damaged image only an id will do: the newest may be what the damage took."""
        snapshot = self.find(name)
        if self.damage and name.startswith("latest"):
            raise IntegrityError(
                f"{self.damage}, so '{name}' may not be the checkpoint that you mean; of what is there it is "
                f"{snapshot.id}, taken {snapshot.when}",
                hint=f"name it: `{snapshot.id}`; `agentm checkpoint verify` shows which ones are whole",
            )
        return snapshot

    # -- writing ----------------------------------------------------------------------------------------------

    def append(self, blocks: Mapping[Cid, bytes], snapshot: Snapshot, device: DeviceState | None = None) -> None:
        """Add a snapshot and those of its blocks that the image lacks; on return all of it is on the disk.

        `ConcurrentModificationError` if somebody has pruned the image meanwhile and with it what it had.
        """
        make_folder(os.path.dirname(self.path))
        try:
            with store_mutex(os.path.dirname(self.path)):
                is_another = not self._is_current()
                if is_another:
                    self.reload()
                if self._repair(blocks) or is_another:
                    self._check_complete(blocks, snapshot, device)
                self._write(blocks, snapshot, device)
        except OSError as error:
            if isinstance(error, StorageIOError):
                raise
            raise self._failed("write", error) from error

    def _check_complete(
        self, blocks: Mapping[Cid, bytes], snapshot: Snapshot, device: DeviceState | None = None
    ) -> None:
        roots = [snapshot.root.cid, *([device.root.cid] if device else [])]
        if not self._has_all(roots, blocks, set()):
            raise ConcurrentModificationError(
                f"the image {self.path} lost blocks while a checkpoint was taken", hint="take the checkpoint again"
            )

    def _has_all(self, roots: Iterable[Cid], blocks: Mapping[Cid, bytes], whole: set[Cid]) -> bool:
        """Whether everything below `roots` is in the image or among `blocks`."""

        def fetch(cid: Cid) -> bytes:
            return blocks[cid] if cid in blocks else self.fetch(cid)

        try:
            return all(follow(root, fetch, lambda cid: cid in blocks or cid in self, whole) is None for root in roots)
        except IntegrityError:
            return False

    def _is_current(self) -> bool:
        """Whether the file is, for certain, the one that was opened: it only grows, or is another file."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return not self.size
        return (status.st_ino, status.st_size) == (self._inode, self.size)

    def _write(self, blocks: Mapping[Cid, bytes], snapshot: Snapshot, device: DeviceState | None) -> None:
        """Blocks, then to the disk, then the snapshot, then to the disk: in this order, whatever happens between."""
        beginning = b"" if self.size else self._preamble
        pieces = [beginning, *(encode_frame(cid, block) for cid, block in blocks.items())]
        if device is not None:
            pieces.append(encode_frame(device.cid, device.block))
        added = b"".join(pieces)
        closing = encode_frame(snapshot.cid, snapshot.block)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            for piece in (added, closing):
                _write_all(file, piece)
                os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        if beginning:
            _sync_folder(os.path.dirname(self.path))
        self._index.add_written(added + closing, len(beginning), self.size)
        self._inode, self.size = status.st_ino, status.st_size
        self._index.save(self.path, self.store, status)

    def _repair(self, blocks: Mapping[Cid, bytes]) -> bool:
        """Make a sound file of a damaged one; whether there was anything to do, for then blocks may have gone.

        What a killed writer left is cut off. Of any other damage a copy is set aside first, never thrown away; the
        image then keeps every checkpoint that is whole, or that `blocks` make whole again. What a newer agentm wrote
        is not damaged, and is left as it is.
        """
        if not self.damage:
            return False
        if self._index.unusable is not None:
            raise IntegrityError(
                f"{self.damage}; nothing was added to it",
                hint="upgrade agentm; or move the file away, and the next checkpoint begins another one",
            )
        if not self.size or self._ends_in_leftovers():
            os.truncate(self.path, self._index.end)
        else:
            _keep_copy(self.path, self._free_name("damaged"))
            whole: set[Cid] = set()
            kept = [shot for shot in self.snapshots if self._has_all([shot.root.cid], blocks, whole)]
            self.rewrite(kept, blocks)
        self.reload()
        return True

    def _ends_in_leftovers(self) -> bool:
        """Whether all that is wrong is a checkpoint at the end that nobody completed."""
        index = self._index
        rest = bytes(self._view[index.end :])
        is_sound = index.end > 0 and self._view[: len(self._preamble)] == self._preamble
        return is_sound and not any(start < index.end for start, _ in index.gaps) and MARK not in rest

    def rewrite(self, kept: Iterable[Snapshot], blocks: Mapping[Cid, bytes] | None = None) -> None:
        """Replace the file by one that holds exactly `kept`. The caller has the lock, or is alone.

        `blocks` stand in for what the image lacks.
        """
        spare = blocks or {}
        devices = self._index.device_states
        written: set[Cid] = set()
        pieces = [self._preamble]

        def fetch(cid: Cid) -> bytes:
            return self.fetch(cid) if cid in self or cid not in spare else spare[cid]

        def add(root: Cid) -> None:
            for cid in reachable(root, fetch):
                if cid not in written:
                    written.add(cid)
                    pieces.append(encode_frame(cid, fetch(cid)))

        for snapshot in kept:
            add(snapshot.root.cid)
            device = devices.get(snapshot.id)
            if device is not None and self._has_all([device.root.cid], spare, set()):
                add(device.root.cid)
                pieces.append(encode_frame(device.cid, device.block))
            pieces.append(encode_frame(snapshot.cid, snapshot.block))
        atomic_write(self.path, b"".join(pieces))

    def prune(self, keep: int) -> list[Snapshot]:
        """Forget all but the newest `keep` snapshots, and what restores took before those; the ones that went.

        A damaged image is left as it is.
        """
        with store_mutex(os.path.dirname(self.path)):
            self.reload()
            if self.damage:
                raise IntegrityError(
                    f"{self.damage}; it was not pruned", hint="run `agentm checkpoint create` first, which repairs it"
                )
            gone = self.surplus(keep)
            if gone:
                self.rewrite(self.snapshots[len(gone) :])
        self.reload()
        return gone

    def surplus(self, keep: int) -> list[Snapshot]:
        """The snapshots that are older than the newest `keep`; those that restores take are not counted."""
        counted = [number for number, snapshot in enumerate(self.snapshots) if not snapshot.automatic]
        return self.snapshots[: counted[-keep]] if len(counted) >= keep else []

    def _free_name(self, word: str) -> str:
        number = 1
        while os.path.lexists(name := f"{self.path}.{word}-{number}"):
            number += 1
        return name

    def _failed(self, verb: str, error: OSError) -> StorageIOError:
        return StorageIOError(
            f"cannot {verb} the image {self.path}: {error.strerror}",
            errno=error.errno,
            hint="check the disk and the permissions; what was in the image is still there",
        )


def _keep_copy(path: str, name: str) -> None:
    """A second name for the file as it is: the first is about to get another file."""
    try:
        os.link(path, name)
    except OSError:  # a file system without links
        with open(path, "rb") as file:
            atomic_write(name, file.read())


def _write_all(file: RawIOBase, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[file.write(view) or 0 :]


def _sync_folder(folder: str) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
