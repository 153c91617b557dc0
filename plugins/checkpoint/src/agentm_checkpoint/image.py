"""The local image: every checkpoint of one store in one file, which only ever grows or is replaced as a whole.

It is a CAR archive. The header names a block that says whose image it is; then come the blocks of one checkpoint
after the other, each checkpoint closed by its snapshot. The blocks are on the disk before the snapshot is written,
so a snapshot that is there is complete. Whatever comes after the last one is what a writer that was killed left.

Reading executes nothing, changes nothing and believes nothing: a block is compared with its identifier each time it
is taken out.
"""

from __future__ import annotations

import os

from agentm_checkpoint.car import encode_frame, encode_header
from agentm_checkpoint.cids import cid_text, encode_node, matches, node_cid
from agentm_checkpoint.index import MARK, Index
from agentm_checkpoint.places import make_folder
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
    from agentm_checkpoint.snapshot import Snapshot

IMAGE_FORMAT = "agentm-image/1"


class Image:
    """The image at `path` as it was when it was opened; `append` brings it up to date first."""

    def __init__(self, path: str, store: str) -> None:
        self.path = path
        self._store = store
        self._preamble = _preamble(store)
        self._index = Index()
        self._inode = 0
        self.size = 0
        self.damage: str | None = None
        """What is wrong with the file, if anything was met; the snapshots before that place are usable."""
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
            index = Index.load(self.path, self._store, status)
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
        """Go through all of the file, whatever is remembered of it."""
        data = self._read()
        self._index, self.size, self.damage, self._view = Index(), len(data), None, memoryview(data)
        if not data:
            return
        if data[: len(self._preamble)] != self._preamble:
            self.damage = f"the image {self.path} does not begin as the image of this store does"
            return
        self._index.scan(data, len(self._preamble))
        if self._index.damage is not None:
            self.damage = f"the image {self.path} {self._index.damage}"
        elif self._index.end < len(data):
            rest = len(data) - self._index.end
            self.damage = f"the image {self.path} ends in {rest:,} bytes of a checkpoint that is not complete"

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

    def damaged_blocks(self) -> set[Cid]:
        """Every block that is not what its identifier says, in the file as it is on the disk now."""
        self.scan()
        view = self._view
        return {cid for cid, start, end in self._index if not matches(cid, view[start:end])}

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
        return self.snapshots[-1] if self.snapshots else None

    def find(self, name: str) -> Snapshot:
        """The snapshot that `name` means: `latest`, `latest~N`, an id, or the beginning of one id."""
        base, tilde, back = name.partition("~")
        if base == "latest" and (not tilde or back.isdigit()):
            steps = int(back or 0)
            if steps < len(self.snapshots):
                return self.snapshots[-1 - steps]
            raise NotFoundError(
                f"there is no checkpoint '{name}': the image has {len(self.snapshots)}",
                hint="`agentm checkpoint list`",
            )
        found = {snapshot.id: snapshot for snapshot in self.snapshots if snapshot.id.startswith(name)}
        if len(found) == 1 and len(name) > len("bafyrei"):
            return next(iter(found.values()))
        problem = f"{len(found)} checkpoints begin with" if len(found) > 1 else "no checkpoint here is called"
        raise NotFoundError(f"{problem} {ascii(name)}", hint="`agentm checkpoint list` shows what there is")

    # -- writing ----------------------------------------------------------------------------------------------

    def append(self, blocks: Mapping[Cid, bytes], snapshot: Snapshot) -> None:
        """Add a snapshot and those of its blocks that the image lacks; on return all of it is on the disk.

        `ConcurrentModificationError` if somebody has pruned the image meanwhile and with it what it had.
        """
        make_folder(os.path.dirname(self.path))
        try:
            with store_mutex(os.path.dirname(self.path)):
                is_another = not self._is_current()
                if is_another:
                    self.reload()
                if self._repair() or is_another:
                    self._check_complete(blocks, snapshot)
                self._write(blocks, snapshot)
        except OSError as error:
            if isinstance(error, StorageIOError):
                raise
            raise self._failed("write", error) from error

    def _check_complete(self, blocks: Mapping[Cid, bytes], snapshot: Snapshot) -> None:
        from agentm_checkpoint.reading import reachable

        def fetch(cid: Cid) -> bytes:
            return blocks[cid] if cid in blocks else self.fetch(cid)

        try:
            is_complete = all(cid in blocks or cid in self for cid in reachable(snapshot.root.cid, fetch))
        except IntegrityError:
            is_complete = False
        if not is_complete:
            raise ConcurrentModificationError(
                f"the image {self.path} lost blocks while a checkpoint was taken", hint="take the checkpoint again"
            )

    def _is_current(self) -> bool:
        """Whether the file is, for certain, the one that was opened: it only grows, or is another file."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return not self.size
        return (status.st_ino, status.st_size) == (self._inode, self.size)

    def _write(self, blocks: Mapping[Cid, bytes], snapshot: Snapshot) -> None:
        """Blocks, then to the disk, then the snapshot, then to the disk: in this order, whatever happens between."""
        preamble = b"" if self.size else self._preamble
        added = b"".join([preamble, *(encode_frame(cid, block) for cid, block in blocks.items())])
        closing = encode_frame(snapshot.cid, snapshot.block)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            for piece in (added, closing):
                _write_all(file, piece)
                os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        if preamble:
            _sync_folder(os.path.dirname(self.path))
        self._index.scan(added + closing, len(preamble), self.size)
        self._inode, self.size = status.st_ino, status.st_size
        self._index.save(self.path, self._store, status)

    def _repair(self) -> bool:
        """Cut off what a killed writer left. What might hold more than that is set aside, never thrown away.

        Whether there was anything to do: then blocks may have gone.
        """
        if not self.damage:
            return False
        end = self._index.end
        if end and self._index.damage is None and MARK not in bytes(self._view[end:]):
            os.truncate(self.path, end)
        else:
            os.replace(self.path, self._free_name("damaged"))
            if self.snapshots:
                self.rewrite(self.snapshots)
        self.reload()
        return True

    def rewrite(self, kept: Iterable[Snapshot]) -> None:
        """Replace the file by one that holds exactly `kept`. The caller has the lock, or is alone."""
        from agentm_checkpoint.reading import reachable

        kept = list(kept)
        written: set[Cid] = set()
        pieces = [self._preamble]
        for snapshot in kept:
            for cid in reachable(snapshot.root.cid, self.fetch):
                if cid not in written:
                    written.add(cid)
                    pieces.append(encode_frame(cid, self.fetch(cid)))
            pieces.append(encode_frame(snapshot.cid, snapshot.block))
        atomic_write(self.path, b"".join(pieces))

    def prune(self, keep: int) -> list[Snapshot]:
        """Forget all but the newest `keep` snapshots; those that went. A damaged image is left as it is."""
        with store_mutex(os.path.dirname(self.path)):
            self.reload()
            if self.damage:
                raise IntegrityError(
                    f"{self.damage}; it was not pruned", hint="run `agentm checkpoint create` first, which repairs it"
                )
            gone = self.snapshots[:-keep] if keep else list(self.snapshots)
            if gone:
                self.rewrite(self.snapshots[len(gone) :])
        self.reload()
        return gone

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


def _preamble(store: str) -> bytes:
    """How the image of one store begins: the header and the block that the header names."""
    descriptor = encode_node({"format": IMAGE_FORMAT, "store": store})
    cid = node_cid(descriptor)
    return encode_header([cid]) + encode_frame(cid, descriptor)


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
