"""Which checkouts of this device a store's checkpoints look at, and what each is known by."""

from __future__ import annotations

import hashlib
import os

from agentm_checkpoint.directories import make_folder, unusable
from agentm_kernel.plugin import HARNESS_DIR, atomic_write

_MAX_CHECKOUTS = 200
_LIST = "checkouts"


def checkout_id(root: str) -> str:
    """What a checkout is known by. Its path, for as long as checkouts carry no id of their own in git's directory."""
    return hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def remember_checkout(folder: str, root: str) -> list[str]:
    """The checkouts of this device that a store's checkpoints look at, the one at `root` among them from now on.

    `folder` is where this device keeps what belongs to the store. A checkout that is gone is forgotten.
    """
    known = [path for path in _read_list(folder) if os.path.isdir(path)]
    if root not in known and os.path.isdir(os.path.join(root, HARNESS_DIR)):
        known = [*known, root][-_MAX_CHECKOUTS:]
        make_folder(folder)
        atomic_write(
            os.path.join(folder, _LIST), "".join(f"{path}\n" for path in known).encode("utf-8", "surrogateescape")
        )
    return known


def _read_list(folder: str) -> list[str]:
    """A path that holds a line break is no line of the list, and such a checkout is looked at only from inside."""
    path = os.path.join(folder, _LIST)
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unusable(path, error) from error
