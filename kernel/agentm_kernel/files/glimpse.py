"""One short note of a store, read at a glance: all that most hooks need of it, and `reading` is not even loaded.

It walks as `reading` does, from the open root and along no link. But what is wrong, and whether anything is, is for
`reading` to find out: whatever is out of the ordinary is no answer here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.medium import Medium
    from agentm_kernel.seam.locator import Locator

_CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_SHORT = 4096


def glimpse(medium: Medium, root: str, locator: Locator) -> tuple[str, tuple[int, int]] | None:
    """The text of the note and the identity of the root above it; `None` where `reading` has to look closer.

    That is also where another case of a name leads somewhere: there, names may not be what they seem.
    """
    if not _CAN_WALK_BY_DESCRIPTOR:
        return None
    *folders, name = locator.parts
    opened: list[int] = []
    try:
        opened.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY))
        status = os.fstat(opened[-1])
        for folder in folders:
            opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        for part, directory in zip(locator.parts, opened, strict=True):
            if os.access(part.swapcase(), os.F_OK, dir_fd=directory):
                return None
        medium.before_reading(locator, os.stat(name, dir_fd=opened[-1], follow_symlinks=False))
        opened.append(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1]))
        data = os.read(opened[-1], _SHORT)
        return (data.decode(), (status.st_dev, status.st_ino)) if 0 < len(data) < _SHORT else None
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)
