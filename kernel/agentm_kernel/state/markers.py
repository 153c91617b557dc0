"""What a checkout says about itself: markers in its `.harness/` folder, which never leave it."""

from __future__ import annotations

import os

from agentm_kernel.config.read import load
from agentm_kernel.errors import ConfigError
from agentm_kernel.projects.root import HARNESS_DIR, read_checkout_file

MODE_MARKER = ".project-mode"
"""Whether state stays in the checkout (`local`) or goes to the store (`backend`)."""

ACTIVE_MARKER = "active-plan"
"""Which plan this checkout works on."""


def is_local(project_root: str) -> bool:
    """Whether the project's state stays in its checkout: the repository's own word first, then the device's.

    A repository that has its own word does not ask the device: its state stays where it is even while the device's
    configuration is being repaired.
    """
    return (_marked_mode(project_root) or load().state_mode) == "local"


def is_marker(name: str) -> bool:
    """Whether a name in `.harness/` belongs to a marker rather than to a state file."""
    return name == ACTIVE_MARKER or name.startswith(".")


def _marked_mode(project_root: str) -> str | None:
    path = os.path.join(project_root, HARNESS_DIR, MODE_MARKER)
    word = read_marker(path)
    if not word:
        return None
    from agentm_kernel.config.settings import STATE_MODES

    mode = STATE_MODES.get(word.lower())
    if mode is None:
        raise ConfigError(
            f"{path} says {ascii(word[:40])}, which is not a state mode",
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
