"""Mounts that no other process sees and that end with the process that made them."""

from __future__ import annotations

import ctypes
import os
import sys

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


class CannotMount(Exception):
    """This machine does not let the process mount anything."""


def bind_mount(source: str, target: str) -> None:
    """Mount `source` on `target` for this process alone; as another user than root, in a namespace of its own."""
    libc = leave_namespace()
    _check(libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(_MS_BIND), None))


def leave_namespace() -> ctypes.CDLL:
    """Give this process mounts of its own, and the right to make them."""
    if sys.platform != "linux":
        raise CannotMount("mounts of one's own need Linux")
    own_users = 0 if os.geteuid() == 0 else _CLONE_NEWUSER
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(_CLONE_NEWNS | own_users))
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))
    return libc


def _check(result: int) -> None:
    if result != 0:
        raise CannotMount(f"mounts are not allowed here: {os.strerror(ctypes.get_errno())}")
