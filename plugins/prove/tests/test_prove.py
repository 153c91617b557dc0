"""`agentm prove` as its user runs it: everything kept, nothing touched, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentm_prove.place import PREFIX

STORE_TRIALS = {
    *("on-the-disk", "eight-writers", "killed-writers", "paused-holder"),
    *("open-file", "unmounted", "conflict-copy", "full-disk"),
}


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(200)
def test_everything_is_kept_in_under_a_minute_and_the_store_is_not_touched(bench):
    assert bench.run("state", "list").returncode == 0
    store = bench.home / ".agentm" / "memory"
    bench.run("save", "--title", "A decision", "--kind", "decision", given="We keep it.\n")
    before = files_below(store)

    code, answer = bench.prove()

    assert code == 0, answer
    assert answer["ok"]
    assert answer["seconds"] < 60
    states = {trial["name"]: trial["state"] for trial in answer["trials"]}
    assert states.keys() > STORE_TRIALS | {"session-start"}
    assert "broken" not in states.values()
    untried = {name for name, state in states.items() if state == "not tried"}
    assert untried <= {"agent-hosts", "hosts-not-connected", "full-disk"}
    assert files_below(store) == before
    assert bench.left_over() == []
    report = Path(answer["report"]).read_text()
    assert "eight-writers | kept" in report
    assert str(bench.home) not in report


def test_a_vault_is_tried_as_a_vault(bench, tmp_path):
    vault = tmp_path / "disk" / "vault"
    vault.mkdir(parents=True)
    assert bench.run("vault", "init", str(vault), "--use").returncode == 0

    _, answer = bench.prove("--only", "conflict-copy", "--only", "unmounted")

    assert answer["store"].startswith("vault on ")
    assert [trial["state"] for trial in answer["trials"]] == ["kept", "kept"]
    assert "a conflict copy is listed as one" in answer["trials"][1]["saw"]
    assert sorted(path.name for path in vault.iterdir()) == ["_meta"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_kill_9_leaves_nothing_behind(bench):
    process = subprocess.Popen(
        bench.command("prove", "--only", "paused-holder"),
        env=bench.environ,
        cwd=bench.home,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not any(Path(folder, "1", "disk", "store").is_dir() for folder in bench.left_over()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(1)
    process.kill()
    process.wait()
    while bench.left_over():
        assert time.monotonic() < deadline, bench.left_over()
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")
def test_what_a_power_cut_left_is_swept_and_what_is_in_use_is_not(bench):
    import fcntl

    left, used = bench.home / f"{PREFIX}1-a", bench.home / f"{PREFIX}2-b"
    (left / "1").mkdir(parents=True)
    used.mkdir()
    bench.environ["XDG_STATE_HOME"] = str(bench.home)
    descriptor = os.open(used, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        _, answer = bench.prove("--only", "on-the-disk")
    finally:
        os.close(descriptor)

    assert not left.exists()
    assert used.exists()
    assert "what 1 earlier runs had left was removed" in answer["remarks"]


def test_termination_cleans_up_and_says_so(bench):
    process = subprocess.Popen(
        bench.command("prove", "--only", "paused-holder"),
        env=bench.environ,
        cwd=bench.home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not bench.left_over():
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)

    assert process.returncode == 1
    assert "ended before all was tried; nothing was left behind" in said
    assert bench.left_over() == []


def test_a_store_elsewhere_is_not_written_to(bench):
    bench.run("config", "set", "plugins.bucket.url", "s3://somewhere/notes")
    config = bench.home / ".config" / "agentm" / ".agentm-config.json"
    fields = json.loads(config.read_text()) if config.exists() else {}
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({**fields, "storage.backend": "bucket"}))

    code, answer = bench.prove("--only", "on-the-disk")

    assert code == 0, answer
    assert answer["store"].startswith("device-local on ")
    assert answer["remarks"]


def test_a_read_only_place_is_said_and_another_is_found(bench, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; `make e2e` mounts a read-only file system")
    vault = tmp_path / "disk" / "vault"
    vault.mkdir(parents=True)
    assert bench.run("vault", "init", str(vault), "--use").returncode == 0
    os.chmod(vault.parent, 0o500)
    try:
        code, _ = bench.prove("--only", "on-the-disk")
    finally:
        os.chmod(vault.parent, 0o700)
    assert code == 0


def test_an_unknown_trial_is_wrong_usage(bench):
    done = bench.run("prove", "--only", "everything")

    assert done.returncode == 2
    assert "no trial is called 'everything'; there are on-the-disk, " in done.stderr


def test_people_get_a_line_for_each_trial(bench):
    done = bench.run("prove", "--only", "on-the-disk", "--report", "report.md")

    line, last = done.stdout.splitlines()
    assert line.startswith("ok  ")
    assert " s  what is saved is on the disk before agentm says so: " in line
    assert last.startswith("1 kept; ")
    assert (bench.home / "report.md").read_text().startswith("# agentm prove\n")
