"""What every campaign shares: how hard it tries, on which store, and what it reports."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentm_kernel.seam.backend import StorageBackend

MAX_EXAMPLES = 5


@dataclass(frozen=True)
class StoreUnderTest:
    """A kind of store that keeps its notes below a root folder, and how to open one there."""

    name: str
    open: Callable[[str], StorageBackend]


STORES = {
    "device-local": "agentm_device_local:DeviceLocalBackend",
    "encrypted": "tests.faults.stores:open_encrypted",
    "encrypted-git": "tests.faults.stores:open_encrypted_git",
    "encrypted-vault": "tests.faults.stores:open_encrypted_vault",
    "harness": "tests.faults.stores:open_harness",
    "vault": "tests.faults.stores:open_vault",
}
"""Each value is `module:callable`, and the callable takes the root. Campaigns run on any of them unchanged."""


def store_under_test(name: str) -> StoreUnderTest:
    module, _, factory = STORES[name].partition(":")
    return StoreUnderTest(name, getattr(import_module(module), factory))


@dataclass(frozen=True)
class Intensity:
    """How long a campaign runs, from which seed, and against which store."""

    full: bool
    seed: int
    store: StoreUnderTest

    def pick(self, *, short: int, full: int) -> int:
        return full if self.full else short

    def random(self, purpose: str) -> random.Random:
        """A generator of its own for each purpose: adding one draw must not change every other campaign."""
        return random.Random(f"{self.seed}/{purpose}")


@dataclass
class Outcome:
    """What a campaign injected, what it found, and whether its controls failed as they must."""

    injected: str
    """What was done to the store, in words that follow a number: "kills of 8 writers"."""
    count: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    controls: dict[str, bool] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    skips: list[str] = field(default_factory=list)
    """Parts that this machine cannot run, each with its reason. A campaign with nothing else is skipped."""

    def violation(self, kind: str, example: str) -> None:
        """Count a broken promise: `lost`, `torn`, `escape`, `untyped`, `litter`, `stuck` …"""
        self.violations[kind] += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"{kind}: {example}")

    def control(self, name: str, broken: Outcome) -> None:
        """Remember whether the deliberately broken build of this name was caught."""
        self.controls[name] = bool(broken.violations)

    @property
    def was_skipped(self) -> bool:
        return not self.count and bool(self.skips)

    @property
    def passed(self) -> bool:
        if self.was_skipped:
            return True
        return bool(self.count) and not self.violations and bool(self.controls) and all(self.controls.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            "injected": self.injected,
            "count": self.count,
            "violations": dict(self.violations),
            "examples": self.examples,
            "controls": self.controls,
            "measured": self.measured,
            "skips": self.skips,
            "passed": self.passed,
        }

    def sentence(self) -> str:
        """The outcome on one line."""
        skips = [f"skipped: {reason}" for reason in self.skips]
        if self.was_skipped:
            return "; ".join(skips)
        found = ", ".join(f"{number} {kind}" for kind, number in self.violations.items()) or "0 violations"
        caught = [name for name, failed in self.controls.items() if failed]
        missed = [name for name, failed in self.controls.items() if not failed]
        parts = [f"{self.count:,} {self.injected}: {found}"]
        if caught:
            parts.append(f"controls failed as they must: {', '.join(caught)}")
        if missed or not self.controls:
            parts.append(f"CONTROLS THAT DID NOT FAIL: {', '.join(missed) or 'there are none'}")
        parts += [f"{name} {value:g}" for name, value in self.measured.items()]
        return "; ".join(parts + skips)


@contextmanager
def scratch(*, in_memory: bool = False) -> Iterator[str]:
    """A folder of its own that is gone afterwards; `in_memory` where the disk is not the point."""
    memory = "/dev/shm"
    parent = memory if in_memory and os.access(memory, os.W_OK | os.X_OK) else None
    folder = tempfile.mkdtemp(prefix="agentm-faults-", dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
