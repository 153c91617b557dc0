"""R2: every state that a power cut may leave, after every workload of up to three verbs on two keys.

The real code runs; its calls are recorded; the model of `crash_model` says which trees the disk may hold at each
moment; each tree is built and opened by the real code again. Compound failures belong to it: a process killed
half-way, whose successor inherits what was not yet safe, and a second power cut in the first write after the first.
"""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from agentm_kernel.errors import AgentmError, InvalidContentError, NotFoundError
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from tests.faults import broken
from tests.faults.crash_model import crash_states, tree_without_crash
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch
from tests.faults.recorder import Killed, Recorder, tree_on_disk
from tests.faults.syscalls import Tap
from tests.faults.workloads import (
    FOLDER,
    KEYS,
    PLAIN_WRITES,
    Expected,
    Start,
    Workload,
    content_of,
    is_whole,
    killed_workloads,
    plain_workloads,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from agentm_kernel.seam.backend import StorageBackend
    from tests.faults.crash_model import Event, Tree

    Build = Callable[[], AbstractContextManager[None]]

STORE_ROOT = os.path.join("home", "memory")  # two levels that the first write has to make, and make safe


def campaign(intensity: Intensity) -> Outcome:
    outcome = _explore(intensity.store, nullcontext, verbs=intensity.pick(short=2, full=3), twice=intensity.full)
    for build in (broken.without_file_fsync, broken.without_directory_fsync, broken.writing_in_place):
        outcome.control(build.__name__, _explore(intensity.store, build, verbs=2, twice=False))
    return outcome


def _explore(store: StoreUnderTest, build: Build, *, verbs: int, twice: bool) -> Outcome:
    outcome = Outcome("crash states")
    with scratch(in_memory=True) as folder:
        explorer = _Explorer(store, build, folder, outcome)
        for workload in plain_workloads(verbs):
            explorer.run(workload)
        for workload in killed_workloads(verbs):
            explorer.run_killed_everywhere(workload)
        if twice:
            for start, story in list(explorer.recovered.values()):
                for verb in PLAIN_WRITES:
                    explorer.run(Workload((), verb, start=start, story=story))
    return outcome


@dataclass
class _Recording:
    """What one workload did to the disk, and what may be found if the power goes in its last verb, or after it."""

    events: list[Event]
    start_of_last: int
    during: Expected
    after: Expected
    ran_through: bool

    def states(self) -> Iterator[tuple[Tree, Expected]]:
        for moment in range(self.start_of_last, len(self.events) + 1):
            for tree in crash_states(self.events[:moment]):
                yield tree, self.during
        for tree in crash_states(self.events):
            yield tree, self.after


class _Explorer:
    """Runs workloads and checks each state that they may leave, once."""

    def __init__(self, store: StoreUnderTest, build: Build, folder: str, outcome: Outcome) -> None:
        self._store = store
        self._build = build
        self._folder = folder
        self._outcome = outcome
        self._checked: set[object] = set()
        self.recovered: dict[Tree, tuple[Start, str]] = {}
        """The states so far, and what a start found in them: places for the next fault to begin."""

    def run(self, workload: Workload) -> bool:
        """Whether the verb that was to be killed ran through before that."""
        recording = self._record(workload)
        for tree, expected in recording.states():
            state = (_with_plain_temp_names(tree), expected.as_key())
            if state not in self._checked:
                self._checked.add(state)
                self._outcome.count += 1
                self._check(tree, expected, str(workload))
        return recording.ran_through

    def run_killed_everywhere(self, workload: Workload) -> None:
        """With its killed verb killed after one change, after two, … until it runs through."""
        for changes in count(1):
            if self.run(replace(workload, killed_after=changes)):
                return

    # -- recording ----------------------------------------------------------------------------------------------

    def _record(self, workload: Workload) -> _Recording:
        base = _build_tree(os.path.join(self._folder, "record"), workload.start.tree)
        root = os.path.join(base, STORE_ROOT)
        backend = self._store.open(root)
        recorder = Recorder(base)
        expected = workload.start.expected
        ran_through = True
        with Tap(recorder), self._build():
            for number, verb in enumerate(workload.acknowledged):
                verb.run(backend, content_of(number), expected.only(verb.key))
                expected = expected.after(verb, content_of(number))
            if workload.killed:
                ran_through = self._run_killed(backend, recorder, workload, expected)
                expected = expected.during(workload.killed, content_of("killed"))
                backend = self._store.open(root)  # by another process
            start_of_last = len(recorder.events)
            workload.last.run(backend, content_of("last"), expected.only(workload.last.key))
        if tree_without_crash(recorder.events) != tree_on_disk(base):
            raise RuntimeError(f"the recorded calls do not explain the tree after {workload}: is a call not tapped?")
        during, after = (
            expected.during(workload.last, content_of("last")),
            expected.after(workload.last, content_of("last")),
        )
        return _Recording(recorder.events, start_of_last, during, after, ran_through)

    @staticmethod
    def _run_killed(backend: StorageBackend, recorder: Recorder, workload: Workload, expected: Expected) -> bool:
        assert workload.killed
        recorder.die_after(workload.killed_after)
        try:
            workload.killed.run(backend, content_of("killed"), expected.only(workload.killed.key))
        except Killed:
            return False
        finally:
            recorder.revive()
        return True

    # -- checking -----------------------------------------------------------------------------------------------

    def _check(self, tree: Tree, expected: Expected, story: str) -> None:
        root = os.path.join(_build_tree(os.path.join(self._folder, "state"), tree), STORE_ROOT)
        backend = self._store.open(root)
        try:
            found = self._check_contents(backend, expected, story)
            self.recovered.setdefault(_with_plain_temp_names(tree), (Start(tree, found), story))
            self._check_listing(backend, story)
            for key in KEYS:
                backend.write(Locator(key), content_of("next"))
                if backend.read(Locator(key)) != content_of("next"):
                    self._report("lost", f"the next write of {key} is not there", story)
            self._check_listing(backend, story)
        except AgentmError as error:
            self._report("unusable", f"{type(error).__name__}: {error}", story)
        left = [path for path, _ in tree_on_disk(root) if os.path.basename(path).startswith(TEMP_PREFIX)]
        if left:
            self._report("litter", f"the next writes left {left}", story)

    def _check_contents(self, backend: StorageBackend, expected: Expected, story: str) -> Expected:
        for folder in expected.folders:
            if not backend.exists(Locator(folder)):
                self._report("lost", f"the folder {folder} is gone", story)
        for key, allowed in expected.contents.items():
            try:
                found: str | None = backend.read(Locator(key))
            except NotFoundError:
                found = None
            except InvalidContentError as error:
                self._report("torn", str(error), story)
                continue
            if found not in allowed:
                kind = "lost" if found is None or is_whole(found) else "torn"
                self._report(kind, f"{key} holds {found!r}", story)
            expected = expected.seen(key, found)
        return expected

    def _check_listing(self, backend: StorageBackend, story: str) -> None:
        listed = {info.locator.key for info in backend.walk(Locator())}
        if unknown := listed - {*KEYS, FOLDER}:
            self._report("litter", f"listed as notes: {sorted(unknown)}", story)

    def _report(self, kind: str, what: str, story: str) -> None:
        self._outcome.violation(kind, f"{what} after {story}")


# ------------------------------------------------------------------------------------------------ trees


def _build_tree(base: str, tree: Tree) -> str:
    shutil.rmtree(base, ignore_errors=True)
    os.mkdir(base)
    for path, content in tree:  # sorted: a directory comes before what is in it
        if content is None:
            os.mkdir(os.path.join(base, path), 0o700)
        else:
            with open(os.path.join(base, path), "wb") as file:
                file.write(content)
    return base


def _with_plain_temp_names(tree: Tree) -> Tree:
    """The tree with the random part of temp names taken out, so that equal states are known as equal."""
    return tuple(
        (os.path.join(os.path.dirname(path), f"temp {index}"), content)
        if os.path.basename(path).startswith(TEMP_PREFIX)
        else (path, content)
        for index, (path, content) in enumerate(tree)
    )
