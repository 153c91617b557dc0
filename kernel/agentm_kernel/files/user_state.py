"""Where this user's state lies, for what the write floor keeps outside of stores: locks, records of appends.

`device.config` answers the same for the rooms below, and a test holds the two equal.
"""

from __future__ import annotations

import os
import sys


def user_state_folder(name: str) -> str:
    """The path of a folder in the state directory. It may not exist yet."""
    if sys.platform == "win32":
        from platformdirs import user_state_dir

        return os.path.join(user_state_dir("agentm", appauthor=False), name)
    base = os.environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        state = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
        base = os.path.join(os.path.expanduser("~"), state)
    return os.path.join(base, "agentm", name)
