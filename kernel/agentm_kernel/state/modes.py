"""Local or in the store: the repository's own word first, then the device's."""

from __future__ import annotations

import os

from agentm_kernel.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.config.read import Config

HARNESS_DIR = ".harness"
MODE_MARKER = ".project-mode"

_MODES = {"local": "local", "backend": "backend", "vault": "backend"}
_LONGEST_MARKER = 4096


def state_mode(project_root: str, config: Config) -> str | None:
    """`local`, `backend`, or `None` where neither the repository nor the device says."""
    return _marked_mode(project_root) or config.state_mode


def _marked_mode(project_root: str) -> str | None:
    path = os.path.join(project_root, HARNESS_DIR, MODE_MARKER)
    word = read_marker(path)
    if not word:
        return None
    mode = _MODES.get(word.lower())
    if mode is None:
        raise ConfigError(
            f"{path} says {word[:40]!r}, which is not a state mode", hint="write `local` or `backend` into it, or remove it"
        )
    return mode


def read_marker(path: str) -> str | None:
    """The word in a marker file, `None` if there is no such file; one that cannot be read is an error."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise _unreadable(path, "it is a link that leads nowhere") from None
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror) from error
    try:
        return os.read(descriptor, _LONGEST_MARKER).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, str(error)) from error
    finally:
        os.close(descriptor)


def _unreadable(path: str, why: str) -> ConfigError:
    return ConfigError(f"the marker {path} cannot be read: {why}", hint="repair or remove that file")
