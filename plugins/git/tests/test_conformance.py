"""The contract of the seam, on a clone: with no commit between writes, and with one after each."""

from __future__ import annotations

import os

from agentm_devkit.conformance import Subject
from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_git.backend import GitStore
from agentm_git.setup import make_clone


def open_clone(scratch: str) -> GitStore:
    store = GitStore(scratch)
    make_clone(scratch, store.settings, os.environ)
    return store


def open_committing(scratch: str) -> GitStore:
    store = GitStore(scratch, commit="write")
    make_clone(scratch, store.settings, os.environ)
    return store


test_clone = conformance_tests(Subject(open_clone, prepares=True))
test_with_a_commit_after_every_write = conformance_tests(
    Subject(open_committing), only=("reading", "writing", "conditions", "content", "deleting", "listing")
)
