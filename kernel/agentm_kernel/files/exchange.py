"""Renames that drop nothing: two names of one directory swapped in one step, or a name taken only if it is free.

A rename drops whatever had the name, seen or not. An exchange hands it back: a file that somebody else put there
between our look and our write is then still in our hands. Python does not offer the call, so it is made through
ctypes; only writers to folders with a second writer, or without hard links, import this.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Rename = Callable[[int, bytes, int, bytes, int], int]

_EXCHANGE = 2  # RENAME_EXCHANGE in linux/fs.h, RENAME_SWAP in macOS' sys/stdio.h
_TO_FREE = 4 if sys.platform == "darwin" else 1  # RENAME_EXCL, RENAME_NOREPLACE
_SYSCALL_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276, "ppc64le": 357, "s390x": 347}

# What a kernel or a file system says that does not know the call.
_CANNOT = frozenset((errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP))


def _renamed(flag: int, directory: int, first: str, second: str) -> bool:
    if _rename is None:
        return False
    if _rename(directory, os.fsencode(first), directory, os.fsencode(second), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), first, None, second)


exchange = functools.partial(_renamed, _EXCHANGE)
"""Swap the two names in the open directory; `False`, and nothing done, where that cannot be."""
rename_to_free = functools.partial(_renamed, _TO_FREE)
"""Rename unless the target is taken (`FileExistsError`); `False`, and nothing done, where that cannot be."""


def _system_call() -> _Rename | None:
    if sys.platform not in ("linux", "darwin"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    if function is None:
        return _by_number(library)
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function  # type: ignore[no-any-return]


def _by_number(library: ctypes.CDLL) -> _Rename | None:
    """For a C library without the function (musl): the same call by its number."""
    number = _SYSCALL_NUMBERS.get(os.uname().machine)
    if number is None or sys.platform != "linux":
        return None
    call = library.syscall
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_long, ctypes.c_char_p, ctypes.c_long)
    call.restype = ctypes.c_long
    return functools.partial(call, number)


_rename = _system_call()
