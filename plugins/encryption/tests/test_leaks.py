"""The text of notes is looked for, byte for byte, in everything that a device writes while it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zlib
from contextlib import suppress
from pathlib import Path

import pytest

TOKEN = f"heliotrope{os.getpid()}"
"""A word that no other process of this machine has: another test's command line is no leak of this one."""


class Watch:
    """Looks at the command lines of all processes, again and again."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self.seen: list[str] = []
        self.looks = 0
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        own = str(os.getpid())
        while not self._stop.wait(0.005):
            self.looks += 1
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    words = path.read_bytes()
                    if TOKEN.encode() in words and path.parent.name != own:
                        self.seen.append(words.decode(errors="replace"))


def agentm(laptop, *arguments, text="", cwd=None):
    """A process of its own, with its temporary files where they are looked for."""
    temporary = laptop.home / "tmp"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "agentm_kernel.cli.main", *arguments],
        cwd=cwd or laptop.home / "widgets",
        env={**laptop.environ, "TMPDIR": str(temporary)},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def readable_files(folder):
    """Every file that has the token in it, as it is or compressed."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            with suppress(zlib.error):
                data += zlib.decompress(data)
            if TOKEN.encode() in data:
                found.append(str(path.relative_to(folder)))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs the list of processes")
@pytest.mark.parametrize("kind", ["device-local", "vault", "git"])
def test_nothing_that_a_device_does_leaves_a_readable_copy(laptop, kind):
    checkout = laptop.home / "widgets"
    (checkout / ".git").mkdir(parents=True)
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (checkout / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/widgets.git\n')
    if kind == "vault":
        (laptop.home / "vault").mkdir()
        laptop.done("vault", "init", str(laptop.home / "vault"), "--use")
    elif kind == "git":
        subprocess.run(["git", "init", "-q", "--bare", str(laptop.home / "team.git")], check=True)
        laptop.done("git", "init", str(laptop.home / "clone"), f"file://{laptop.home}/team.git", "--use")
    laptop.init()
    with Watch() as watch:
        agentm(laptop, "save", "--kind", "fact", "--slug", "code", text=f"The launch code is {TOKEN}.\n")
        agentm(laptop, "save", "--kind", "fact", "--slug", "code", "--update", text=f"Now it is {TOKEN} again.\n")
        if kind == "git":
            agentm(laptop, "git", "sync")
        agentm(laptop, "reindex")
        assert TOKEN in agentm(laptop, "search", "launch", "code", "again")
        assert TOKEN in agentm(laptop, "recall-here")
        event = {"cwd": str(checkout), "session_id": "s", "source": "startup", "prompt": "The launch code now?"}
        for name in ("session-start", "prompt", "turn-end"):
            agentm(laptop, "hook", name, "--host", "claude-code", text=json.dumps(event))
        agentm(laptop, "checkpoint", "create")
        agentm(laptop, "event", "turn-end", text=json.dumps({"cwd": str(checkout)}))
        agentm(laptop, "encryption", "rotate", "--yes")
        agentm(laptop, "doctor")
    assert readable_files(laptop.home) == []
    assert [*laptop.home.rglob("notes-*.sealed")]
    assert [*laptop.home.rglob("*.sqlite3*")] == []
    assert watch.seen == []
    assert watch.looks > 50
    assert TOKEN in agentm(laptop, "notes", "show", "code")
