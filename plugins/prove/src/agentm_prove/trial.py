"""A trial: one promise, what is done to break it, and what came of that."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_prove.laboratory import Laboratory

State = Literal["kept", "broken", "not tried"]


class Broken(Exception):
    """The promise was not kept; the text says what was seen."""


class NotTried(Exception):
    """The trial cannot be made on this device; the text says why."""


@dataclass(frozen=True)
class Trial:
    """`run` returns what was seen, in a few words, or raises `Broken` or `NotTried`."""

    name: str
    promise: str
    run: Callable[[Laboratory], str]


@dataclass(frozen=True)
class Finding:
    """What came of one trial."""

    name: str
    promise: str
    state: State
    saw: str
    seconds: float


def made(trial: Trial, laboratory: Laboratory) -> Finding:
    """Make one trial. Whatever goes wrong in it is a finding."""
    began = time.monotonic()
    state: State = "kept"
    try:
        saw = trial.run(laboratory)
    except NotTried as reason:
        state, saw = "not tried", str(reason)
    except Broken as seen:
        state, saw = "broken", str(seen)
    except Exception as error:  # noqa: BLE001 - a trial that fails by itself proves nothing, and must say so
        state, saw = "broken", f"the trial ended with {type(error).__name__}: {error}"
    return Finding(trial.name, trial.promise, state, saw, time.monotonic() - began)
