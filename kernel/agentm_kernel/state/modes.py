"""Local or in the store: the repository's own word first, then the device's."""

from __future__ import annotations

import os

from agentm_kernel.config.settings import STATE_MODES
from agentm_kernel.errors import ConfigError
from agentm_kernel.projects.checkout_file import read_checkout_file
from agentm_kernel.projects.root import HARNESS_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.config.read import Config

MODE_MARKER = ".project-mode"


def state_mode(project_root: str, config: Config) -> str | None:
    """`local`, `backend`, or `None` where neither the repository nor the device says."""
    return _marked_mode(project_root) or config.state_mode


def _marked_mode(project_root: str) -> str | None:
    path = os.path.join(project_root, HARNESS_DIR, MODE_MARKER)
    word = read_marker(path)
    if not word:
        return None
    mode = STATE_MODES.get(word.lower())
    if mode is None:
        raise ConfigError(
            f"{path} says {word[:40]!r}, which is not a state mode",
            hint="write `local` or `backend` into it, or remove it",
        )
    return mode


def read_marker(path: str) -> str | None:
    """The word in a marker file, `None` if there is no such file; one that cannot be read is an error."""
    data = read_checkout_file(path)
    if data is None:
        return None
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text", hint="repair or remove that file") from None
