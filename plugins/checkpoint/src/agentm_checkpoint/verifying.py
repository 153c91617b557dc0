"""Is everything there, and is it what its identifiers say? Asked of a whole checkpoint at a time."""

from __future__ import annotations

from agentm_checkpoint.cids import is_node_link
from agentm_checkpoint.reading import children, part_cids, read_tree
from agentm_checkpoint.tree import MAX_PART
from agentm_kernel.plugin import IntegrityError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_checkpoint.cids import Cid
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
    bad = image.damaged_blocks()
    damage = image.damage
    if bad and damage is None:
        damage = f"{len(bad)} blocks of the image {image.path} are damaged"
    findings = []
    last_whole = None
    whole: set[Cid] = set()
    for snapshot in reversed(image.snapshots):
        try:
            if snapshot is image.latest():
                read_tree(snapshot.root, image.fetch, from_stranger=True)
            _follow(image, snapshot.root.cid, bad, whole)
        except IntegrityError as error:
            findings.append(Finding(snapshot, error.message))
        else:
            last_whole = last_whole or snapshot
    return Verification(damage, findings[::-1], last_whole)


def _follow(image: Image, root: Cid, bad: set[Cid], whole: set[Cid]) -> None:
    """Everything below `root` has to be there and undamaged. What was followed before is not followed again."""
    found: set[Cid] = set()
    pending = [("", root)]
    while pending:
        key, cid = pending.pop()
        if cid in whole or cid in found:
            continue
        if cid in bad or cid not in image:
            raise _damaged(key)
        if is_node_link(cid):
            pending += [(f"{key}/{name}" if key else name, child) for name, child in children(image.fetch(cid))]
        found.add(cid)
    whole |= found


def _damaged(key: str) -> IntegrityError:
    return IntegrityError(
        f"the note {ascii(key)} is missing from the image, or damaged in it",
        hint="`agentm checkpoint verify` shows what is whole; `create --full` replaces damaged blocks",
    )
