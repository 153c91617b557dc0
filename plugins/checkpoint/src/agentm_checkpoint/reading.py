"""From a root to its notes, without trusting a byte of what is read.

Whatever is below a root may come from a stranger. Every block is compared with the identifier that led to it, every
node must be in the one canonical form, every name must be one that the seam accepts as it stands, and totals must add
up. So a tree is read in time and memory in proportion to the totals at its root, which are checked against a limit
first: a small tree cannot unfold into a large one. A tree from outside is built again from its notes in the end and
must come out the same, so that one set of notes has one root.
"""

from __future__ import annotations

from agentm_checkpoint.cids import cid_text, decode_node, is_node_link, is_note_link
from agentm_checkpoint.tree import FAN_OUT, MAX_ENTRIES, MAX_PART, Root, build_tree, shard_of
from agentm_kernel.plugin import STAMP_KEY, IntegrityError, InvalidLocatorError, Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from agentm_checkpoint.cids import Cid
    from agentm_checkpoint.tree import Leaf

    Fetch = Callable[[Cid], bytes]
    """Gives the block of an identifier, already compared with it."""

MAX_NOTES = 1_000_000
MAX_BYTES = 16 << 30


class Limits:
    """How much a tree may claim to hold before anything of it is read."""

    __slots__ = ("notes", "size")

    def __init__(self, notes: int = MAX_NOTES, size: int = MAX_BYTES) -> None:
        self.notes = notes
        self.size = size


def check_totals(root: Root, limits: Limits) -> None:
    if root.notes > limits.notes or root.size > limits.size:
        raise IntegrityError(
            f"the checkpoint claims {root.notes:,} notes of {root.size:,} bytes; "
            f"the limit is {limits.notes:,} notes and {limits.size:,} bytes",
            hint="nothing of it was read",
        )


def read_tree(
    root: Root, fetch: Fetch, limits: Limits | None = None, *, from_stranger: bool = False
) -> dict[str, Leaf]:
    """Every note below `root` by its key; `IntegrityError` if anything about the tree is not as it must be.

    `from_stranger`: it comes from outside, so make sure that it is also the one form that its notes have.
    """
    check_totals(root, limits or Limits())
    leaves: dict[str, Leaf] = {}
    pending: list[tuple[str, int, int, Cid]] = [("", root.size, root.notes, root.cid)]
    while pending:
        path, size, notes, cid = pending.pop()
        found_size = found_notes = 0
        above = f"{path}/" if path else ""
        for node in _nodes(cid, fetch, notes):
            _check_names(path, node)
            for name, entry in node.items():
                if _is_note(entry):
                    found_size += entry[0]
                    found_notes += 1
                    leaves[above + name] = entry[0], entry[1]
                elif _is_directory(entry):
                    found_size += entry[0]
                    found_notes += entry[1]
                    pending.append((above + name, *entry))
                else:
                    raise IntegrityError(f"the entry {ascii(name)} of a directory is neither a note nor a directory")
            if found_notes > notes or found_size > size:
                break
        if (found_size, found_notes) != (size, notes):
            raise IntegrityError(f"the totals of directory {ascii(path)} are not those of its entries")
    if STAMP_KEY in leaves:
        raise IntegrityError(f"the checkpoint holds {STAMP_KEY}, the identity of a store, which is never part of one")
    if from_stranger and build_tree(leaves)[0].cid != root.cid:
        raise IntegrityError("the checkpoint's directories are not those that its notes make")
    return leaves


def _is_note(entry: Any) -> bool:
    """A size, and the note's bytes or, if they are many, the list of their parts."""
    if type(entry) is not list or len(entry) != 2 or type(entry[0]) is not int or entry[0] < 0:
        return False
    return is_note_link(entry[1]) if entry[0] <= MAX_PART else is_node_link(entry[1])


def _is_directory(entry: object) -> bool:
    """A directory without notes would cost a reader time that no total accounts for."""
    return (
        type(entry) is list
        and len(entry) == 3
        and _is_count(entry[0])
        and _is_count(entry[1])
        and entry[1] > 0
        and is_node_link(entry[2])
    )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _nodes(cid: Cid, fetch: Fetch, notes: int) -> Iterator[dict[str, Any]]:
    """The entries of a directory with that many notes below it, shard by shard if it has any."""
    pending = [(cid, "")]
    visited = 0
    while pending:
        cid, digits = pending.pop()
        visited += 1
        if visited > max(1, notes):  # a shard holds dozens of notes on average, so this is generous
            raise IntegrityError("a directory is split into more parts than it has notes for")
        node = decode_node(fetch(cid))
        if type(node) is dict and len(node) <= MAX_ENTRIES:
            for name in node if digits else ():
                if any(shard_of(name, depth) != int(digit, 16) for depth, digit in enumerate(digits)):
                    raise IntegrityError(f"the entry {ascii(name)} is in the wrong part of its directory")
            yield node
        elif type(node) is list and len(node) == FAN_OUT and all(map(is_node_link, node)) and len(digits) < 64:
            pending += [(part, f"{digits}{number:x}") for number, part in enumerate(node)]
        else:
            raise IntegrityError(f"{cid_text(cid)} stands where a directory should be, and is none")


def _check_names(path: str, node: dict[str, Any]) -> None:
    folder = Locator(path)
    if folder.takes_plainly([*node]):
        return
    for name in node:
        try:
            is_name = folder.child(name).name == name != ""
            problem = "it is not one name in its one spelling"
        except InvalidLocatorError as error:
            is_name, problem = False, error.message
        if not is_name:
            raise IntegrityError(f"the checkpoint has the name {ascii(name)}, which no note may have: {problem}")


# ------------------------------------------------------------------------------------------------ notes


def part_cids(leaf: Leaf, fetch: Fetch) -> list[tuple[int, Cid]]:
    """The blocks that hold a note's bytes, in order, with their sizes."""
    size, cid = leaf
    if size <= MAX_PART:
        return [(size, cid)]
    parts = decode_node(fetch(cid))
    whole, rest = divmod(size, MAX_PART)
    sizes = [MAX_PART] * whole + [rest] * bool(rest)
    if (
        type(parts) is not list
        or len(parts) != len(sizes)
        or not all(
            type(part) is list and len(part) == 2 and part[0] == wanted and is_note_link(part[1])
            for part, wanted in zip(parts, sizes, strict=True)
        )
    ):
        raise IntegrityError(f"{cid_text(cid)} stands where the parts of a long note should be, and is no such list")
    return [(part[0], part[1]) for part in parts]


def read_note(leaf: Leaf, fetch: Fetch) -> bytes:
    """The bytes of a note."""
    pieces = []
    for size, cid in part_cids(leaf, fetch):
        piece = fetch(cid)
        if len(piece) != size:
            raise IntegrityError(f"{cid_text(cid)} has {len(piece):,} bytes, and the tree says {size:,}")
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def children(block: bytes) -> Iterator[tuple[str, Cid]]:
    """What a node of a tree that `read_tree` found good leads to, with names where it has them."""
    node = decode_node(block)
    if isinstance(node, dict):
        for name, entry in node.items():
            yield name, entry[-1]
    else:
        for item in node:
            yield "", item if isinstance(item, bytes) else item[-1]


def reachable(root: Cid, fetch: Fetch) -> Iterator[Cid]:
    """`root` and every identifier below it, each once; of a tree that `read_tree` found good."""
    seen = {root}
    pending = [root]
    while pending:
        cid = pending.pop()
        yield cid
        if is_node_link(cid):
            for _, child in children(fetch(cid)):
                if child not in seen:
                    seen.add(child)
                    pending.append(child)


def follow(root: Cid, fetch: Fetch, has: Callable[[Cid], bool], whole: set[Cid]) -> str | None:
    """The key of something below `root` that is missing; `None` if all of it is there, which `whole` then gains.

    What is in `whole` is not followed again: many checkpoints share most of what they consist of.
    """
    found: set[Cid] = set()
    pending = [("", root)]
    while pending:
        key, cid = pending.pop()
        if cid in whole or cid in found:
            continue
        if not has(cid):
            return key
        if is_node_link(cid):
            pending += [(f"{key}/{name}" if key else name, child) for name, child in children(fetch(cid))]
        found.add(cid)
    whole |= found
    return None
