"""10 to 10,000 devices on one bucket, simulated: one note for all of them, or one for every ten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks.measure import percentile
from tests.benchmarks.scale_model import simulate
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

PAUSE = 300.0
"""Seconds between the edits of one device: an agent at work."""
_MONTH = 8 * 3600 * 22.0
"""Seconds at work in a month."""
_PRICES = {"GET": 0.4e-6, "PUT": 5e-6}
"""Dollars for a request, in the list of a large provider."""


def run(setting: Setting) -> Table:
    rows: list[Row] = []
    for devices in (10, 100, 1_000, 10_000):
        for notes in dict.fromkeys((1, devices // 10)):
            seconds = setting.rounds(1_800, 600) if devices < 10_000 else setting.rounds(600, 300)
            rows.append(_row(devices, notes, float(seconds)))
    note = (
        f"Simulated with a fixed seed. Each device edits its note once in {PAUSE:g} s; requests take 100 to 200 ms. "
        "A month: 22 days of 8 hours. What somebody else wrote is seen by the next read, a request later."
    )
    return Table("scale_large", "Many devices on one bucket", note, rows)


def _row(devices: int, notes: int, seconds: float) -> Row:
    out = simulate(devices, seconds, PAUSE, notes=notes)
    month = {kind: count * _MONTH / seconds for kind, count in out.requests.items()}
    return {
        "devices": f"{devices:,}",
        "notes": f"{notes:,}",
        "refused": f"{out.conflict_rate:.1%}",
        "requests per update": out.per_update,
        "p50 (ms)": percentile(out.seconds, 0.5) * 1e3,
        "p99 (ms)": percentile(out.seconds, 0.99) * 1e3,
        "given up": f"{out.given_up / max(1, len(out.seconds)):.1%}",
        "requests a device and month": f"{sum(month.values()) / devices:,.0f}",
        "dollars a device and month": f"{sum(month[kind] * _PRICES[kind] for kind in month) / devices:.3f}",
    }
