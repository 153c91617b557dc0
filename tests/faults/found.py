"""What campaigns have found so far. Nothing leaves this list: the suite looks at each of these again, every time.

A campaign takes a new seed at each run and prints it. When a run finds something, its seed goes here with what it
found. What a seed leads to changes with the generators, so what was found stands here too.
"""

from __future__ import annotations

FOUND_SEEDS: dict[str, dict[int, str]] = {
    "keys": {989101: "a joiner that begins a key was accepted, since the last character of the key is a selector"},
    "linked-roots": {600959: "the mutex was taken on the other end of a link, which was gone again at the next look"},
}
"""By campaign: the seed, and what was wrong."""

FOUND_KEYS = ("\u200d\U0001f389\ufe0f",)
"""Keys that were accepted and should not have been: judged first in every run."""
