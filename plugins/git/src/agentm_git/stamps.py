"""Is the origin the store that this folder is? Asked before anything of it is brought in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentm_kernel.plugin import STAMP_KEY, StoreIdentityError

if TYPE_CHECKING:
    from agentm_git.folder import Folder
    from agentm_git.runner import Git


def check_stamps(git: Git, folder: Folder, head: str | None, upstream: str) -> None:
    """Raise `StoreIdentityError` if folder and origin carry different identities. A stamp is never settled."""
    there = stamp_of(git, upstream)
    if there is None or (head is not None and stamp_of(git, head) == there):
        return
    here = folder.content(STAMP_KEY)
    if here is not None and _identity(here) not in (None, _identity(there)):
        raise StoreIdentityError(
            f"the origin holds store {_identity(there)}, and the folder {folder.root} is store {_identity(here)}",
            hint="make a clone of the origin with `agentm git init PATH URL`, and move notes with `agentm migrate`",
        )


def stamp_of(git: Git, commit: str) -> bytes | None:
    """The text of the identity that a commit carries."""
    return git.run("cat-file", "blob", f"{commit}:{STAMP_KEY}", good=(0, 128)) or None


def _identity(stamp: bytes) -> str | None:
    try:
        fields = json.loads(stamp)
    except ValueError:
        return None
    identity = fields.get("id") if isinstance(fields, dict) else None
    return identity if isinstance(identity, str) else None
