"""What `agentm doctor` says about notes: where the index lies, and whether it can be used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentm_kernel.plugin import AgentmError, DeviceCopy, DoctorRow, Locator, NotFoundError, hookimpl

if TYPE_CHECKING:
    from agentm_kernel.plugin import HookContext, StorageBackend

_CHECK = "recall"


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    if context.store is None:
        return None  # why there is no store is said by its own row
    rows = [*_approval_rows(context), *_project_rows(context), *_torn_rows(context.store)]
    rows += _left_behind_rows(context)
    return [*rows, *_out_of_reach_rows(context.store), _index_row(context)]


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


def _torn_rows(store: StorageBackend) -> list[DoctorRow]:
    """Repositories whose notes lie under two names, of which a session reads one."""
    from agentm_recall.torn import torn_projects

    try:
        return [DoctorRow("warn", "two names", each.said, each.way_out) for each in torn_projects(store)]
    except AgentmError as error:
        return [DoctorRow("warn", "two names", error.message, error.hint)]


def _left_behind_rows(context: HookContext) -> list[DoctorRow]:
    """Notes and plans that no session is given, because they came to a name after their project had left it."""
    from agentm_recall.index.place import is_elsewhere
    from agentm_recall.left_behind import left_behind

    store = context.store
    assert store is not None
    try:
        if is_elsewhere(store):
            # Doctor waits for no network. Notes are written to a store elsewhere with its records at hand; plans are
            # sent from the copy here, perhaps much later.
            view = context.device.memory(context.cwd).local_view
            if view is None or view is store or view.facet(DeviceCopy) is None:
                return []
            store = view
        found = left_behind(store)
    except AgentmError as error:
        return [DoctorRow("warn", "left behind", error.message, error.hint)]
    return [
        DoctorRow(
            "warn",
            "left behind",
            f"{each.files} file{'s' * (each.files != 1)} under '{each.name}', where nobody reads "
            f"{'them' if each.files != 1 else 'it'}: {each.why}",
            each.way_out,
        )
        for each in found
    ]


def _out_of_reach_rows(store: StorageBackend) -> list[DoctorRow]:
    """Notes that another program gave a name or a place at which no session starts with them."""
    from agentm_recall.index.place import is_elsewhere

    if is_elsewhere(store):
        return []
    from agentm_recall.out_of_reach import NOWHERE, UNNAMED, notes_nowhere, unnamed_notes

    try:
        unnamed, nowhere = list(unnamed_notes(store, (Locator(),))), list(notes_nowhere(store))
    except AgentmError as error:
        return [DoctorRow("warn", "notes", error.message, error.hint)]
    rows = [
        DoctorRow("warn", "notes", f"{len(unnamed)} that nobody is given: {path} {UNNAMED}", "rename it")
        for path in unnamed[:1]
    ]
    hint = "move what every session should know into personal/, or into the folder of its project"
    said = f"{len(nowhere)} {NOWHERE}, so that a search finds them and no session starts with them"
    return [*rows, *(DoctorRow("ok", "notes", f"{said}: {key}", hint) for key in nowhere[:1])]


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
            unread = [why for note in database.unread() if (why := _why_unread(context.store, note.key))]
            if unread:
                more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
                message = f"no session is given a note that cannot be read: {unread[0].message}{more}"
                return DoctorRow("warn", _CHECK, message, unread[0].hint)
            return DoctorRow("ok", _CHECK, f"{count} note{'s' * (count != 1)} indexed{said}, in {path}")
    except IndexUnavailable as error:
        return DoctorRow("warn", _CHECK, f"the index {path} cannot be used: {error}", "run `agentm reindex`")


def _why_unread(store: StorageBackend, key: str) -> AgentmError | None:
    """Why a note that could not be read when it was indexed cannot be read now, either."""
    from agentm_recall.note import stored_text

    try:
        stored_text(store, Locator(key))
    except NotFoundError:
        return None
    except AgentmError as error:
        return error
    return None
