"""A durable write of each store made of files against the bare loop: overwriting, creating, writing on condition."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from agentm_kernel import Locator
from agentm_kernel.plugin import ABSENT, content_hash
from tests.benchmarks.bare import BareFolder
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table
from tests.faults.harness import store_under_test

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_kernel.plugin import StorageBackend
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

NOTE = "A decision, and why it was taken.\n" * 60
"""Two kilobytes: a usual note."""

STORES = ("device-local", "harness", "vault")
CROWDED = 1000
OVERWRITE_GOAL, CREATE_GOAL = "≥ 0.7 ×", "≥ 0.75 ×"

FLAT = Locator("decision.md")
DEEP = Locator("projects/agentm/decisions/decision.md")


def run(setting: Setting) -> Table:
    rows = [row for store in STORES for row in (*_overwrites(setting, store), *_creates(setting, store))]
    note = (
        "2 kB notes. The bare loop writes a temp file, syncs it, renames it and syncs the directory, in the "
        "store's own folder; it has no lock, no comparison and no confinement. Creating beside 1,000 notes is "
        "compared with the bare loop beside as many. Batches of five in turn, the order changing every round."
    )
    return Table("writes", "Durable writes, one process", note, rows)


def _overwrites(setting: Setting, name: str) -> list[Row]:
    root = setting.scratch / name / "overwritten"
    store = _open(root, name)
    store.write(FLAT, NOTE)
    bare = BareFolder(
        str(root)
    )  # in the very folder of the note: how fast a disk syncs depends on where a folder lies
    data, same = NOTE.encode(), content_hash(NOTE)
    work: dict[str, Callable[[], object]] = {
        "bare loop, overwrite": lambda: bare.write("bare.md", data),
        "overwrite at the root": lambda: store.write(FLAT, NOTE),
        "overwrite three folders down": lambda: store.write(DEEP, NOTE),
        "overwrite if the hash matches": lambda: store.write(FLAT, NOTE, if_match=same),
    }
    rows = _measure(name, work, rounds=setting.rounds(60, 12))
    bare.close()
    rows[1]["goal"] = OVERWRITE_GOAL
    return rows


def _creates(setting: Setting, name: str) -> list[Row]:
    root = setting.scratch / name / "created"
    store = _open(root, name)
    data, fresh = NOTE.encode(), map(str, itertools.count())
    for folder in ("bare", "plain", "absent", "bare-crowded", "crowded"):
        store.mkdir(Locator(folder))
    bare, beside = BareFolder(str(root / "bare")), BareFolder(str(root / "bare-crowded"))
    for folder, number in itertools.product(("bare-crowded", "crowded"), range(CROWDED)):
        (root / folder / f"note-{number}.md").write_text(NOTE)
    bare_beside = f"bare loop, beside {CROWDED:,} notes"
    work: dict[str, Callable[[], object]] = {
        "bare loop, create": lambda: bare.write(next(fresh), data),
        "create": lambda: store.write(Locator(f"plain/{next(fresh)}.md"), NOTE),
        "create only if absent": lambda: store.write(Locator(f"absent/{next(fresh)}.md"), NOTE, if_match=ABSENT),
        bare_beside: lambda: beside.write(next(fresh), data),
        f"create beside {CROWDED:,} notes": lambda: store.write(Locator(f"crowded/{next(fresh)}.md"), NOTE),
    }
    rows = _measure(name, work, rounds=setting.rounds(40, 8), crowded=bare_beside)
    bare.close()
    beside.close()
    rows[-1]["goal"] = CREATE_GOAL
    return rows


def _open(root: Path, name: str) -> StorageBackend:
    root.parent.mkdir(exist_ok=True)
    return store_under_test(name).open(str(root))


def _measure(
    store: str, work: dict[str, Callable[[], object]], *, rounds: int, crowded: str | None = None
) -> list[Row]:
    """One row per piece of work, compared with the first; what comes after `crowded`, with that one."""
    samples = interleave(work, rounds=rounds, batch=5)
    names = [*work]
    bares = dict.fromkeys(names, names[0])
    if crowded is not None:
        bares |= dict.fromkeys(names[names.index(crowded) + 1 :], crowded)
    return [
        {
            "store": store,
            "work": name,
            "rate (1/s)": samples.per_second(name),
            "median (µs)": samples.seconds(name) * 1e6,
            "beyond bare (µs)": samples.extra(name, bares[name]) * 1e6,
            "against bare (×)": samples.speed(name, bares[name]),
        }
        for name in work
    ]
