"""What `agentm doctor` says about a bucket on this device. Whether the server answers is asked by doctor itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_bucket.backend import BucketBackend
from agentm_kernel.plugin import AgentmError, DeviceCopy, DoctorRow, Locator, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext

_OLD = 24 * 3600.0


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """Nothing, where no bucket is selected."""
    store = context.store.facet(DeviceCopy) if context.store is not None else None
    if not isinstance(store, BucketBackend):
        return None
    return [_credentials(store), _copy(store), _conflicts(store)]


def _credentials(store: BucketBackend) -> DoctorRow:
    try:
        store.check_usable(read_only=False)
    except AgentmError as error:
        return DoctorRow("fail", "bucket keys", error.message, error.hint)
    return DoctorRow("ok", "bucket keys", "the environment has them")


def _copy(store: BucketBackend) -> DoctorRow:
    age = store.copy_age()
    if age is None:
        return DoctorRow("warn", "bucket copy", "hooks have nothing to read yet", "run `agentm bucket sync`")
    said = f"{age / 60:.0f} min old"
    return DoctorRow("warn" if age > _OLD else "ok", "bucket copy", said, "`agentm bucket sync` renews it")


def _conflicts(store: BucketBackend) -> DoctorRow:
    found = store.conflict_copies(Locator())
    if not found:
        return DoctorRow("ok", "bucket conflicts", "none")
    files = ", ".join(sorted({kept.note.key for kept in found}))
    return DoctorRow(
        "warn", "bucket conflicts", f"kept versions of {files}: {len(found)}", "`agentm bucket conflicts` lists them"
    )
