"""A short note, read at a glance: in half the time, and hooks that need one or two are spared loading `reading`.

It walks as `reading` does, from the open root and along no link. But what is wrong, and whether anything is, is for
`reading` to find out: whatever is out of the ordinary is no answer here.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.files.medium import Medium
    from agentm_kernel.seam.locator import Locator

_CAN_WALK_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_SHORT = 65_536


def read_short_note(
    medium: Medium, root: str, locator: Locator, limit: int
) -> tuple[str | None, tuple[int, int] | None]:
    """The text of the note, `None` where `reading` has to look closer; and the identity of the root above it."""
    parts = locator.parts
    if not (_CAN_WALK_BY_DESCRIPTOR and parts) or any(map(medium.is_hidden, parts)):
        return None, None
    opened: list[int] = []
    try:
        opened.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY))
        status = os.fstat(opened[-1])
        for folder in parts[:-1]:
            opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        if any(_has_another_case(part, at) for part, at in zip(parts, opened, strict=True)):
            return None, None
        return _read(medium, locator, opened[-1], min(limit + 1, _SHORT)), (status.st_dev, status.st_ino)
    except (OSError, UnicodeDecodeError):
        return None, None
    finally:
        for descriptor in opened:
            try:
                os.close(descriptor)
            except OSError:
                pass  # it is gone all the same, and nothing was written through it


def _has_another_case(name: str, directory: int) -> bool:
    """Whether another case of a name leads somewhere too: there, names may not be what they seem."""
    return os.access(name.swapcase(), os.F_OK, dir_fd=directory)


def _read(medium: Medium, locator: Locator, directory: int, too_many: int) -> str | None:
    """The text of an ordinary file of fewer bytes than `too_many`."""
    name = locator.name
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or medium.is_copy(name, _is_there):
        return None
    medium.before_reading(locator, status)
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=directory)
    try:
        is_the_same = os.path.samestat(os.fstat(descriptor), status)
        data = os.read(descriptor, min(too_many, status.st_size + 1)) if is_the_same else b""
        is_whole = len(data) == os.fstat(descriptor).st_size  # one call may give less, and another program add to it
    finally:
        os.close(descriptor)
    return data.decode() if is_whole and 0 < len(data) < too_many else None


def _is_there(_name: str) -> bool:
    """Of what may lie beside the note: it is not worth a look."""
    return True
