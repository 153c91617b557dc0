"""What a hook runs starts no git, waits for nobody and changes nothing; it works where git is not even installed."""

from __future__ import annotations

import fcntl
import os
import subprocess

import pytest
from clones import AGENTM, device, found_store
from trapped_git import TrappedGit

HOOKS = (
    ("state-path", "plan"),
    ("hook", "session-start"),
    ("recall-here",),
    ("state", "read", "PLAN.md"),
)


@pytest.fixture
def project(tmp_path, origin_by_path):
    """A home with a clone in use, and a project with a plan in it."""
    found_store(origin_by_path, str(tmp_path))
    home, checkout = tmp_path / "home", tmp_path / "widgets"
    checkout.mkdir()
    home.mkdir()

    def run(*arguments, path=os.environ["PATH"], stdin=""):
        environ = {**device(str(home)), "PATH": path}
        command = [AGENTM, *arguments]
        done = subprocess.run(
            command, cwd=checkout, env=environ, input=stdin, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("git", "init", str(tmp_path / "notes"), origin_by_path.url, "--use")
    run("state", "write", "PLAN.md", stdin="# Plan\n")
    return run


def test_hooks_start_no_git(tmp_path, project):
    trap = TrappedGit(str(tmp_path / "trap"))
    for words in HOOKS:
        project(*words, path=trap.path)
    assert trap.calls() == []
    project("git", "status", path=trap.path)
    assert trap.calls(), "the control: this command does start git"


def test_hooks_work_where_git_is_not_installed(tmp_path, project):
    nothing = tmp_path / "empty"
    nothing.mkdir()
    assert project("state-path", "plan", path=str(nothing)).strip().endswith("PLAN.md")
    assert "PLAN.md" in project("hook", "session-start", path=str(nothing))
    assert project("state", "read", "PLAN.md", path=str(nothing)) == "# Plan\n"


def test_a_state_that_was_written_is_readable_while_somebody_holds_the_clone(tmp_path, project):
    """The lock of whoever syncs is not the lock of whoever reads or writes notes."""
    held = [os.open(tmp_path / "notes" / ".git" / name, os.O_RDONLY) for name in ("agentm", "agentm/network")]
    try:
        for descriptor in held:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        for words in HOOKS:
            project(*words)
        project("state", "append", "progress.md", stdin="- still writing\n")
    finally:
        for descriptor in held:
            os.close(descriptor)
