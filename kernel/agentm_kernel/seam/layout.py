"""Every key and folder that agentm reserves in a store, once. Nothing else in kernel or plugins spells them.

They are texts, not locators: what is below them is `f"{PROJECTS}/{slug}"` or `backend.resolve(PROJECTS, slug)`.
"""

from __future__ import annotations

META = "_meta"  # the store's own records; nothing in it is a note
STAMP_KEY = f"{META}/store.json"  # the store's identity: id, when it was made, version of the layout
REPOS_KEY = f"{META}/repos.json"  # the registry of repositories
REMOTES = f"{META}/remotes"  # which project a repository is, by its remote
MOVES = f"{META}/moves"  # where notes went that have another name or another store now
CONFLICTS = f"{META}/conflicts"  # versions of notes that lost, where the store keeps them out of the way
KEYS = f"{META}/keys"  # the keys of an encrypted store, sealed to its devices
ALERTS_KEY = f"{META}/alerts.md"  # what a guard has found, for the operator to read
PERSONAL_AUDIT_KEY = (
    f"{META}/personal-writes.md"  # which of the operator's own notes were written, and by whose leave
)
INBOX_LOG_KEY = f"{META}/inbox.md"  # what became of each proposal, and when

PROJECTS = "projects"  # a folder per project, by its slug: notes, and the state of a synced store
LEGACY_PROJECTS = "personal-projects"  # what older installs called it
PROJECT_TREES = (PROJECTS, LEGACY_PROJECTS)
HARNESS = "_harness"  # a project's plan, progress and other state files, in its folder
PROJECT_RECORD = "_project.json"  # whose project it is, in its folder
INDEX_NOTE = "_index.md"  # the one note of a project that says what the project is

PERSONAL = "personal"  # notes that belong to no project
ALWAYS_LOAD = f"{PERSONAL}/_always-load"  # personal notes that every session begins with
INBOX = "_inbox"  # what agents propose and the operator has not taken yet
