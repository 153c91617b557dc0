"""Health: what `agentm doctor` finds, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel import storage_preview
from agentm_view.blocks import Drawing
from agentm_view.html import join
from agentm_view.screens import Screen, heading
from agentm_view.screens.pieces import failure_of

if TYPE_CHECKING:
    from agentm_view.screens import Asked


def health(given: Asked) -> Screen:
    preview = storage_preview(device=given.memory.device())
    rows, failures = given.memory.doctor_rows()
    found: list[dict[str, Any]] = [{"status": preview.status, "label": "storage", "text": preview.line}]
    found += [{"status": row.status, "label": row.check, "text": row.message, "hint": row.hint} for row in rows]
    order = {"fail": 0, "warn": 1, "ok": 2}
    found.sort(key=lambda row: order.get(row["status"], 3))
    bad = sum(row["status"] in ("fail", "warn") for row in found) + len(failures)
    said = "Everything is fine." if not bad else f"{bad} of {len(found) + len(failures)} want a look."
    drawing = Drawing(given.links, "health", may_act=False, render=given.renderer.render)
    html = join(
        heading("Health", said=said),
        *(failure_of(one) for one in failures),
        drawing.draw([{"type": "rows", "rows": found}]),
    )
    return Screen("Health", html)
