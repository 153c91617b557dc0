"""What a git store adds to a person's page: what became of a note, and the latest commits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agentm_git.backend import GitStore
from agentm_kernel.plugin import (
    ABSENT,
    Locator,
    NotFoundError,
    Panel,
    StorageIOError,
    WorkingCopy,
    content_hash,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_git.history import Version
    from agentm_kernel.plugin import Device, HookContext, StorageBackend

    Query = Mapping[str, str]
    Blocks = list[Mapping[str, Any]]

_MOST = 40


@hookimpl
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """Nothing, where no clone is selected and on this device."""
    git = _git(context.store)
    if git is None or context.store is None or not git.is_here:
        return None
    restore = {"restore": partial(_restore, context.device)}
    return [
        Panel("git-versions", "History in git", "note", partial(_versions, context.store, git), restore),
        Panel("git", "Git", "more", partial(_commits, git, context)),
    ]


def _git(store: StorageBackend | None) -> GitStore | None:
    found = store.facet(WorkingCopy) if store is not None else None
    return found if isinstance(found, GitStore) else None


def _versions(store: StorageBackend, git: GitStore, query: Query) -> Blocks:
    from agentm_git.history import find, versions

    locator = Locator(query.get("note", ""))
    known = versions(git.clone, locator)
    if query.get("commit"):
        return _compared(store, git, locator, find(known, query["commit"], locator))
    if not known:
        return []
    items = [
        {
            "time": version.time,
            "title": version.subject,
            "text": f"{version.what} by {version.author}, {version.commit[:10]}",
            **({"open": {"note": locator.key, "commit": version.commit}} if version.blob else {}),
        }
        for version in known[:_MOST]
    ]
    return [{"type": "timeline", "items": items}]


def _compared(store: StorageBackend, git: GitStore, locator: Locator, version: Version) -> Blocks:
    now = store.read(locator) if store.exists(locator) else None
    old = _text(store, git, locator, version)
    said = (
        f"What {version.commit[:10]} of {version.author} had is marked as removed, what the note says now as added."
    )
    expect = "absent" if now is None else content_hash(now)
    fields = {"note": locator.key, "commit": version.commit, "expect": expect}
    row = {"status": "info", "label": locator.key, "text": said, "note": locator.key if now is not None else ""}
    blocks: Blocks = [{"type": "rows", "rows": [row]}, {"type": "diff", "before": old, "after": now or ""}]
    if old != now:
        blocks.append({"type": "action", "action": "restore", "label": "Bring this version back", "fields": fields})
    return blocks


def _text(store: StorageBackend, git: GitStore, locator: Locator, version: Version) -> str:
    from agentm_git.history import read_version

    text = read_version(store, git.clone, locator, version)
    if text is None:
        raise NotFoundError(f"'{locator}' was deleted by that commit")
    return text


def _restore(device: Device, fields: Query) -> str:
    from agentm_git.history import find, versions

    store = device.store(read_only=False)
    git = _git(store)
    if git is None:
        raise StorageIOError("the selected store is no git store any more", hint="reload the page")
    locator = Locator(fields.get("note", ""))
    version = find(versions(git.clone, locator), fields.get("commit", ""), locator)
    expect = fields.get("expect", "")
    store.write(locator, _text(store, git, locator, version), if_match=ABSENT if expect == "absent" else expect)
    return f"Brought back as {version.author} left it in {version.commit[:10]}."


def _commits(git: GitStore, context: HookContext, _query: Query) -> Blocks:
    """How the clone is, and the latest commits."""
    from agentm_git.doctor import agentm_doctor_checks

    rows = [
        {"status": row.status, "label": row.check, "text": row.message, "hint": row.hint}
        for row in agentm_doctor_checks(context) or ()
    ]
    blocks: Blocks = [{"type": "rows", "rows": rows}]
    if git.clone.public.head() is None:
        return blocks
    lines = git.clone.read_history("log", f"-{_MOST}", "--format=%H%x00%at%x00%an%x00%s", "HEAD").splitlines()
    commits = [line.split("\0", 3) for line in lines]
    items = [
        {"time": int(time), "title": subject, "text": f"{author}, {commit[:10]}"}
        for commit, time, author, subject in commits
    ]
    return [*blocks, {"type": "timeline", "items": items}]
