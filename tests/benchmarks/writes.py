"""A durable write of the default store against the bare loop: overwriting, creating, and writing on condition."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import ABSENT, content_hash
from tests.benchmarks.bare import BareFolder
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

NOTE = "A decision, and why it was taken.\n" * 60
"""Two kilobytes: a usual note."""

CROWDED = 1000

FLAT = Locator("decision.md")
DEEP = Locator("projects/agentm/decisions/decision.md")


def run(setting: Setting) -> Table:
    rows = [*_overwrites(setting), *_creates(setting)]
    note = (
        "2 kB notes. The bare loop writes a temp file, syncs it, renames it and syncs the directory; it has no lock, "
        "no comparison and no confinement. Batches of five in turn, the order changing every round."
    )
    return Table("writes", "Durable writes, one process", note, rows)


def _overwrites(setting: Setting) -> list[Row]:
    store = DeviceLocalBackend(setting.scratch / "overwritten")
    bare = BareFolder(str(setting.scratch / "overwritten-bare"))
    data, same = NOTE.encode(), content_hash(NOTE)
    work: dict[str, Callable[[], object]] = {
        "bare loop, overwrite": lambda: bare.write("decision.md", data),
        "overwrite at the root": lambda: store.write(FLAT, NOTE),
        "overwrite three folders down": lambda: store.write(DEEP, NOTE),
        "overwrite if the hash matches": lambda: store.write(FLAT, NOTE, if_match=same),
    }
    rows = _measure(work, rounds=setting.rounds(120, 12))
    bare.close()
    rows[1]["goal"] = "≥ 0.85 ×"
    return rows


def _creates(setting: Setting) -> list[Row]:
    store = DeviceLocalBackend(setting.scratch / "created")
    bare = BareFolder(str(setting.scratch / "created-bare"))
    data, fresh = NOTE.encode(), map(str, itertools.count())
    store.mkdir(Locator("crowded"))
    for number in range(CROWDED):
        (setting.scratch / "created" / "crowded" / f"note-{number}.md").write_text(NOTE)
    work: dict[str, Callable[[], object]] = {
        "bare loop, create": lambda: bare.write(next(fresh), data),
        "create": lambda: store.write(Locator(f"plain/{next(fresh)}.md"), NOTE),
        "create only if absent": lambda: store.write(Locator(f"absent/{next(fresh)}.md"), NOTE, if_match=ABSENT),
        f"create beside {CROWDED:,} notes": lambda: store.write(Locator(f"crowded/{next(fresh)}.md"), NOTE),
    }
    rows = _measure(work, rounds=setting.rounds(40, 8))
    bare.close()
    return rows


def _measure(work: dict[str, Callable[[], object]], *, rounds: int) -> list[Row]:
    """One row per piece of work; the first is what the others are compared with."""
    samples = interleave(work, rounds=rounds, batch=5)
    bare = next(iter(work))
    return [
        {
            "work": name,
            "rate (1/s)": samples.per_second(name),
            "median (µs)": samples.seconds(name) * 1e6,
            "beyond bare (µs)": samples.extra(name, bare) * 1e6,
            "against bare (×)": samples.speed(name, bare),
        }
        for name in work
    ]
