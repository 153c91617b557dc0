"""Small files of a checkout (`.harness/project.json`, git's configuration): an error reading one is never absence."""

from __future__ import annotations

import os
import stat

from agentm_kernel.errors import ConfigError
from agentm_kernel.files.evidence import saw_file, saw_nothing, settled_signature

_LIMIT = 4 * 1024 * 1024
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_checkout_file(path: str) -> bytes | None:
    """The bytes at `path`, `None` when there is nothing; whatever else is there, or goes wrong, is a `ConfigError`.

    A FIFO or a device is not waited for, and a link that leads nowhere is broken, not absent.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise _unreadable(path, "it is a link that leads nowhere") from None
        saw_nothing(path)
        return None
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    except ValueError:
        raise _unreadable(path, "its name holds a NUL") from None
    try:
        return _read(descriptor, path)
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: str) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise _unreadable(path, "it is not a regular file")
    chunks = []
    room = _LIMIT + 1
    while room > 0 and (chunk := os.read(descriptor, min(room, status.st_size + 1))):
        chunks.append(chunk)
        room -= len(chunk)
    if room <= 0:
        raise _unreadable(path, f"it has more than {_LIMIT:,} bytes")
    data = b"".join(chunks)
    saw_file(path, settled_signature(status), data, read_checkout_file)
    return data


def _unreadable(path: str, why: str) -> ConfigError:
    return ConfigError(f"{path} cannot be read: {why}", hint="repair or remove that file")
