"""Two names of one directory swapped in one step, where the system can.

A rename drops whatever had the name, seen or not. An exchange hands it back: a file that somebody else put there
between our look and our write is then still in our hands. Python does not offer the call, so it is made through
ctypes; only writers to folders with a second writer import this.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_RENAME_EXCHANGE = 2  # linux/fs.h
_RENAME_SWAP = 2  # macOS sys/stdio.h
_SYSCALL_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276, "ppc64le": 357, "s390x": 347}

# What a kernel or a file system says that does not know the call.
_CANNOT = frozenset((errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP))


def exchange(directory: int, first: str, second: str) -> bool:
    """Swap the two names in the open directory; `False`, and nothing done, where that cannot be."""
    if _swap is None:
        return False
    if _swap(directory, os.fsencode(first), os.fsencode(second)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), first, None, second)


def _system_call() -> Callable[[int, bytes, bytes], int] | None:
    if os.name != "posix":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        return _bound(getattr(library, "renameatx_np", None), _RENAME_SWAP)
    if sys.platform != "linux":
        return None
    return _bound(getattr(library, "renameat2", None), _RENAME_EXCHANGE) or _by_number(library)


def _bound(function: Callable[..., int] | None, flag: int) -> Callable[[int, bytes, bytes], int] | None:
    if function is None:
        return None
    return lambda directory, first, second: function(directory, first, directory, second, ctypes.c_uint(flag))


def _by_number(library: ctypes.CDLL) -> Callable[[int, bytes, bytes], int] | None:
    """For a C library without the function (musl): the same call by its number."""
    number = _SYSCALL_NUMBERS.get(os.uname().machine)
    if number is None:
        return None
    call = library.syscall
    call.restype = ctypes.c_long

    def swap(directory: int, first: bytes, second: bytes) -> int:
        result: int = call(
            ctypes.c_long(number),
            ctypes.c_long(directory),
            first,
            ctypes.c_long(directory),
            second,
            ctypes.c_long(_RENAME_EXCHANGE),
        )
        return result

    return swap


_swap = _system_call()
