"""Real repositories, made by the real git, in a home where nobody has configured anything."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import FileStore

if TYPE_CHECKING:
    from pathlib import Path


class Git:
    """Runs git, with nothing of this machine's configuration."""

    def __init__(self, home: Path) -> None:
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
        }

    def __call__(self, directory: Path, *arguments: str) -> str:
        """The output of `git ARGUMENTS` in `directory`; a failure fails the test."""
        done = self.attempt(directory, *arguments)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def attempt(self, directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", "-c", "protocol.file.allow=always", "-C", str(directory), *arguments],
            check=False,
            capture_output=True,
            timeout=60,
            env=self._environ,
        )

    def init(self, directory: Path, *options: str, remote: str | None = None) -> Path:
        """A repository with one commit."""
        directory.mkdir(parents=True, exist_ok=True)
        self(directory, "init", "--quiet", *options)
        self(directory, "commit", "--quiet", "--allow-empty", "--message", "first")
        if remote is not None:
            self(directory, "remote", "add", "origin", remote)
        return directory


@pytest.fixture(scope="session")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    return Git(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def _no_outer_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither git's variables nor this machine's configuration reach a test."""
    for name in os.environ:
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "store", create_root=True)
