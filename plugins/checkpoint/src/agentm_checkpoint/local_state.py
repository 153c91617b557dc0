"""What the checkouts of this device hold in `.harness/`: gathered for a second root beside a checkpoint.

It stays on this device. What looks like a secret, what is no text and what goes beyond 1 MB of one checkout is left
out, and named.
"""

from __future__ import annotations

import os

from agentm_checkpoint.checkouts import checkout_id, remember_checkout
from agentm_checkpoint.device_state import DeviceState
from agentm_checkpoint.tree import build_tree, note_blocks
from agentm_kernel.plugin import HARNESS_DIR, AgentmError, FileStore, Locator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentm_checkpoint.tree import Blocks, Leaf, Root
    from agentm_kernel.plugin import Info

MAX_BYTES = 1 << 20
"""Of one checkout."""


class LocalState:
    """The files of `.harness/` in the checkouts that were looked at."""

    def __init__(
        self,
        root: Root,
        blocks: Blocks,
        checkouts: Mapping[str, str],
        left_out: Mapping[str, list[str]],
        history: str | None,
    ) -> None:
        self.root = root
        self.blocks = blocks
        self.checkouts = checkouts
        self.left_out = left_out
        self.history = history

    def at(self, checkpoint: str) -> DeviceState:
        """The record of it that is kept with that checkpoint."""
        return DeviceState(
            self.root,
            checkpoint=checkpoint,
            checkouts=self.checkouts,
            left_out=self.left_out,
            history=self.history,
        )

    def is_in(self, state: DeviceState | None) -> bool:
        """Whether a record holds these files already; no record holds none."""
        if state is None:
            return not self.root.notes and not self.left_out
        return state.root.cid == self.root.cid and state.left_out == self.left_out


def gather(roots: Iterable[str], history: str | None = None) -> LocalState:
    """Read `.harness/` of each checkout, as far as it is text that may be kept."""
    leaves: dict[str, Leaf] = {}
    blocks: Blocks = {}
    checkouts: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    for root in roots:
        name = checkout_id(root)
        kept, missed = read_checkout(root)
        if kept or missed:
            checkouts[name] = root.encode("utf-8", "replace").decode()
        if missed:
            left_out[name] = sorted(missed)
        for key, text in kept.items():
            leaf, parts = note_blocks(text.encode())
            leaves[f"{name}/{key}"] = leaf
            blocks.update(parts)
    tree, nodes = build_tree(leaves)
    return LocalState(tree, {**blocks, **nodes}, checkouts, left_out, history)


def gather_known(folder: str, root: str, history: str | None) -> LocalState | None:
    """What the checkouts of this device hold, that at `root` among them; `None` if there is nothing to keep.

    `folder` is where this device keeps what belongs to the store.
    """
    found = gather(remember_checkout(folder, root), history)
    return found if found.checkouts or history is not None else None


def harness_folder(root: str) -> FileStore:
    """`.harness/` of a checkout as a store: confined, compared before it is written, made if it is gone."""
    return _HarnessFolder(os.path.join(root, HARNESS_DIR), create_root=True, follow_root_link=False)


class _HarnessFolder(FileStore):
    """Agents edit its files with their own tools, which know nothing of our mutex."""


def read_checkout(root: str) -> tuple[dict[str, str], list[str]]:
    """What is kept of one checkout, and what is not. Smaller files come first, so that a log costs no plan."""
    folder = os.path.join(root, HARNESS_DIR)
    if os.path.islink(folder):
        return {}, ["."]
    if not os.path.isdir(folder):
        return {}, []
    store = harness_folder(root)
    kept: dict[str, str] = {}
    missed: list[str] = []
    room = MAX_BYTES
    for info in sorted((info for info in store.walk(Locator()) if not info.is_dir), key=_size):
        key = info.locator.key
        try:
            text = store.read(info.locator) if info.size <= room else None
        except AgentmError:
            text = None
        if text is None or holds_secret(text):
            missed.append(key)
            continue
        kept[key] = text
        room -= len(text.encode())
    return kept, missed


def _size(info: Info) -> tuple[int, str]:
    return info.size, info.locator.key


def holds_secret(text: str) -> bool:
    """Whether a text must not be kept: the rules are those for notes."""
    from agentm_kernel.plugin import find_secrets

    return bool(find_secrets(text))
