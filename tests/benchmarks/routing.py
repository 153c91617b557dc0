"""Asking where state belongs, thousands of times a second, while everything that decides about it may change."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentm_devkit.conformance.stubs import LocalStub, SyncedStub
from agentm_kernel import harness_state_dir, resolve_project, write_state_file
from agentm_kernel.plugin import registry
from agentm_kernel.selection.identity import record_store, stamp_store
from agentm_kernel.state.routing import route_project, state_directory
from tests.benchmarks.measure import interleave
from tests.benchmarks.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.benchmarks.measure import Setting
    from tests.benchmarks.tables import Row

SETTLED_AFTER = 2.1
"""Seconds after which a file is old enough for its signature to be trusted: as it is in a process that has been
running for a while."""


def run(setting: Setting) -> Table:
    rows: list[Row] = []
    for kind in ("local", "synced"):
        with _device(setting.scratch / kind, kind):
            write_state_file(resolve_project(), "PLAN.md", "# Plan\n")
            time.sleep(SETTLED_AFTER)
            resolution = resolve_project()
            work = {
                "harness_state_dir(resolution)": lambda resolution=resolution: harness_state_dir(resolution),
                "harness_state_dir()": harness_state_dir,
                "resolve_project()": resolve_project,
                "the same, found anew": lambda: state_directory(route_project(read_only=True)),
            }
            samples = interleave(work, rounds=setting.rounds(60, 10), batch=200)
            rows += [
                {
                    "question": name,
                    "store": kind,
                    "rate (1/s)": samples.per_second(name),
                    "median (µs)": samples.seconds(name) * 1e6,
                    "against anew (×)": samples.speed(name, "the same, found anew"),
                }
                for name in work
            ]
            rows.append(_while_the_marker_changes(setting, kind))
    note = (
        "In one process. Every answer is checked against the files it rests on before it is given again; in the row "
        "with changes the mode marker is replaced before every hundredth call, and every answer is compared."
    )
    return Table("routing", "Asking for the state directory", note, rows)


def _while_the_marker_changes(setting: Setting, kind: str) -> Row:
    """Answers per second while a marker is replaced all the time, each one the right one."""
    marker = os.path.join(os.getcwd(), ".harness", ".project-mode")
    os.makedirs(os.path.dirname(marker), exist_ok=True)
    expected: dict[str, object] = {}
    calls, spent = 0, 0.0
    for turn in range(setting.rounds(200, 20)):
        mode = ("local", "backend")[turn % 2]
        with open(f"{marker}.new", "w", encoding="utf-8") as file:
            file.write(mode)
        os.replace(f"{marker}.new", marker)
        expected.setdefault(mode, state_directory(route_project(read_only=True)))
        start = time.perf_counter()
        answers = {str(harness_state_dir()) for _ in range(100)}
        spent += time.perf_counter() - start
        calls += 100
        if answers != {expected[mode]}:
            raise AssertionError(f"{answers} instead of {expected[mode]}")
    os.unlink(marker)
    return {
        "question": "harness_state_dir() while the marker changes",
        "store": kind,
        "rate (1/s)": calls / spent,
        "median (µs)": spent / calls * 1e6,
    }


@contextmanager
def _device(folder: Path, kind: str) -> Iterator[None]:
    """A home, a project as the current directory, and a store of that kind."""
    project, home, store = folder / "widgets", folder / "home", folder / "store"
    config = home / ".config" / "agentm" / ".agentm-config.json"
    for made in (project / ".git", project / ".harness", config.parent, store):
        made.mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (project / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:ana/widgets.git\n')
    protocol = f"bench-{kind}"
    registry.register(protocol, {"local": LocalStub, "synced": SyncedStub}[kind])
    store_id = stamp_store(SyncedStub(store))
    record_store(str(home / ".local" / "state" / "agentm"), protocol, str(store), store_id)
    config.write_text(json.dumps({"storage.backend": protocol, f"plugins.{protocol}.root": str(store)}))
    kept, kept_environ = os.getcwd(), dict(os.environ)
    os.environ["HOME"] = str(home)
    for name in [name for name in os.environ if name.startswith(("XDG_", "AGENTM_", "MEMORY_"))]:
        del os.environ[name]
    os.chdir(project)
    try:
        yield
    finally:
        os.chdir(kept)
        os.environ.clear()
        os.environ.update(kept_environ)
        registry.unregister(protocol)
