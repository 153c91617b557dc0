"""Making locators, which every call of every verb begins with."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agentm_kernel import Locator
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

KEY = "projects/agentm/decisions/0007-one-lock-per-store.md"
ACCENTED = "projects/agentm/décisions/0007-un-verrou-par-dépôt.md"


def run(setting: Setting) -> Table:
    folder = Locator("projects/agentm/decisions")
    against = "PurePosixPath(key), parts and string"
    work = {
        against: lambda: (path := PurePosixPath(KEY), path.parts, str(path)),
        "Locator(key)": lambda: Locator(KEY),
        "Locator(key), parts and string": lambda: (locator := Locator(KEY), locator.parts, str(locator)),
        "Locator(key) with accents": lambda: Locator(ACCENTED),
        "child(name)": lambda: folder.child("0007-one-lock-per-store.md"),
    }
    samples = interleave(work, rounds=setting.rounds(100, 20), batch=500)
    rows: list[Row] = [
        {
            "work": name,
            "rate (1/s)": samples.per_second(name),
            "median (µs)": samples.seconds(name) * 1e6,
            "against pathlib (×)": samples.speed(name, against),
        }
        for name in work
    ]
    note = "pathlib splits a key; a locator also checks it against every rule for keys."
    return Table("locators", "Locators", note, rows)
