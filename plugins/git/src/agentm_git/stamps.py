"""Is the origin the store that this folder is? Asked when two histories have no commit in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.config.json_text import parse
from agentm_kernel.errors import StoreIdentityError
from agentm_kernel.seam.backend import STAMP_KEY

if TYPE_CHECKING:
    from agentm_git.folder import Folder
    from agentm_git.runner import Git


def check_stamps(git: Git, folder: Folder, upstream: str) -> None:
    """Raise `StoreIdentityError` if folder and origin carry different identities."""
    here = _identity(folder.read(STAMP_KEY))
    there = _identity(git.run("cat-file", "blob", f"{upstream}:{STAMP_KEY}", good=(0, 128)))
    if here is not None and there is not None and here != there:
        raise StoreIdentityError(
            f"the origin holds store {there}, and the folder {folder.root} is store {here}",
            hint="make a clone of the origin with `agentm git init PATH URL`, and move notes with `agentm migrate`",
        )


def _identity(stamp: bytes | None) -> str | None:
    try:
        fields = parse((stamp or b"").decode())
    except ValueError:
        return None
    identity = fields.get("id") if isinstance(fields, dict) else None
    return identity if isinstance(identity, str) else None
