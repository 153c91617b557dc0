"""Every key and folder that agentm reserves in a store, once. Nothing else in kernel or plugins spells them.

They are texts, not locators: what is below them is `f"{PROJECTS}/{slug}"` or `backend.resolve(PROJECTS, slug)`.
"""

from __future__ import annotations

META = "_meta"
"""The store's own records. Nothing in it is a note."""
STAMP_KEY = f"{META}/store.json"
"""The store's identity: id, when it was made, version of the layout."""
REPOS_KEY = f"{META}/repos.json"
"""The registry of repositories."""
REMOTES = f"{META}/remotes"
"""Which project a repository is, by its remote."""
CONFLICTS = f"{META}/conflicts"
"""Versions of notes that lost, where the store keeps them out of the way."""
ALERTS_KEY = f"{META}/alerts.md"
"""What a guard has found, for the operator to read."""
PERSONAL_AUDIT_KEY = f"{META}/personal-writes.md"
"""Which of the operator's own notes were written, when, and by whose leave."""

PROJECTS = "projects"
"""A folder per project, by its slug: notes, and the state of a synced store."""
LEGACY_PROJECTS = "personal-projects"
"""What older installs called it."""
HARNESS = "_harness"
"""A project's plan, progress and other state files, in its folder."""
PROJECT_RECORD = "_project.json"
"""Whose project it is, in its folder."""
INDEX_NOTE = "_index.md"
"""The one note of a project that says what the project is."""

PERSONAL = "personal"
"""Notes that belong to no project."""
ALWAYS_LOAD = f"{PERSONAL}/_always-load"
"""Personal notes that every session begins with."""
INBOX = "_inbox"
"""What agents propose and the operator has not taken yet."""
INBOX_LOG_KEY = f"{META}/inbox.md"
"""What became of each proposal, and when."""
