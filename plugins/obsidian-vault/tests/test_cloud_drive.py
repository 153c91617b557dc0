"""On a drive whose files are partly elsewhere, one that is far away delays nobody who wants another one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import FileStore, LockTimeout, NotFoundError, StorageIOError, content_hash, stamp_store
from agentm_obsidian_vault import VaultBackend

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEAR = Locator("near.md")
NOT_HERE = "not on this device yet"


@contextmanager
def drive(backing: Path, point: Path) -> Iterator[None]:
    script = os.path.join(os.path.dirname(__file__), "cloud_drive.py")
    command = [sys.executable, script, str(backing), str(point)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            if server.stdout.readline() != "ready\n":
                pytest.skip(f"no drive here: {server.stderr.read().strip()}")
            yield
        finally:
            subprocess.run(["umount", "--lazy", str(point)], check=False, capture_output=True)
            server.kill()


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VaultBackend]:
    """A vault on the drive, with one file of each kind that is elsewhere."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("a drive needs root and /dev/fuse")
    backing, point = tmp_path / "backing", tmp_path / "drive"
    backing.mkdir()
    point.mkdir()
    for kind in ("no-blocks", "deadlock", "slow"):
        (backing / f"{kind}.md").write_text(f"{kind} and far away")
    with drive(backing, point):
        store = VaultBackend(point)
        stamp_store(store)
        store.write(NEAR, "near")
        yield store


def test_the_drive_is_an_ordinary_store_for_what_is_here(vault: VaultBackend) -> None:
    vault.write(Locator("a/b/c.md"), "one")
    vault.write(Locator("a/b/c.md"), "two", if_match=content_hash("one"))
    assert vault.read(Locator("a/b/c.md")) == "two"
    assert [child.key for child in vault.list(Locator("a/b"))] == ["a/b/c.md"]
    vault.delete(Locator("a/b/c.md"), if_match=content_hash("two"))
    assert not vault.exists(Locator("a/b/c.md"))


@pytest.mark.parametrize("kind", ["no-blocks", "deadlock"])
def test_a_file_that_is_elsewhere_is_refused_at_once_and_never_read_as_empty(vault: VaultBackend, kind: str) -> None:
    note = Locator(f"{kind}.md")
    start = time.monotonic()
    with pytest.raises(StorageIOError, match=NOT_HERE) as error:
        vault.read(note)
    assert not isinstance(error.value, NotFoundError)
    for condition in (None, content_hash("")):
        with pytest.raises(StorageIOError, match=NOT_HERE):
            vault.write(note, "x", if_match=condition)
    assert time.monotonic() - start < 5
    assert vault.info(note).size == len(f"{kind} and far away")


_FAR = """
import sys
from agentm_kernel.plugin import FileStore, Locator, content_hash
from agentm_obsidian_vault import VaultBackend
kind, root, verb = sys.argv[1:]
store, far = {"vault": VaultBackend, "plain": FileStore}[kind](root), Locator("slow.md")
print("waiting", flush=True)
if verb == "read":
    store.read(far)
else:
    store.write(far, "x", if_match=content_hash("slow and far away"))
"""


@contextmanager
def waiting_for_the_far_file(vault: VaultBackend, kind: str, verb: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", _FAR, kind, vault.describe(), verb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_file_that_takes_15_seconds_delays_no_other_key_by_more_than_one(
    vault: VaultBackend, tmp_path: Path
) -> None:
    with (
        waiting_for_the_far_file(vault, "vault", "read") as reader,
        waiting_for_the_far_file(vault, "vault", "write") as writer,
    ):
        longest = 0.0
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            start = time.monotonic()
            text = vault.read(NEAR)
            vault.write(NEAR, f"{text}.", if_match=content_hash(text))
            longest = max(longest, time.monotonic() - start)
        assert longest < 1
        assert (reader.poll(), writer.poll()) == (None, None)  # both still wait, and nobody waits for them
    assert (tmp_path / "backing" / "slow.md").read_text() == "slow and far away"


def test_a_plain_store_would_wait_for_it_inside_the_mutex(vault: VaultBackend) -> None:
    """The control: the one second above is kept by the vault, not by the drive."""
    near = FileStore(vault.describe(), lock_timeout=0.2)

    def write_until_locked() -> None:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            near.write(NEAR, "mine")

    with waiting_for_the_far_file(vault, "plain", "write"), pytest.raises(LockTimeout):
        write_until_locked()
