"""Git is started in an environment made for it, ends in time, and its words carry no secret."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

import pytest

from agentm_git import runner
from agentm_git.runner import Git, GitFailed, check_version, make_repository, run_bounded
from agentm_kernel.errors import StorageIOError, StorageSelectionError


@pytest.fixture
def repository(tmp_path):
    make_repository(str(tmp_path), "main", os.environ)
    return tmp_path


def git_in(repository, environ=None):
    public = str(repository / ".git")
    return Git(public, str(repository), f"{public}/objects", os.environ if environ is None else environ)


def program(folder, name, text):
    """A program of this name, first on the PATH that is returned."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_variables_of_git_and_configuration_of_the_user_have_no_say(repository, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n\tversion = !touch tripped\n[core]\n\tquotePath = true\n")
    hostile = {"GIT_DIR": "/elsewhere", "GIT_CONFIG_PARAMETERS": "'a.b=c'", "GIT_SSH_COMMAND": "false"}
    environ = {**os.environ, **hostile, "HOME": str(home), "GIT_EXTERNAL_DIFF": "false", "LC_ALL": "de_DE.UTF-8"}
    git = git_in(repository, environ)
    settings = git.text("config", "--list", "--show-scope").splitlines()
    assert "command\tcore.quotepath=false" in settings
    assert not [line for line in settings if line.startswith(("system", "global"))]
    assert "a.b=c" not in "\n".join(settings)


def test_what_could_run_a_program_is_switched_off_whatever_the_repository_says(repository):
    settings = {"core.fsmonitor": "touch x", "core.hooksPath": "hooks", "credential.helper": "!touch x"}
    for key, value in settings.items():
        subprocess.run(["git", "-C", repository, "config", key, value], check=True)
    git = git_in(repository)
    assert git.text("config", "core.fsmonitor") == "false"
    assert git.text("config", "core.hooksPath") == os.devnull
    assert git.run("config", "--get-all", "credential.helper").endswith(b"\n\n")


def test_a_remote_helper_is_not_run(repository):
    with pytest.raises(GitFailed, match="not allowed"):
        git_in(repository).run("fetch", f"ext::touch {repository}/tripped")
    assert not (repository / "tripped").exists()


def test_what_takes_too_long_is_ended_with_everything_that_it_started(tmp_path):
    path = program(
        tmp_path / "bin",
        "slow",
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen(['sleep', '60']); open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)",
    )
    began = time.monotonic()
    with pytest.raises(StorageIOError, match=r"^slow fetch did not end within 3 s and was stopped"):
        run_bounded(["slow", "--quietly", "fetch", "origin"], {**os.environ, "PATH": path}, str(tmp_path), None, 3.0)
    assert time.monotonic() - began < 30
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            with open(f"/proc/{child}/stat") as stat:
                if stat.read().split()[2] == "Z":
                    break
        except FileNotFoundError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the grandchild lives on")


def test_a_secret_is_in_no_error(repository):
    with pytest.raises(GitFailed) as caught:
        git_in(repository).run("cat-file", "-p", "s3cret", secrets=["s3cret"])
    assert "s3cret" not in f"{caught.value} {caught.value.said} {caught.value.hint}"
    assert "***" in caught.value.said


def test_an_older_git_is_refused_because_it_would_ignore_what_keeps_it_safe(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_checked", set())
    path = program(tmp_path / "bin", "git", "print('git version 2.30.2')")
    with pytest.raises(StorageSelectionError, match="too old"):
        check_version({**os.environ, "PATH": path})


def test_git_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_checked", set())
    with pytest.raises(StorageSelectionError, match="not installed"):
        check_version({"PATH": str(tmp_path)})


def test_a_folder_that_is_gone_is_not_taken_for_a_missing_git(tmp_path):
    with pytest.raises(StorageIOError, match="missing"):
        run_bounded(["git", "version"], dict(os.environ), str(tmp_path / "gone"), None, 10)


def test_a_program_that_cannot_be_started_is_named_with_the_systems_reason(tmp_path):
    (tmp_path / "program").write_text("no program")
    with pytest.raises(StorageIOError, match=r"program cannot be started: ") as caught:
        run_bounded([str(tmp_path / "program")], dict(os.environ), str(tmp_path), None, 10)
    assert caught.value.errno == errno.EACCES
