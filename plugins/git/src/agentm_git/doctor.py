"""What `agentm doctor` says about a clone. It looks at this device only: doctor waits for no network."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from agentm_git.backend import GitStore
from agentm_kernel.plugin import AgentmError, DoctorRow, WorkingCopy, hookimpl

if TYPE_CHECKING:
    from agentm_git.clone import Clone
    from agentm_kernel.plugin import HookContext

_OLD = 24 * 3600.0


@hookimpl
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """Nothing, where no clone is selected."""
    store = context.store.facet(WorkingCopy) if context.store is not None else None
    if not isinstance(store, GitStore):
        return None
    if not store.is_here:
        hint = "run `agentm event workspace-open`"
        return [DoctorRow("warn", "git clone", f"{store.settings.remote} is not on this device yet", hint)]
    clone = store.clone
    if not os.path.isdir(clone.private.path):
        hint = f"run `agentm git init {shlex.quote(store.describe())}`, with the address of the origin if any"
        return [DoctorRow("warn", "git clone", "nothing was ever committed here by agentm", hint)]
    return [_clone(clone), *_origin(clone), _conflicts(store), *_ignored(clone)]


def _clone(clone: Clone) -> DoctorRow:
    try:
        clone.check_ready()
    except AgentmError as error:
        return DoctorRow("fail", "git clone", error.message, error.hint)
    if os.path.exists(clone.private.journal):
        return DoctorRow("warn", "git clone", "bringing in changes was interrupted", "`agentm git sync` finishes it")
    lock = os.path.join(clone.private.public, "index.lock")
    if os.path.exists(lock):
        return DoctorRow("warn", "git clone", "another git is at work, or was killed", f"if none runs, remove {lock}")
    return DoctorRow("ok", "git clone", f"branch {clone.settings.branch}")


def _origin(clone: Clone) -> list[DoctorRow]:
    from agentm_git.condition import age_of_pull, distance, words_for
    from agentm_git.rewritten import is_pending

    if not clone.settings.remote:
        return [DoctorRow("ok", "git origin", "there is none: history stays on this device")]
    if is_pending(clone.private, clone.settings.branch):
        said = "its history was rewritten: commits that are here are no longer there"
        hint = "run `agentm git sync --rewritten follow` to let them go here too, or `--rewritten keep`"
        return [DoctorRow("warn", "git origin", said, hint, "storage_conflict")]
    age = age_of_pull(clone)
    if age is None:
        return [DoctorRow("warn", "git origin", "it was never reached", "run `agentm git sync`")]
    apart = distance(clone)
    is_behind = apart is not None and (apart.ahead or apart.behind)
    said = f"last reached {words_for(age)} ago; {apart or 'it has nothing yet'}"
    if age > _OLD or is_behind:
        return [DoctorRow("warn", "git origin", said, "run `agentm git sync`")]
    return [DoctorRow("ok", "git origin", said)]


def _ignored(clone: Clone) -> list[DoctorRow]:
    from agentm_git.condition import ABSENT, LEFT_OUT, UNREAD

    rows, ignored, absent = list[DoctorRow](), clone.looked.ignored(), clone.looked.absent()
    if unread := clone.looked.unread():
        hint = "make them this user's, with `chown`; until then the notes of others may not come in, either"
        rows.append(DoctorRow("fail", "git notes", f"{len(unread)} {UNREAD}: {unread[0]}", hint))
    if absent:
        hint = (
            "give it another name, or make it shorter, on a device that has it; or run `git sparse-checkout disable`"
        )
        rows.append(DoctorRow("warn", "git notes", f"{len(absent)} {ABSENT}: {absent[0]}", hint))
    if not ignored:
        return rows
    hint = (
        "nobody else gets them; if that is not meant, change .gitignore, give them names that any system can have "
        "(without ? and :, say), or take the inner repository's .git away"
    )
    return [*rows, DoctorRow("warn", "git notes", f"{len(ignored)} {LEFT_OUT}: {ignored[0]}", hint)]


def _conflicts(store: GitStore) -> DoctorRow:
    from agentm_git.condition import conflict_copies

    copies = conflict_copies(store)
    if not copies:
        return DoctorRow("ok", "git conflicts", "none")
    hint = "`agentm git status` lists them; take over what you miss, then delete them"
    return DoctorRow("warn", "git conflicts", f"{len(copies)} kept: {copies[0]}", hint)
