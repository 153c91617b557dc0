"""What `agentm doctor` says about encryption. Looks at keys and permissions; `status` looks at every note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_encryption.places import NAME
from agentm_kernel.plugin import AgentmError, DoctorRow, Locator, Sealed, hookimpl, layout

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext, StorageBackend

_CHECK = "encryption"


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """Nothing for a store that is plain and should be."""
    store = context.store
    if store is None:
        return None
    try:
        sealed = store.facet(Sealed)
        if sealed is None:
            return _plain_rows(store, is_configured=NAME in context.device.config.wrappers)
        rows = [_keys_row(sealed), _identity_row(context.device.state_dir), _plain_state_row(store)]
        return [*rows, *_conflict_rows(store)]
    except AgentmError as error:
        return [DoctorRow("fail", _CHECK, error.message, error.hint)]


def _plain_rows(store: StorageBackend, *, is_configured: bool) -> list[DoctorRow] | None:
    if is_configured or not store.capabilities.device_files or not store.list(Locator(layout.KEYS)):
        return None
    return [
        DoctorRow(
            "fail",
            _CHECK,
            "the store has keys of encryption, and this device reads and writes it without",
            "run `agentm encryption join`; notes that were written meanwhile are not encrypted",
        )
    ]


def _keys_row(sealed: Sealed) -> DoctorRow:
    from agentm_encryption.epochs import RECOVERY, format_fingerprint
    from agentm_encryption.journal import INIT, Journal
    from agentm_encryption.store import EncryptedStore

    assert isinstance(sealed, EncryptedStore)
    if not sealed.as_stored.capabilities.device_files:
        return DoctorRow("ok", _CHECK, "the keys were not asked for: the store is not on this device")
    keys = sealed.keys
    if not any(member.kind == RECOVERY for member in keys.recipients):
        return DoctorRow(
            "fail", _CHECK, "there is no recovery key", "`agentm encryption rotate --recovery-file F` adds it"
        )
    if keys.oldest < keys.current.number:
        return DoctorRow("warn", _CHECK, "the change to new keys was interrupted", "run `agentm encryption rotate`")
    work = Journal(sealed.source.folder).work
    if work is not None:
        message = "encrypting the store was interrupted, and notes that are not sealed are not read"
        message = message if work == INIT else "making the store plain was interrupted"
        return DoctorRow("fail", _CHECK, message, f"run `agentm encryption {work}` to go on")
    members = len(keys.recipients)
    return DoctorRow(
        "ok",
        _CHECK,
        f"epoch {keys.current.number}, members: {members}, {format_fingerprint(keys.fingerprint)}",
    )


def _conflict_rows(store: StorageBackend) -> list[DoctorRow]:
    from agentm_encryption.survey import conflicts

    found = conflicts(store)
    if not found:
        return []
    what = f"{len(found)} to settle, of '{min(found.values())}' for one"
    return [DoctorRow("warn", "conflicts", what, "`agentm encryption status` lists them")]


def _identity_row(state_dir: str) -> DoctorRow:
    from agentm_encryption.device_identity import check_private

    problem = check_private(state_dir)
    if problem is not None:
        return DoctorRow("fail", "encryption key", problem, "run `chmod 600` on it")
    return DoctorRow("ok", "encryption key", "this device's own key is private")


def _plain_state_row(store: StorageBackend) -> DoctorRow:
    where = "in a private copy on this device" if store.capabilities.sync else "in each checkout's .harness folder"
    return DoctorRow("ok", "encryption scope", f"notes are sealed; plans and progress are plain {where}")
