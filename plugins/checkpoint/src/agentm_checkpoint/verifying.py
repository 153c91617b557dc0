"""Is everything there, and is it what its identifiers say? Asked of a whole checkpoint at a time."""

from __future__ import annotations

from agentm_checkpoint.reading import follow, part_cids, read_tree
from agentm_checkpoint.tree import MAX_PART
from agentm_kernel.plugin import IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.history import Changes
    from agentm_checkpoint.image import Image
    from agentm_checkpoint.snapshot import Snapshot
    from agentm_checkpoint.tree import Leaf


def verified_leaves(image: Image, snapshot: Snapshot) -> dict[str, Leaf]:
    """Every note of the snapshot, after all that it consists of was compared; `IntegrityError` otherwise."""
    leaves = read_tree(snapshot.root, image.fetch)
    for key, leaf in leaves.items():
        if leaf[0] <= MAX_PART:
            is_whole = image.is_whole(leaf[1], leaf[0])
        else:
            is_whole = all(image.is_whole(cid, size) for size, cid in part_cids(leaf, image.fetch))
        if not is_whole:
            raise _damaged(key)
    return leaves


class Finding:
    """What is wrong with one snapshot."""

    __slots__ = ("problem", "snapshot")

    def __init__(self, snapshot: Snapshot, problem: str) -> None:
        self.snapshot = snapshot
        self.problem = problem


class Verification:
    """What a look at every byte of an image found."""

    __slots__ = ("damage", "findings", "last_whole")

    def __init__(self, damage: str | None, findings: list[Finding], last_whole: Snapshot | None) -> None:
        self.damage = damage
        """What is wrong with the file as such."""
        self.findings = findings
        self.last_whole = last_whole
        """The newest snapshot that can be relied on."""

    @property
    def is_good(self) -> bool:
        return self.damage is None and not self.findings


def verify_image(image: Image) -> Verification:
    """Compare every block with its identifier, and follow every snapshot to the last of its notes.

    The newest is read as if it came from a stranger; the shape of the others was looked at when they came in, and
    equal hashes mean that it is the same.
    """
    image.scan()
    findings = []
    last_whole = None
    whole: set[Cid] = set()
    for snapshot in reversed(image.snapshots):
        try:
            if snapshot is image.snapshots[-1]:
                read_tree(snapshot.root, image.fetch, from_stranger=True)
            missing = follow(snapshot.root.cid, image.fetch, image.__contains__, whole)
            if missing is not None:
                raise _damaged(missing)
        except IntegrityError as error:
            findings.append(Finding(snapshot, error.message))
        else:
            if not snapshot.automatic:
                last_whole = last_whole or snapshot
    return Verification(image.damage, findings[::-1], last_whole)


def verify_history(changes: Changes, image: Image) -> list[str]:
    """What is wrong with a history; that its end was cut off shows only beside a checkpoint that knew more of it."""
    found = changes.problems()
    ids = {entry.id for entry in changes.entries}
    for snapshot in reversed(image.snapshots):
        state = image.device_state(snapshot)
        if state is None or state.history is None:
            continue
        is_pruned = bool(changes.entries) and changes.entries[0].time > snapshot.time
        if state.history not in ids and not is_pruned and not found:
            found.append(f"its end is gone: the checkpoint of {snapshot.when} knew a later change than it has")
        break
    return found


def _damaged(key: str) -> IntegrityError:
    return IntegrityError(
        f"{f'the note or folder {ascii(key)}' if key else 'its root'} is missing from the image, or damaged in it",
        hint="`agentm checkpoint verify` shows what is whole; `create --full` replaces damaged blocks",
    )
