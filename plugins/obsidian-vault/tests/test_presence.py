"""A note that is not on this device yet is an error: never empty, never missing, never waited for in the mutex."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from agentm_kernel import Locator
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import ABSENT, NotFoundError, StorageIOError, content_hash, stamp_store
from agentm_obsidian_vault import VaultBackend
from agentm_obsidian_vault.medium import SyncedFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTE = Locator("far.md")
TEXT = "far away"


@pytest.fixture
def placeholder(vault: VaultBackend, root: Path) -> Path:
    """A size without blocks: what sync tools on Linux leave in place of a file."""
    path = root / "far.md"
    with path.open("wb") as file:
        file.truncate(1000)
    if path.stat().st_blocks:
        pytest.skip("this file system fills holes")
    return path


def refuses(vault: VaultBackend) -> None:
    with pytest.raises(StorageIOError, match="not on this device yet") as error:
        vault.read(NOTE)
    assert not isinstance(error.value, NotFoundError)
    assert error.value.hint is not None
    assert "pin" in error.value.hint
    for condition in (None, content_hash(TEXT), content_hash("\0" * 1000)):
        with pytest.raises(StorageIOError, match="not on this device yet"):
            vault.write(NOTE, "mine", if_match=condition)
    with pytest.raises(StorageIOError, match="not on this device yet"):
        vault.delete(NOTE, if_match=content_hash(TEXT))


def test_a_size_without_blocks_is_not_read(vault: VaultBackend, placeholder: Path) -> None:
    refuses(vault)
    assert placeholder.stat().st_size == 1000


def test_it_is_still_in_the_store(vault: VaultBackend, placeholder: Path) -> None:
    assert vault.exists(NOTE)
    assert vault.info(NOTE).size == 1000
    assert NOTE in vault.list(Locator())


def test_the_rest_of_the_store_works(vault: VaultBackend, placeholder: Path) -> None:
    vault.write(Locator("near.md"), "near")
    assert vault.read(Locator("near.md")) == "near"


def test_an_empty_note_is_just_empty(vault: VaultBackend) -> None:
    vault.write(NOTE, "")
    assert vault.read(NOTE) == ""
    vault.write(NOTE, "x", if_match=content_hash(""))


def test_where_even_the_stamp_has_no_blocks_they_are_not_counted(vault: VaultBackend, root: Path) -> None:
    vault.write(NOTE, TEXT)
    real = os.stat

    def without_blocks(*args: object, **kwargs: object) -> os.stat_result:
        status = list(real(*args, **kwargs))  # type: ignore[arg-type]
        named = {name: getattr(real(*args, **kwargs), name) for name in ("st_mtime_ns", "st_ctime_ns")}  # type: ignore[arg-type]
        return os.stat_result((*status, 0.0, 0.0, 0.0), {**named, "st_blocks": 0})

    with mock.patch.object(os, "stat", without_blocks):
        assert VaultBackend(root).read(NOTE) == TEXT
        VaultBackend(root).write(NOTE, "more", if_match=content_hash(TEXT))
    assert vault.read(NOTE) == "more"


@pytest.mark.parametrize("code", [errno.EDEADLK, errno.EAGAIN, errno.ETIMEDOUT])
def test_a_system_that_refuses_to_wait_says_the_same(vault: VaultBackend, code: int) -> None:
    vault.write(NOTE, TEXT)

    def refuse(descriptor: int, size: int) -> bytes:
        raise OSError(code, os.strerror(code))

    with mock.patch.object(os, "read", refuse):
        refuses(vault)
    assert vault.read(NOTE) == TEXT


@pytest.mark.parametrize(
    ("platform", "field", "mark"),
    [
        ("darwin", "st_flags", 0x40000000),
        ("win32", "st_file_attributes", 0x400000),
        ("win32", "st_file_attributes", 0x40000),
        ("win32", "st_file_attributes", 0x1000),
    ],
)
def test_macos_and_windows_mark_such_files(platform: str, field: str, mark: int, root: Path) -> None:
    class Status:
        st_size = 10
        st_blocks = 0

    folder = SyncedFolder(str(root))
    with mock.patch("sys.platform", platform):
        setattr(Status, field, mark)
        assert not folder.is_at_hand(Status())  # type: ignore[arg-type]
        for other in (0, 1, 0x20):  # read-only, or changed since the last backup
            setattr(Status, field, other)
            assert folder.is_at_hand(Status())  # type: ignore[arg-type]


def test_what_takes_long_to_read_takes_long_before_the_mutex_and_once(vault: VaultBackend) -> None:
    vault.write(NOTE, TEXT)
    clock = [0.0]
    slow = [60.0]  # the first read fetches the file, the next ones find it here
    real = Directory.open_file

    def open_slowly(self: Directory, name: str) -> int:
        clock[0] += slow.pop() if slow else 0.001
        return real(self, name)

    def now() -> float:
        return clock[0]

    with (
        mock.patch.object(Directory, "open_file", open_slowly),
        mock.patch("agentm_obsidian_vault.backend.time.monotonic", now),
    ):
        vault.write(NOTE, "mine", if_match=content_hash(TEXT))
        slow += [60.0, 60.0]  # fetched again and again: somebody does not keep it
        with pytest.raises(StorageIOError, match="not on this device yet"):
            vault.write(NOTE, "again", if_match=content_hash("mine"))
    assert vault.read(NOTE) == "mine"


def test_creating_does_not_look_for_anything_to_fetch(vault: VaultBackend) -> None:
    vault.write(NOTE, TEXT, if_match=ABSENT)
    assert vault.read(NOTE) == TEXT


# ------------------------------------------------------------------------------------------------ real file systems

_IMAGES = {
    "ext4 with inline data": ("mkfs.ext4", ["-q", "-F", "-O", "inline_data", "-I", "256"], 64),
    "btrfs": ("mkfs.btrfs", ["-q", "-f"], 128),
    "xfs": ("mkfs.xfs", ["-q", "-f"], 320),
}


@contextmanager
def mounted(tmp_path: Path, kind: str) -> Iterator[Path]:
    """A fresh file system of this kind, unmounted afterwards."""
    point = tmp_path / "mounted"
    point.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    if kind in _IMAGES:
        tool, options, megabytes = _IMAGES[kind]
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
        image = tmp_path / "image"
        with image.open("wb") as file:
            file.truncate(megabytes << 20)
        subprocess.run([tool, *options, str(image)], check=True, capture_output=True)
        mount = ["-o", "loop", str(image)]
    elif kind == "overlay":
        folders = {name: tmp_path / name for name in ("lowerdir", "upperdir", "workdir")}
        for folder in folders.values():
            folder.mkdir()
        mount = ["-t", "overlay", "-o", ",".join(f"{name}={folder}" for name, folder in folders.items()), "overlay"]
    else:
        mount = ["-t", kind, kind]
    done = subprocess.run(["mount", *mount, str(point)], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount {kind} here: {done.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


@pytest.mark.parametrize("kind", [*_IMAGES, "tmpfs", "overlay"])
def test_a_note_of_any_size_is_here_on_every_file_system_and_a_hole_is_not(tmp_path: Path, kind: str) -> None:
    with mounted(tmp_path, kind) as point:
        root = point / "vault"
        root.mkdir()
        vault = VaultBackend(root)
        stamp_store(vault)
        for size in (1, 20, 60, 110, 200, 700, 2000, 5000):
            note = Locator(f"{size}.md")
            vault.write(note, "x" * size)
            (root / f"dirty {size} bytes.md").write_text("y" * size)  # written by somebody who does not sync
            assert vault.read(note) == "x" * size
            assert vault.read(Locator(f"dirty {size} bytes.md")) == "y" * size
            vault.write(note, "z" * size, if_match=content_hash("x" * size))
        with (root / "far.md").open("wb") as file:
            file.truncate(1000)
        refuses(vault)


VERBS = {
    "write": lambda vault: vault.write(NOTE, "mine"),
    "replace": lambda vault: vault.write(NOTE, "mine", if_match=content_hash(TEXT)),
    "append": lambda vault: vault.append(NOTE, "mine"),
    "delete": lambda vault: vault.delete(NOTE, if_match=content_hash(TEXT)),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("seconds", "is_done"),
    [([0.49], True), ([0.5, 0.49], True), ([60.0, 0.0], True), ([0.5, 0.5], False), ([60.0, 0.5, 0.0], False)],
    ids=["at hand", "nearly", "fetched", "always slow", "not a third time"],
)
def test_a_file_that_takes_long_takes_long_once_and_before_the_mutex(
    vault: VaultBackend, monkeypatch: pytest.MonkeyPatch, verb: str, seconds: list[float], is_done: bool
) -> None:
    vault.write(NOTE, TEXT)
    clock = [100.0]
    waits = iter(seconds)
    real = type(vault.tree).hash

    def hash_slowly(tree: object, locator: Locator) -> str | None:
        clock[0] += next(waits)
        return real(tree, locator)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(type(vault.tree), "hash", hash_slowly)
        patch.setattr("agentm_obsidian_vault.backend.time", mock.Mock(monotonic=lambda: clock[0]))
        if is_done:
            VERBS[verb](vault)
            assert [*waits] == [], "it was read as often as that, and not again"
        else:
            with pytest.raises(StorageIOError, match="not on this device yet"):
                VERBS[verb](vault)
    assert is_done or vault.read(NOTE) == TEXT


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_what_compares_nothing_waits_for_nothing(vault: VaultBackend, verb: str) -> None:
    with mock.patch.object(type(vault.tree), "hash", side_effect=AssertionError("it was read")):
        if verb == "create":
            vault.write(NOTE, TEXT, if_match=ABSENT)
        else:
            vault.write(NOTE, TEXT, if_match=ABSENT)
            vault.delete(NOTE)
    assert vault.exists(NOTE) is (verb == "create")
