"""This user's own directories, and the write floor: confined directories, the store mutex, atomic replacement, and
`FileStore` over the three.

Here is what lies outside of stores: this user's directories, and the small files in them and in checkouts. Hooks read
those, so nothing is waited for: a FIFO or a device in the place of a file is an error at once.

Directories are found without platformdirs: importing that costs more than a whole hook may. A test holds the answers
equal to platformdirs' own. On Windows, where only the system can say, it is asked.
"""

from __future__ import annotations

import _thread
import os
import stat
import sys

from agentm_kernel import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOT_WAITING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened of which nobody knows whether it is one."""
_PIECE = 65_536


def close_quietly(descriptor: int) -> None:
    """Close it. If that fails it is gone all the same, and nothing was written through it."""
    try:
        os.close(descriptor)
    except OSError:
        pass


class Opened:
    """An open descriptor, until the end of a block."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class TooLarge(OSError):
    """A file exceeds the limit of the read; `size` is what it has, as far as it was read."""

    def __init__(self, size: int, limit: int) -> None:
        from errno import EFBIG

        super().__init__(EFBIG, f"it has more than {limit:,} bytes")
        self.size = size


def never_written(root: str) -> errors.NotFoundError:
    """Why nothing is found in a store whose first write will make its root."""
    return errors.NotFoundError(f"the store at {root} has not been written to yet")


def read_small_file(path: str, limit: int) -> bytes:
    """The bytes of a file, a link to one will do; otherwise as `read_open_file`."""
    with Opened(os.open(path, NOT_WAITING)) as descriptor:
        return read_open_file(descriptor, limit)[0]


def read_open_file(descriptor: int, limit: int) -> tuple[bytes, os.stat_result]:
    """The bytes of an open file, and its status. What is no regular file, or `TooLarge`, is an `OSError`."""
    status = os.fstat(descriptor)
    size = status.st_size
    if not stat.S_ISREG(status.st_mode):
        from errno import EINVAL

        raise OSError(EINVAL, "it is not a regular file")
    if size > limit:
        raise TooLarge(size, limit)
    data = os.read(descriptor, size + 1)
    # Hundreds of these are read at a time: one call for each that is as long as it says.
    while len(data) != size or not size:
        if len(data) > limit:
            raise TooLarge(len(data), limit)
        more = os.read(descriptor, min(limit + 1 - len(data), _PIECE))
        if not more:
            break
        data += more
    return data, status


def status_if_any(path: str) -> os.stat_result | None:
    """What is at `path`, a link itself; `None` if nothing is there.

    `OSError` where nobody can tell: a folder above it may be a link to a disk that is not mounted.
    """
    try:
        return os.lstat(path)
    except FileNotFoundError:
        place = os.path.dirname(path)
        while not os.path.lexists(place) and place != os.path.dirname(place):
            place = os.path.dirname(place)
        if os.path.isdir(place):
            return None
    from errno import ENOTDIR

    raise NotADirectoryError(ENOTDIR, f"{place} leads to no folder; a disk may not be mounted")


def in_a_thread(work: Callable[[], None]) -> bool:
    """Whether a thread does it: a container, or a limit of the user's, may allow no more of them."""
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        return False
    return True


def current_directory() -> str:
    """Where this process is; in the root, where its directory was removed meanwhile: that is no reason to fail."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


_HOME_VARIABLE = "USERPROFILE" if sys.platform == "win32" else "HOME"
_DEFAULTS = (
    {"config": "Library/Application Support", "state": "Library/Application Support", "cache": "Library/Caches"}
    if sys.platform == "darwin"
    else {"config": ".config", "state": ".local/state", "cache": ".cache"}
)
_VARIABLES = {"config": "XDG_CONFIG_HOME", "state": "XDG_STATE_HOME", "cache": "XDG_CACHE_HOME"}


def home_directory(environ: Mapping[str, str]) -> str:
    """`$HOME` where it is an absolute path, else what the system knows about this user."""
    home = environ.get(_HOME_VARIABLE, "")
    if not os.path.isabs(home):
        if sys.platform == "win32":
            home = os.path.expanduser("~")
        else:
            import pwd

            try:
                home = pwd.getpwuid(os.getuid()).pw_dir
            except KeyError:
                pass
        if not os.path.isabs(home):
            raise errors.ConfigError("this user has no home directory", hint="set HOME to an absolute path")
    return home.rstrip("/") or "/"


def user_directory(kind: str, environ: Mapping[str, str], home: str = "") -> str:
    """Where agentm's `config`, `state` or `cache` lies: `state` must survive and is nobody's note, `cache` can be
    made again at any time. `home` is the home directory, if it is known.
    """
    if sys.platform == "win32":
        import platformdirs

        return str(getattr(platformdirs, f"user_{kind}_dir")("agentm", appauthor=False))
    base = environ.get(_VARIABLES[kind], "")
    if not base.startswith("/"):  # the XDG specification: a path that is not absolute is invalid and to be ignored
        return f"{(home or home_directory(environ)).rstrip('/')}/{_DEFAULTS[kind]}/agentm"
    return os.path.join(base, "agentm")
