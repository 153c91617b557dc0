"""A disk of a few megabytes that only this process sees, and that ends with it: what may be filled."""

from __future__ import annotations

import ctypes
import os
import sys

_OWN_MOUNTS, _OWN_USERS = 0x00020000, 0x10000000
_RECURSIVE, _PRIVATE = 0x4000, 0x40000


def mount_small_disk(folder: str, size: int) -> None:
    """Mount a file system of `size` bytes in memory on `folder`; `OSError` where that cannot be."""
    if sys.platform != "linux":
        raise OSError("a disk of one's own needs Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    is_root = user == 0
    _check(libc.unshare(_OWN_MOUNTS | (0 if is_root else _OWN_USERS)))
    if not is_root:
        _be_oneself(user, group)
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None))
    options = f"size={size},mode=0700".encode()
    _check(libc.mount(b"agentm-prove", os.fsencode(folder), b"tmpfs", ctypes.c_ulong(0), options))


def _be_oneself(user: int, group: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
