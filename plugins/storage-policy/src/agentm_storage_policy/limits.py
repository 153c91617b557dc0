"""How often something was done lately, over all processes of this device."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import Opening

_FILE = "policy-limits.json"
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


class RateLimits:
    """Sliding windows, kept in the state directory. Asking counts, so it is asked once for each act."""

    def __init__(self, opening: Opening, now: Callable[[], float] | None = None) -> None:
        from time import time

        self._folder = opening.state_dir
        self._now = now or time

    def is_within(self, name: str, value: float, per: str) -> bool:
        """Count one more, unless that would be too many."""
        import json

        from agentm_kernel.plugin import atomic_write, make_private_folder, store_mutex

        now = self._now()
        path = os.path.join(self._folder, _FILE)
        make_private_folder(self._folder)
        with store_mutex(self._folder):
            windows = _read(path)
            recent = [at for at in windows.get(name, []) if now - _SECONDS[per] < at <= now]
            allowed = len(recent) < value
            windows[name] = [*recent, now] if allowed else recent
            atomic_write(path, json.dumps(windows))
        return allowed


def _read(path: str) -> dict[str, list[float]]:
    import json

    try:
        with open(path, encoding="utf-8") as file:
            windows = json.load(file)
    except (FileNotFoundError, ValueError):
        return {}
    return windows if isinstance(windows, dict) else {}
