"""A sandbox that lets an agent write to its checkout and nowhere else, as Codex's does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOUNT = (
    'mount --bind "$0" "$0" && mount --bind "$1" "$1" && mount -o remount,bind,ro "$0" && cd "$1" && shift '
    '&& exec "$@"'
)


@pytest.fixture
def sandbox(machine) -> Iterator[list[str]]:
    """What to put before a command so that the checkout is all that it can write to."""
    if os.geteuid() != 0:
        yield []
        for folder in (machine.home, machine.store):
            if folder.exists():
                subprocess.run(["chmod", "-R", "u+w", folder], check=True)
        return
    prefix = ["unshare", "--mount", "sh", "-c", _MOUNT, str(machine.folder), str(machine.project)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("neither permissions nor a mount can keep this user from writing")
    yield prefix


def execute(prefix: list[str], machine, *arguments: str, text: str = "") -> tuple[int, str, str]:
    if not prefix:
        for folder in (machine.home, machine.store):
            if folder.exists():
                subprocess.run(["chmod", "-R", "a-w", folder], check=True)
    done = subprocess.run(
        [*prefix, sys.executable, "-P", "-S", "-m", "agentm_kernel.cli.main", *arguments],
        cwd=machine.project,
        env=machine.environ,
        check=False,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("has_notes", [True, False], ids=["a store with notes", "a new device"])
def test_state_in_the_checkout_is_written_although_the_store_cannot_be(machine, sandbox, has_notes):
    if has_notes:
        assert machine.execute("project", "register", "--slug", "widgets").code == 0
    before = {path: path.stat().st_mtime_ns for path in machine.home.rglob("*")}

    appended = execute(sandbox, machine, "state", "append", "progress.md", text="- one\n")
    again = execute(sandbox, machine, "state", "append", "progress.md", text="- two\n")
    written = execute(sandbox, machine, "state", "write", "PLAN-foo.md", text="# Plan\n")
    used = execute(sandbox, machine, "plan", "use", "foo")

    assert appended == again == (0, f"{machine.harness}/progress.md\n", "")
    assert written == (0, f"{machine.harness}/PLAN-foo.md\n", "")
    assert used == (0, "PLAN-foo.md\n", "")
    assert (machine.harness / "progress.md").read_text() == "- one\n- two\n"
    assert {path: path.stat().st_mtime_ns for path in machine.home.rglob("*")} == before


def test_a_checkout_that_keeps_its_state_asks_no_store(machine, sandbox):
    """Mode `local`: a synced store that cannot be written is none of its business."""
    machine.use_synced_store()
    machine.harness.mkdir()
    (machine.harness / ".project-mode").write_text("local\n")

    appended = execute(sandbox, machine, "state", "append", "progress.md", text="- one\n")

    assert appended == (0, f"{machine.harness}/progress.md\n", "")
    assert (machine.harness / "progress.md").read_text() == "- one\n"


def test_state_that_belongs_into_the_store_is_refused_and_not_kept_elsewhere(machine, sandbox):
    machine.use_synced_store()

    code, out, err = execute(sandbox, machine, "state", "append", "progress.md", text="- one\n")

    assert (code, out) == (1, "")
    assert str(machine.store) in err
    assert not machine.harness.exists()


def test_a_store_that_cannot_be_had_at_all_is_still_refused(machine, sandbox):
    machine.configure(**{"storage.backend": "gone"})

    code, _, err = execute(sandbox, machine, "state", "append", "progress.md", text="- one\n")

    assert code == 1
    assert "backend 'gone' is selected" in err
    assert not machine.harness.exists()
