"""On file systems made for the test: a store there is tried there, and a place that cannot be written to is said."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

MADE_BY = {
    "ext4": ("mkfs.ext4 -q -F", 64),
    "btrfs": ("mkfs.btrfs -q -f", 128),
    "xfs": ("mkfs.xfs -q -f", 320),
}
needs_mounts = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None, reason="mounting needs root"
)


def prove_on(bench, folder, mount, *arguments):
    """`agentm prove` with its home on a file system that `mount` mounts on `folder`, for that process alone."""
    folder.mkdir()
    bench.environ["HOME"] = str(folder)
    bench.environ["TMPDIR"] = str(folder)
    command = shlex.join(bench.command("prove", "--json", *arguments))
    script = f"set -e; {mount.format(folder=shlex.quote(str(folder)))}; cd {shlex.quote(str(folder))}; exec {command}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=bench.environ,
    )
    if "mount" in done.stderr and not done.stdout:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done.returncode, json.loads(done.stdout)


@needs_mounts
def test_a_store_in_memory_is_tried_there(bench, tmp_path):
    code, answer = prove_on(bench, tmp_path / "mounted", "mount -t tmpfs tmpfs {folder}", "--only", "eight-writers")

    assert (code, answer["store"]) == (0, "device-local on tmpfs")


@needs_mounts
@pytest.mark.parametrize("kind", MADE_BY)
def test_a_store_on_a_disk_is_tried_there(bench, tmp_path, kind):
    tool, megabytes = MADE_BY[kind]
    if shutil.which(tool.split()[0]) is None:
        pytest.skip(f"{tool.split()[0]} is not installed")
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, megabytes << 20)
    subprocess.run([*tool.split(), str(image)], check=True)

    mount = f"mount -o loop {shlex.quote(str(image))} {{folder}}"
    code, answer = prove_on(
        bench, tmp_path / "mounted", mount, *os.environ.get("PROVE_ALL", "--only on-the-disk").split()
    )

    assert (code, answer["store"]) == (0, f"device-local on {kind}")


@needs_mounts
def test_where_nothing_can_be_written_nothing_is_tried_and_that_is_said(bench, tmp_path):
    mount = (
        "mount -t tmpfs -o ro tmpfs {folder}; for place in /tmp /var/tmp; do "
        "mount --rbind $place $place; mount -o remount,ro,bind $place; done"
    )
    code, answer = prove_on(bench, tmp_path / "mounted", mount)

    assert code == 1
    assert {trial["state"] for trial in answer["trials"]} == {"not tried"}
    assert "no folder can be written to" in answer["trials"][0]["saw"]
    assert answer["report"] is None
    assert "the report cannot be written" in answer["remarks"][-1]


@needs_mounts
def test_a_store_on_a_read_only_disk_is_tried_elsewhere_and_that_is_said(bench, tmp_path):
    vault = tmp_path / "disk" / "vault"
    vault.mkdir(parents=True)
    assert bench.run("vault", "init", str(vault), "--use").returncode == 0
    config = bench.home / ".config"
    folder = shlex.quote(str(vault.parent))
    mount = (
        f"cp -r {shlex.quote(str(config))} {{folder}}/; mount -t tmpfs tmpfs {folder}; mkdir {folder}/vault; "
        f"mount -o remount,ro {folder}"
    )
    code, answer = prove_on(bench, tmp_path / "mounted", mount, "--only", "on-the-disk")

    assert code == 0
    assert "(tmpfs)" in answer["remarks"][0]
    assert "was tried instead" in answer["remarks"][0]
