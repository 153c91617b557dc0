"""What a policy keeps on this device: for this user alone, and whole when two processes change it at once."""

from __future__ import annotations

import os
import threading

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import store_mutex
from agentm_storage_policy.audit import record
from agentm_storage_policy.limits import RateLimits
from agentm_storage_policy.sync_state import SyncState


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_nobody_else_may_read_it(desk):
    before = os.umask(0)
    try:
        record(desk.opening, "asked", {})
        SyncState(str(desk.state), "a place", may_write=True).note_write()
    finally:
        os.umask(before)
    kept = [path for path in desk.state.rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600"}


def test_two_processes_do_not_count_as_one(desk):
    limits = RateLimits(desk.opening)
    assert limits.is_within("write", 9, "minute")
    with store_mutex(str(desk.state)):
        counting = threading.Thread(target=limits.is_within, args=("write", 9, "minute"))
        counting.start()
        counting.join(0.3)
        assert counting.is_alive(), "whoever counts has the numbers for itself"
    counting.join(10)
    assert not counting.is_alive()


def test_what_a_writer_wrote_and_was_killed_before_it_noted_it_is_committed_at_the_end_of_a_turn(desk, mirrors):
    sync = "{mode: pull-push, commit: {on: each-write, batch_window_ms: 5000}, push: {on: manual}}"
    store = desk.open(f"provider: mirror\nconfig: {{place: {desk.home}/team}}\nsync: {sync}\n")
    store.inner.write(Locator("note.md"), "text\n")
    store.handle("turn-start", {})
    assert mirrors[-1].steps == []
    store.handle("turn-end", {})
    assert mirrors[-1].tree("committed") == {"note.md": "text\n"}
