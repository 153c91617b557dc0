"""What `agentm doctor` says about checkpoints and the guard. Asks no daemon."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from agentm_checkpoint.texts import agentm_of, counted
from agentm_kernel.plugin import AgentmError, DeviceCopy, DoctorRow, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_checkpoint.guard import IntegrityGuard
    from agentm_kernel.plugin import Device, HookContext, StorageBackend


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """Nothing without a store, or for one that nobody has written to."""
    from agentm_checkpoint.guard import find_guard

    backend = context.store
    if backend is None or backend.facet(DeviceCopy) is not None:  # a copy does not tell whether the store is gone
        lost = _lost_rows(context.device)
        if lost or backend is None:
            return lost
    if backend.stamp_text() is None:
        return None
    guard = find_guard(backend)
    return [
        _row("checkpoints", partial(_image_row, backend, context.device)),
        *_history_rows(backend, context.device),
        _row("integrity", partial(_guard_row, guard, backend, context.device)),
    ]


def _lost_rows(device: Device) -> list[DoctorRow] | None:
    """The store cannot be had; perhaps it is gone, and there are checkpoints of it."""
    from agentm_checkpoint.lost_stores import count_lost

    count = count_lost(device)
    if not count:
        return None
    message = f"{counted(count, 'checkpoint')} of the store that was there"
    return [
        DoctorRow("warn", "checkpoints", message, f"run `{agentm_of(device)} checkpoint restore latest --into-new`")
    ]


def _row(check: str, look: Callable[[], DoctorRow]) -> DoctorRow:
    """What cannot be looked at is a failure of that check, and of no other."""
    try:
        return look()
    except AgentmError as error:
        return DoctorRow("fail", check, error.message, error.hint)


def _image_row(backend: StorageBackend, device: Device) -> DoctorRow:
    from agentm_checkpoint.capture import open_image
    from agentm_checkpoint.directories import folder_of, store_id
    from agentm_checkpoint.lost_stores import unfinished_restore

    unfinished = unfinished_restore(folder_of(device.state_dir, store_id(backend)))
    if unfinished is not None:
        return DoctorRow(
            "fail",
            "checkpoints",
            "bringing this store back was interrupted, and notes are missing",
            f"run `{agentm_of(device)} checkpoint restore {unfinished}`",
        )
    image = open_image(backend, device)
    if image.damage:
        return DoctorRow(
            "warn", "checkpoints", image.damage, f"run `{agentm_of(device)} checkpoint verify`, then `create`"
        )
    last = image.latest()
    if last is None:
        return DoctorRow("ok", "checkpoints", f"none yet; `{agentm_of(device)} checkpoint create` takes one")
    hours = (time.time() - last.time / 1000) / 3600
    return DoctorRow(
        "ok",
        "checkpoints",
        f"{len(image.snapshots)} in {image.path} ({image.size:,} bytes), the newest {hours:.1f} hours old",
    )


def _history_rows(backend: StorageBackend, device: Device) -> list[DoctorRow]:
    """Nothing, unless what writes replace is lost at present."""
    from agentm_checkpoint.replaced import open_history

    try:
        open_history(backend, device).check()
    except AgentmError as error:
        message = f"versions that are replaced now are not kept: {error.message}"
        return [DoctorRow("fail", "history", message, error.hint)]
    return []


def _guard_row(guard: IntegrityGuard | None, backend: StorageBackend, device: Device) -> DoctorRow:
    if guard is None:
        from agentm_checkpoint.directories import folder_of, store_id
        from agentm_checkpoint.known_good import Record
        from agentm_checkpoint.lockdown import first_unguarded, say_unguarded

        key = first_unguarded(backend, device)
        if key is None:
            return DoctorRow("ok", "integrity", "off: no note is under guard")
        record = Record(folder_of(device.state_dir, store_id(backend)))
        return DoctorRow("warn", "integrity", *say_unguarded(key, record, device))
    known = guard.record.current()
    locks = known.locks()
    if locks:
        shown = ", ".join(sorted(locks)[:3]) + (f" and {len(locks) - 3} more" if len(locks) > 3 else "")
        return DoctorRow("fail", "integrity", f"locked: {shown}", f"run `{agentm_of(device)} checkpoint verify`")
    return DoctorRow("ok", "integrity", f"{counted(len(known.leaves()), 'note')} known to be good, none is locked")
