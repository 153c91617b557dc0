"""R3 below the interpreter: disks that are really full or read-only, and errors that the kernel itself returns.

What the tap of `io_errors` does in breadth is repeated here in a few places, so that nobody has to trust the tap.
Each part says why if this machine cannot run it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentm_kernel.errors import AgentmError
from agentm_kernel.seam.locator import TEMP_PREFIX, Locator
from tests.faults import file_systems
from tests.faults.file_systems import mounted
from tests.faults.harness import Intensity, Outcome, StoreUnderTest, scratch
from tests.faults.one_write import attempt
from tests.faults.scenarios import NEW, OLD
from tests.faults.workers import Crew

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tests.faults.one_write import Said

REPOSITORY = Path(__file__).resolve().parents[2]
NOBODY = 65534
NOTE = Locator("folder/note.md")

# Which system call strace shall fail, and how. The second fsync of a write is that of the directory.
INJECTIONS = (
    ("fsync", "error=EIO:when=1"),
    ("fsync", "error=EIO:when=2"),
    ("fsync", "error=ENOSPC"),
    ("rename,renameat,renameat2", "error=ENOSPC"),
    ("rename,renameat,renameat2", "error=EIO:when=1"),
    ("write", "error=EDQUOT:when=1"),
    ("flock", "error=EDEADLK"),
)


def add_to(outcome: Outcome, intensity: Intensity) -> None:
    """Inject what this machine allows, and judge it in `outcome`."""
    store = intensity.store
    with scratch() as folder:
        reason = file_systems.why_not()
        if reason is None:
            _full_disk(outcome, store, os.path.join(folder, "full"), "size=128k")
            _full_disk(outcome, store, os.path.join(folder, "inodes"), "nr_inodes=24")
            _read_only(outcome, store, os.path.join(folder, "read-only"))
        else:
            outcome.skips.append(f"full and read-only disks: {reason}")
        if os.geteuid() == 0:
            _not_permitted(outcome, store, folder)
        else:
            outcome.skips.append("permission denied: only root can become another user")
        reason = _why_not_traced()
        if reason is None:
            for calls, how in INJECTIONS[: intensity.pick(short=1, full=len(INJECTIONS))]:
                _traced(outcome, store, os.path.join(folder, "traced"), calls, how)
        else:
            outcome.skips.append(f"errors injected by strace: {reason}")


# ------------------------------------------------------------------------------------------------ real disks


def _full_disk(outcome: Outcome, store: StoreUnderTest, folder: str, limit: str) -> None:
    with mounted("-t", "tmpfs", "-o", limit, "tmpfs", on=folder):
        root = _store_in(store, folder)
        fillers = _fill(folder)
        _judge_refusal(outcome, store, root, errno.ENOSPC, f"a tmpfs with {limit}, full")
        for filler in fillers:
            os.unlink(filler)
        _judge_recovery(outcome, store, root, f"a tmpfs with {limit}, room again")


def _fill(folder: str) -> list[str]:
    """Files until the disk takes no more, neither data nor names."""
    fillers: list[str] = []
    try:
        while True:
            fillers.append(os.path.join(folder, f"filler {len(fillers)}"))
            with open(fillers[-1], "wb", buffering=0) as file:
                while file.write(bytes(4096)) == 4096 and os.path.getsize(fillers[-1]) < 65536:
                    pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    return [filler for filler in fillers if os.path.exists(filler)]


def _read_only(outcome: Outcome, store: StoreUnderTest, folder: str) -> None:
    root = _store_in(store, folder)
    with mounted("--bind", folder, on=folder):
        file_systems.run("mount", "-o", "remount,bind,ro", folder)
        _judge_refusal(outcome, store, root, errno.EROFS, "a read-only mount")
    _judge_recovery(outcome, store, root, "a mount that is writable again")


def _not_permitted(outcome: Outcome, store: StoreUnderTest, folder: str) -> None:
    os.chmod(folder, 0o755)
    root = _store_in(store, os.path.join(folder, "theirs"))
    for path in (os.path.dirname(root), root, os.path.join(root, "folder")):
        os.chmod(path, 0o755)
    os.chmod(os.path.join(root, *NOTE.parts), 0o644)
    with Crew() as crew:
        said = crew.start(_write_as_nobody, store, root).receive()
    _judge_error(outcome, said, errno.EACCES, "another user's store")
    _judge_recovery(outcome, store, root, "the owner of the store")


def _write_as_nobody(connection: Connection, store: StoreUnderTest, root: str) -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    connection.send(attempt(store, root, NOTE.key))


# ------------------------------------------------------------------------------------------------ strace


def _why_not_traced() -> str | None:
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "this machine does not let strace trace"


def _traced(outcome: Outcome, store: StoreUnderTest, folder: str, calls: str, how: str) -> None:
    root = _store_in(store, folder)
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:{how}"]
    command += [sys.executable, "-B", "-m", "tests.faults.one_write", store.name, root, NOTE.key]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    said = json.loads(done.stdout) if done.stdout else (done.stderr[-200:], None)
    code = getattr(errno, how.partition("=")[2].partition(":")[0])
    _judge_error(outcome, said, code, f"{calls}: {how}, by strace")
    _judge_recovery(outcome, store, root, f"{calls}: {how}, over")
    shutil.rmtree(folder)


# ------------------------------------------------------------------------------------------------ judging


def _store_in(store: StoreUnderTest, folder: str) -> str:
    root = os.path.join(folder, "memory")
    os.makedirs(folder, exist_ok=True)
    store.open(root).write(NOTE, OLD)
    return root


def _judge_refusal(outcome: Outcome, store: StoreUnderTest, root: str, code: int, story: str) -> None:
    _judge_error(outcome, attempt(store, root, NOTE.key), code, story)
    if store.open(root).read(NOTE) != OLD:
        outcome.violation("lost", f"the old note is gone ({story})")


def _judge_error(outcome: Outcome, said: Said, code: int, story: str) -> None:
    outcome.count += 1
    if tuple(said) != ("StorageIOError", code):
        outcome.violation("lie" if said[0] == "written" else "untyped", f"the write said {said} ({story})")


def _judge_recovery(outcome: Outcome, store: StoreUnderTest, root: str, story: str) -> None:
    """Once the fault is over: the old note or the new one, and a next write that leaves nothing behind."""
    backend = store.open(root)
    try:
        if backend.read(NOTE) not in (OLD, NEW):
            outcome.violation("torn", f"the note is neither old nor new ({story})")
        backend.write(NOTE, OLD)
    except AgentmError as error:
        outcome.violation("unusable", f"{error} ({story})")
    if any(name.startswith(TEMP_PREFIX) for _, _, files in os.walk(root) for name in files):
        outcome.violation("litter", f"a temp file is left after the next write ({story})")
