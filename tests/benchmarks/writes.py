"""A durable write of the default store against the bare loop: overwriting, creating, and writing on condition."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from agentm_device_local import DeviceLocalBackend
from agentm_kernel import ABSENT, Locator, content_hash
from tests.benchmarks.bare import BareFolder
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

NOTE = "A decision, and why it was taken.\n" * 60
"""Two kilobytes: a usual note."""

CROWDED = 1000

FLAT = Locator("decision.md")
DEEP = Locator("projects/agentm/decisions/decision.md")


def run(setting: Setting) -> Table:
    store = DeviceLocalBackend(setting.scratch / "store")
    bare = BareFolder(str(setting.scratch / "bare"))
    created = BareFolder(str(setting.scratch / "bare-created"))
    crowded = store.mkdir(Locator("crowded"))
    for number in range(CROWDED):
        (setting.scratch / "store" / "crowded" / f"note-{number}.md").write_text(NOTE)
    data, same = NOTE.encode(), content_hash(NOTE)
    fresh = map(str, itertools.count())
    work = {
        "bare loop, overwrite": lambda: bare.write("decision.md", data),
        "overwrite at the root": lambda: store.write(FLAT, NOTE),
        "overwrite three folders down": lambda: store.write(DEEP, NOTE),
        "overwrite if the hash matches": lambda: store.write(FLAT, NOTE, if_match=same),
        "bare loop, create": lambda: created.write(next(fresh), data),
        "create": lambda: store.write(Locator(f"created/{next(fresh)}.md"), NOTE),
        "create only if absent": lambda: store.write(Locator(f"absent/{next(fresh)}.md"), NOTE, if_match=ABSENT),
        f"create beside {CROWDED:,} notes": lambda: store.write(crowded.child(next(fresh)), NOTE),
    }
    samples = interleave(work, rounds=setting.rounds(60, 10), batch=5)
    bare.close()
    created.close()
    rows: list[Row] = []
    for name in work:
        baseline = "bare loop, create" if "create" in name else "bare loop, overwrite"
        rows.append(
            {
                "work": name,
                "rate (1/s)": samples.per_second(name),
                "median (µs)": samples.seconds(name) * 1e6,
                "beyond bare (µs)": samples.extra(name, baseline) * 1e6,
                "against bare (×)": samples.speed(name, baseline),
                "goal": "≥ 0.85 ×" if name.startswith("overwrite at") else "",
            }
        )
    note = (
        "2 kB notes. The bare loop writes a temp file, syncs it, renames it and syncs the directory; it has no lock, "
        "no comparison and no confinement. Batches of five in turn."
    )
    return Table("writes", "Durable writes, one process", note, rows)
