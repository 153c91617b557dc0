"""Readers only read: they work where nothing can be written, and write nothing where everything can."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMANDS = [
    "state-path plan",
    "state-path progress --plan foo",
    "recall-here --phase plan --query words --limit 100",
    "offer-save-here --kind decision --slug locks",
    "hook session-start",
    "hook session-start --host plain",
    "hook prompt",
    "event turn-end",
    "config get storage.backend",
    "config list",
    "config path",
    "state read PLAN.md",
    "state list --json",
    "state path",
    "plan list",
    "project show",
    "project list",
    "store show",
    "plugins list",
    "--version",
    "--help",
]
CALLS = """
from agentm_kernel import *
from agentm_kernel.plugin import *
here = resolve_project(read_only=True)
print(here.slug, here.layout, here.project_locator, is_available())
print(recall_here(), offer_save_here(None, {"kind": "decision"}), state_path(None, "plan"))
print(harness_state_dir(), harness_state_dir(here), list_state_files(here), list_plan_files(here))
print(read_state_file(here, "PLAN.md"), resolve_active_plan(here), choose_protocol(), storage_preview().status)
print(list_repos(here.backend), here.backend.capabilities)
"""
RECALL = "def provide(resolution, **_): return f'notes of {resolution.slug}'"

# Writing is noticed where the interpreter itself asks for it, whichever function was called.
TRIPWIRE = """
import os, sys

leave = os._exit  # while a plugin runs, the name in `os` is another function
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {f"os.{name}" for name in (
    "chmod", "chown", "link", "mkdir", "mkfifo", "remove", "rename", "rmdir", "setxattr", "symlink", "truncate",
    "unlink", "utime",
)} | {"subprocess.Popen", "socket.connect", "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.rmtree"}

def watch(event, arguments):
    opened = event == "open" and arguments[2] & WRITES and arguments[0] != os.devnull
    if opened or event in CHANGES:
        os.write(2, f"TRIPPED by {event} {arguments[0]!r}\\n".encode())
        leave(99)

sys.addaudithook(watch)
if sys.argv[1] == "-c":
    exec(sys.argv[2])
else:
    from agentm_kernel.cli.main import main
    sys.exit(main())
"""


@pytest.fixture(params=["device-local", "synced"])
def full(request, machine):
    """A machine with something of everything that there is to read."""
    if request.param == "synced":
        machine.use_synced_store()
    else:
        machine.configure(**{"storage.backend": "device-local"})
    machine.install("memory", RECALL, "[agentm.recall]\nmemory = plugin_memory:provide\n")
    for name in ("PLAN.md", "progress.md", "PLAN-foo.md"):
        machine.run("state", "write", name, input="text\n")
    machine.run("plan", "use", "foo")
    registered = machine.run("project", "register")
    assert registered.code == 0, registered.err
    for command in ("doctor", "project list", "hook session-start"):
        machine.execute(*command.split())  # what these import is compiled now, because later it cannot be
    machine.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return machine


@pytest.fixture
def tripwire(tmp_path: Path) -> str:
    script = tmp_path / "tripwire.py"
    script.write_text(TRIPWIRE)
    return str(script)


def test_readers_ask_for_no_write_and_leave_no_trace(full, tripwire):
    before = full.snapshot()

    for command in [*COMMANDS, "doctor"]:
        done = full.execute(*command.split(), program=tripwire)
        assert (done.code, done.err) == (0, ""), command
    called = full.execute("-c", CALLS, program=tripwire)
    assert (called.code, called.err) == (0, "")

    assert full.snapshot() == before


@pytest.mark.parametrize("command", ["state write PLAN.md", "plan clear", "config set state_mode local"])
def test_the_tripwire_notices_a_write(full, tripwire, command):
    done = full.execute(*command.split(), program=tripwire, input="x")

    assert (done.code, done.err.startswith("TRIPPED by ")) == (99, True)


def test_a_fresh_home_stays_empty(machine, tripwire):
    machine.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    before = machine.snapshot()

    for command in COMMANDS:
        if command not in ("config get storage.backend", "state read PLAN.md"):  # there is nothing to get
            done = machine.execute(*command.split(), program=tripwire)
            assert done.code == 0, command
            assert bool(done.err) == (command == "plan list"), command  # which says that there is none

    assert machine.snapshot() == before


def test_readers_work_where_nothing_can_be_written(full, read_only_prefix):
    before = full.snapshot()

    for command in COMMANDS:
        code, out, err = under(read_only_prefix, full, *command.split())
        assert (code, err) == (0, ""), command
        assert out or command in ("event turn-end", "hook prompt")
    called = under(read_only_prefix, full, "-c", CALLS)
    assert (called[0], called[2]) == (0, ""), called[2]
    doctor = under(read_only_prefix, full, "doctor")
    assert (doctor[0], doctor[2]) == (1, "")
    assert "is not writable" in doctor[1]

    assert full.snapshot() == before


def test_there_is_nothing_to_write_to(full, read_only_prefix):
    code, _, err = under(read_only_prefix, full, "state", "write", "PLAN.md", "--allow-empty")

    assert (code, err.startswith("error: ")) == (1, True)


def under(prefix: list[str], machine, *arguments: str) -> tuple[int, str, str]:
    how = [] if arguments[0] == "-c" else ["-m", "agentm_kernel.cli.main"]
    done = subprocess.run(
        [*prefix, sys.executable, "-P", "-S", *how, *arguments],
        cwd=machine.project,
        env=machine.environ,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def read_only_prefix(full) -> Iterator[list[str]]:
    """What to put before a command so that home, configuration, caches, project and store cannot be written.

    The superuser is not stopped by permissions, so it gets a read-only mount in a namespace of its own.
    """
    if os.geteuid() != 0:
        for path in [*full.folder.rglob("*"), full.folder]:
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)
        yield []
        for path in [full.folder, *full.folder.rglob("*")]:
            path.chmod(stat.S_IMODE(path.lstat().st_mode) | 0o200)
        return
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", mount, str(full.folder)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("neither permissions nor a mount can keep this user from writing")
    yield prefix
