"""What `agentm doctor` says about notes: where the index lies, and whether it can be used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, DoctorRow, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext, StorageBackend

_CHECK = "recall"


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    if context.store is None:
        return None  # why there is no store is said by its own row
    return [*_approval_rows(context), *_project_rows(context), *_left_behind_rows(context.store), _index_row(context)]


def _approval_rows(context: HookContext) -> list[DoctorRow]:
    """What keeps agents from saving, if what the operator wants to see first is misspelt."""
    from agentm_recall.inbox import kinds_to_approve

    try:
        kinds_to_approve(context.device.config)
    except AgentmError as error:
        return [DoctorRow("fail", "inbox", error.message, error.hint)]
    return []


def _project_rows(context: HookContext) -> list[DoctorRow]:
    """What keeps the notes of the project here from being found, if anything does."""
    try:
        context.device.memory(context.cwd).project_locator  # noqa: B018 - looking is what may fail
    except AgentmError as error:
        return [DoctorRow("warn", "project", error.message, error.hint)]
    return []


def _left_behind_rows(store: StorageBackend) -> list[DoctorRow]:
    """Notes that no session is given, because they came to a name after their project had left it."""
    if not store.capabilities.device_files:
        return []  # a store elsewhere is written to with its records at hand; and doctor waits for no network
    from agentm_recall.left_behind import left_behind

    try:
        found = left_behind(store)
    except AgentmError as error:
        return [DoctorRow("warn", "left behind", error.message, error.hint)]
    return [
        DoctorRow(
            "warn",
            "left behind",
            f"{each.notes} note{'s' * (each.notes != 1)} under '{each.name}', where nobody reads "
            f"{'them' if each.notes != 1 else 'it'}: {each.why}",
            each.way_out,
        )
        for each in found
    ]


def _index_row(context: HookContext) -> DoctorRow:
    assert context.store is not None
    from agentm_recall.index.database import Database, IndexUnavailable
    from agentm_recall.index.place import NoPlace, index_path

    try:
        path = index_path(context.store, context.device.environ)
    except NoPlace as error:
        return DoctorRow("ok", _CHECK, f"no index, searches read the notes: {error}")
    except AgentmError as error:
        return DoctorRow("warn", _CHECK, error.message, error.hint)
    if not os.path.exists(path):
        return DoctorRow(
            "ok", _CHECK, "no index yet; the first search makes it", "run `agentm reindex` to make it now"
        )
    try:
        with Database.open(path, read_only=True) as database:
            database.check()
            count, gone = database.count(), database.count_gone()
            said = f", {gone} of them forgotten" if gone else ""
            return DoctorRow("ok", _CHECK, f"{count} note{'s' * (count != 1)} indexed{said}, in {path}")
    except IndexUnavailable as error:
        return DoctorRow("warn", _CHECK, f"the index {path} cannot be used: {error}", "run `agentm reindex`")
