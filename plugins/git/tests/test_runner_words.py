"""What git is told, and what becomes of what it says: with a stand-in that says and does what a test wants."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from agentm_git import runner
from agentm_git.runner import Git, GitFailed, check_version, make_repository, run_bounded, user_settings
from agentm_kernel.errors import StorageIOError, StorageSelectionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    StandIn = Callable[..., Git]
    """A git that runs these lines of shell, in the environment that is given besides."""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    def made(lines: str, version: str = "2.45.1", **environ: str) -> Git:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "git"
        asked = f'if [ "$*" = version ]; then echo "git version {version}"; exit; fi'
        program.write_text(f"#!/bin/sh\n{asked}\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setattr(runner, "_checked", set())
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        return Git("/dir", str(tmp_path), "/objects", {"PATH": path, **environ})

    return made


def told(output: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


# ------------------------------------------------------------------------------------------------ the environment


def test_git_sees_the_directories_that_it_is_given_and_nothing_of_the_users(stand_in: StandIn) -> None:
    kept = {"HOME": "/home/ana", "GIT_EXEC_PATH": "/opt/git", "LANG": "de_DE"}
    dropped = {
        "EDITOR": "vi",
        "PAGER": "less",
        "DISPLAY": ":0",
        "SSH_ASKPASS": "ask",
        "GIT_EDITOR": "vi",
        "LC_TIME": "x",
    }
    git = stand_in("env", **kept, **dropped, GIT_DIR="/theirs", LC_ALL="de_DE")
    seen = told(git.text("status"))
    assert {name: seen[name] for name in kept} == kept
    assert not dropped.keys() & seen.keys()
    assert (seen["GIT_DIR"], seen["GIT_OBJECT_DIRECTORY"], seen["GIT_INDEX_FILE"]) == (
        "/dir",
        "/objects",
        "/dir/index",
    )
    assert (seen["LC_ALL"], seen["GIT_TERMINAL_PROMPT"], seen["GIT_CONFIG_GLOBAL"]) == ("C", "0", os.devnull)
    assert told(git.text("status", extra={"GIT_DIR": "/other", "X": "y"})) == {**seen, "GIT_DIR": "/other", "X": "y"}


def test_another_index_is_all_that_differs(stand_in: StandIn) -> None:
    git = stand_in("env")
    before, after = (told(one.text("status")) for one in (git, git.with_index("/other")))
    assert after.pop("GIT_INDEX_FILE") == "/other"
    del before["GIT_INDEX_FILE"]
    assert before == after
    git.locks.append(7)
    assert git.with_index("/other").locks == [7], "whoever holds a lock holds it there, too"
    git.locks.remove(7)


def test_settings_for_one_call_come_after_those_for_all(stand_in: StandIn) -> None:
    usual = told(stand_in("env").text("status"))
    more = told(stand_in("env").text("fetch", settings={"http.a": "b", "http.c": "d"}))
    count = int(usual["GIT_CONFIG_COUNT"])
    assert int(more["GIT_CONFIG_COUNT"]) == count + 2
    assert all(more[name] == value for name, value in usual.items() if name.startswith("GIT_CONFIG_KEY_"))
    assert [more[f"GIT_CONFIG_{what}_{count + 1}"] for what in ("KEY", "VALUE")] == ["http.c", "d"]


def test_arguments_are_words_after_those_that_keep_paths_literal(stand_in: StandIn) -> None:
    said = stand_in('printf "%s|" "$@"').text("log", "a b", "--", "*.md")
    assert said == "--no-pager|--literal-pathspecs|log|a b|--|*.md|"


# ------------------------------------------------------------------------------------------------ what it says


def test_what_git_prints_is_bytes_text_without_its_end_or_fields(stand_in: StandIn) -> None:
    git = stand_in("printf 'a\\n\\nb\\n\\n'")
    assert git.run("x") == b"a\n\nb\n\n"
    assert git.text("x") == "a\n\nb"
    assert stand_in("printf 'a\\0b\\377\\0'").fields("x") == ["a", "b\udcff"]
    assert stand_in("cat").run("x", data=b"given") == b"given"
    assert stand_in("cat").run("x") == b"", "it waits for nothing"


@pytest.mark.parametrize(
    ("said", "gist"),
    [
        ("hint: look\\nfatal: no such thing\\nerror: later", "no such thing"),
        ("error: it is locked", "it is locked"),
        ("something\\nremote: denied", "remote: denied"),
        ("something\\n ! [rejected] main", "! [rejected] main"),
        ("\\n  plain words  \\nmore", "plain words"),
        ("bytes \\377", "bytes \ufffd"),
        ("", "it ended with 3"),
    ],
)
def test_an_error_is_the_line_that_tells_most(stand_in: StandIn, said: str, gist: str) -> None:
    git = stand_in(f"printf 'so far'; printf '{said}' >&2; exit 3")
    with pytest.raises(GitFailed) as caught:
        git.run("fetch", "--quiet")
    assert caught.value.message == f"git fetch failed: {gist}"
    assert (caught.value.status, caught.value.output, caught.value.errno) == (3, b"so far", errno.EIO)
    assert git.run("fetch", good=(0, 3)) == b"so far"


def test_a_long_error_is_cut(stand_in: StandIn) -> None:
    with pytest.raises(GitFailed) as caught:
        stand_in("printf '%0400d' 0 >&2; exit 1").run("fetch")
    assert caught.value.message == f"git fetch failed: {'0' * 300}"
    assert caught.value.said == "0" * 400


def test_an_empty_secret_takes_nothing_out(stand_in: StandIn) -> None:
    with pytest.raises(GitFailed) as caught:
        stand_in("echo fatal: with s3cret >&2; exit 1").run("fetch", secrets=["", "s3cret"])
    assert caught.value.message == "git fetch failed: with ***"


# ------------------------------------------------------------------------------------------------ which git


@pytest.mark.parametrize(
    "version", ["2.38.0", "\\0377 2.45.1", "2.45.1.windows.1", "2.100.0", "3.0.0", "2.39.3 (Apple Git-146)"]
)
def test_a_git_that_can_merge_trees_is_new_enough(stand_in: StandIn, version: str) -> None:
    assert stand_in("echo well", version).text("x") == "well"


@pytest.mark.parametrize(("version", "shown"), [("2.37.9", "2.37"), ("1.99.0", "1.99"), ("unknown", "0")])
def test_an_older_one_is_used_for_nothing(stand_in: StandIn, tmp_path: Path, version: str, shown: str) -> None:
    git = stand_in("echo well", version)
    environ = git._environ
    for step in (
        lambda: git.run("x"),
        lambda: make_repository(str(tmp_path / "new"), "main", environ),
        lambda: check_version(environ),
    ):
        with pytest.raises(StorageSelectionError, match=f"git {shown} is too old: agentm needs 2.38 or newer"):
            step()


def test_the_version_is_asked_once_for_each_path(stand_in: StandIn, tmp_path: Path) -> None:
    git = stand_in("echo well", f"$(echo >> {tmp_path}/asked; echo 2.45.1)")
    for _ in range(3):
        git.run("x")
    assert (tmp_path / "asked").read_text() == "\n"


def test_a_repository_that_cannot_be_made_is_an_error_with_gits_own_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GitFailed, match=f"git cannot make a repository at {tmp_path}/file: ") as caught:
        make_repository(str(tmp_path / "file"), "main", os.environ)
    assert caught.value.status == 128
    assert caught.value.said


# ------------------------------------------------------------------------------------------------ the operator


def test_the_operator_is_asked_for_by_name_and_address_alone(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("[user]\n\temail = ana@example.com\n")
    mine = tmp_path / "mine"
    mine.write_text(f"[user]\n\tname = Ana Öz\n\tsigningkey = x\n[include]\n\tpath = {tmp_path / 'more'}\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": str(mine)}
    wanted = {"name": "Ana Öz", "email": "ana@example.com"}
    assert user_settings(environ, str(tmp_path)) == wanted
    mine.write_bytes(b"[user]\n\tname = An\xe4\n")
    assert user_settings(environ, str(tmp_path)) == {"name": "An\ufffd"}
    mine.write_text("[user]\n\tname = Ana\n\temail = a@example.com\n")
    wanted = {"name": "Ana", "email": "a@example.com"}
    hostile = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Mallory"}
    assert user_settings({**environ, **hostile, "GIT_CONFIG_NOSYSTEM": "1"}, str(tmp_path)) == wanted
    assert (
        user_settings({**environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}, str(tmp_path)) == {}
    )


# ------------------------------------------------------------------------------------------------ any program


def test_a_program_without_time_is_ended_and_named_with_its_verb(tmp_path: Path) -> None:
    with pytest.raises(StorageIOError) as caught:
        run_bounded(["sleep", "60", "61"], dict(os.environ), str(tmp_path), None, -5.0)
    assert caught.value.message == "sleep 60 did not end within 0 s and was stopped"
    assert caught.value.errno == errno.ETIMEDOUT


def test_a_program_has_the_locks_of_whoever_starts_it_and_no_other_file(tmp_path: Path) -> None:
    held, other = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    try:
        seen = f"test -e /dev/fd/{held} && ! test -e /dev/fd/{other}"
        assert run_bounded(["sh", "-c", seen], dict(os.environ), str(tmp_path), None, 30, [held])[0] == 0
    finally:
        os.close(held)
        os.close(other)


def test_a_program_that_ended_is_watched_no_longer(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    assert run_bounded(["true"], dict(os.environ), str(tmp_path), None, 3600)[0] == 0
    for watcher in set(threading.enumerate()) - before:
        watcher.join(30)
    assert set(threading.enumerate()) <= before


def test_whoever_is_interrupted_leaves_no_program_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    real = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[bytes], *given: object) -> object:
        if not given:
            answer = real(process)
            ended.append(process.returncode)
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_bounded(["sleep", "60"], dict(os.environ), str(tmp_path), None, 60)
    assert ended == [-9]


def test_errors_of_the_system_have_its_number(tmp_path: Path) -> None:
    with pytest.raises(StorageIOError, match=f"the folder {tmp_path}/gone is missing") as caught:
        run_bounded(["git", "version"], dict(os.environ), str(tmp_path / "gone"), None, 10)
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(StorageSelectionError, match="the command `no-such-program` is not installed"):
        run_bounded(["no-such-program"], dict(os.environ), str(tmp_path), None, 10)
