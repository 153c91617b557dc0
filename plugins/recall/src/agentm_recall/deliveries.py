"""Which notes agents were given on this device: read from the lines that `agentm-hosts` keeps in the state folder."""

from __future__ import annotations

import glob
import json
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST_SESSIONS = 20
"""Fewer say nothing about a note that none of them was given."""


class Delivered(NamedTuple):
    """What the sessions were given in which notes of a project were."""

    sessions: int
    since: float
    """When the first of the lines was written, in seconds since the epoch."""
    keys: frozenset[str]
    """Without `.md`."""

    @property
    def says_enough(self) -> bool:
        return self.sessions >= _LEAST_SESSIONS


def read_deliveries(state_dir: str, folder: str) -> Delivered:
    """What was given in sessions that got a note below `folder`."""
    given: dict[str, set[str]] = {}
    times = []
    for moment, session, keys in _lines(state_dir):
        times.append(moment)
        given.setdefault(session, set()).update(keys)
    sessions = [keys for keys in given.values() if any(key.startswith(f"{folder}/") for key in keys)]
    return Delivered(len(sessions), min(times, default=0.0), frozenset().union(*sessions))


def _lines(state_dir: str) -> Iterator[tuple[float, str, list[str]]]:
    """Time, session and keys of every line. What is no such line is passed over: hooks write beside us."""
    for path in sorted(glob.glob(os.path.join(glob.escape(state_dir), "deliveries", "*.jsonl*"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                    yield (
                        float(line["time"]),
                        str(line["session"]),
                        [str(key).removesuffix(".md") for key in line["notes"]],
                    )
                except (ValueError, TypeError, KeyError):
                    continue
