"""Builds of agentm that lack one guard each: `agentm prove` fails, and says what it saw."""

from __future__ import annotations

import os
import sys

import pytest

NO_SYNC = """
    import os
    class Lazy:
        def __getattr__(self, name):
            return getattr(os, name)
        def fsync(self, descriptor):
            pass
    import agentm_kernel.files.{module} as sabotaged
    sabotaged.os = Lazy()
"""
NO_LOCK = """
    from agentm_kernel.files import native_lock
    native_lock.try_lock = lambda descriptor: True
"""
NO_IDENTITY = """
    from agentm_kernel import selection
    from agentm_kernel.selection import identity
    selection.check_store = identity.check_store = lambda device, backend, protocol: identity.read_stamp(backend)
"""
NO_HOOK_TEXT = """
    from agentm_kernel.cli import session_text
    session_text.state_block = lambda resolution: ""
"""
NO_CONDITION = """
    from agentm_kernel.files.store import FileStore
    write = FileStore.write
    FileStore.write = lambda self, locator, content, *, if_match=None: write(self, locator, content)
    from agentm_kernel.selection import replacing  # whoever keeps earlier versions compares as well
    replacing.with_listeners = lambda device, backend: backend
"""
NO_WAITING_FOR_WRITERS = """
    from agentm_kernel.files.displaced import DisplacedVersions
    DisplacedVersions.add = lambda self, directory, swap, *, is_unwritten: directory.unlink(swap)
"""
IN_PLACE = """
    import time
    from agentm_kernel.files.store import FileStore
    write = FileStore.write
    def in_place(self, locator, content, *, if_match=None):
        if locator.name != "plan.md" or not self.exists(locator):
            return write(self, locator, content, if_match=if_match)
        with open(self.device_path(locator), "w") as file:
            for start in range(0, len(content), 40_000):
                file.write(content[start:start + 40_000])
                file.flush()
                time.sleep(0.002)
        return locator
    FileStore.write = in_place
"""
NO_ERROR_WHEN_FULL = """
    from agentm_kernel.errors import StorageIOError
    from agentm_kernel.files.store import FileStore
    write = FileStore.write
    def silent(self, locator, content, *, if_match=None):
        try:
            return write(self, locator, content, if_match=if_match)
        except StorageIOError:
            return locator
    FileStore.write = silent
"""


@pytest.mark.parametrize(
    ("sabotage", "trial", "saying"),
    [
        (NO_SYNC.format(module="atomic"), "on-the-disk", "a changed note: its bytes were not sent to the disk"),
        (NO_SYNC.format(module="tree"), "on-the-disk", "a new note: its name was not sent to the disk"),
        (NO_SYNC.format(module="appending"), "on-the-disk", "an added line: its bytes were not sent to the disk"),
        (NO_LOCK, "paused-holder", "although a paused one had the store to itself"),
        (NO_IDENTITY, "unmounted", "in the place of the store, and wrote into it"),
        (NO_HOOK_TEXT, "session-start", "the project has a plan, and the hook did not say so"),
        (NO_CONDITION, "conflict-copy", "was overwritten, although nobody had read it"),
        (NO_CONDITION, "eight-writers", "are lost"),
        (NO_WAITING_FOR_WRITERS, "open-file", "are lost, among them 'shell line"),
        (IN_PLACE, "killed-writers", "a note was torn"),
    ],
    ids=[
        *("no-sync-of-files", "no-sync-of-folders", "no-sync-of-appends", "no-lock", "no-identity-check"),
        *("no-hook-text", "no-condition", "no-condition-in-a-race", "no-waiting-for-writers", "in-place"),
    ],
)
def test_a_build_without_one_of_its_guards_is_noticed_for_that(bench, sabotage, trial, saying):
    bench.sabotage(sabotage)

    state, saw = bench.outcome(trial)

    assert state == "broken"
    assert saying in saw


@pytest.mark.skipif(sys.platform != "linux", reason="a scratch disk needs Linux")
def test_a_full_disk_that_is_passed_over_is_noticed(bench):
    bench.sabotage(NO_ERROR_WHEN_FULL)

    state, saw = bench.outcome("full-disk")

    if state == "not tried" and os.geteuid() != 0:
        pytest.skip(saw)
    assert (state, saw) == ("broken", "a write to a full disk was called done")
