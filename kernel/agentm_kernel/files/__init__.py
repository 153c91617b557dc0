"""The write floor: confined directories, the store mutex, atomic replacement, and `FileStore` over the three.

Here is what lies outside of stores: this user's directories, and the small files in them and in checkouts. Hooks read
those, so nothing is waited for: a FIFO or a device in the place of a file is an error at once.

Directories are found without platformdirs: importing that costs more than a whole hook may. A test holds the answers
equal to platformdirs' own. On Windows, where only the system can say, it is asked.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

from agentm_kernel.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_CHUNK = 4096
NOT_WAITING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened of which nobody knows whether it is one."""


def read_small_file(path: str, limit: int) -> bytes:
    """The bytes of a file, a link to one will do.

    What is no regular file, or has more than `limit` bytes, is an `OSError` too: `EINVAL`, `EFBIG`.
    """
    descriptor = os.open(path, NOT_WAITING)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        chunks = []
        room = limit + 1
        wanted, is_whole = max(status.st_size + 1, _CHUNK), False
        while room > 0 and not is_whole and (chunk := os.read(descriptor, min(room, wanted))):
            chunks.append(chunk)
            room -= len(chunk)
            # Hundreds of these files are read at a time: one call less for each that is as long as it says.
            is_whole = len(chunk) < wanted and limit + 1 - room >= status.st_size
    finally:
        os.close(descriptor)
    if room <= 0:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes")
    return b"".join(chunks)


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
    if os.path.isabs(home):
        return home.rstrip("/") or "/"
    return _home_of_this_user()


def user_directory(kind: str, environ: Mapping[str, str]) -> str:
    """Where agentm's `config`, `state` or `cache` lies: `state` must survive and is nobody's note, `cache` can be
    made again at any time.
    """
    if sys.platform == "win32":
        import platformdirs

        return str(getattr(platformdirs, f"user_{kind}_dir")("agentm", appauthor=False))
    base = environ.get(_VARIABLES[kind], "")
    if not base.startswith("/"):  # the XDG specification: a path that is not absolute is invalid and to be ignored
        base = os.path.join(home_directory(environ), _DEFAULTS[kind])
    return os.path.join(base, "agentm")


def _home_of_this_user() -> str:
    if sys.platform != "win32":
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = ""
    else:
        home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("this user has no home directory", hint="set HOME to an absolute path")
    return home.rstrip("/") or "/"
