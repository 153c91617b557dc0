"""A whole tree, folder by folder: what is listed, what is left out, and what may vanish meanwhile."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.files.tree import Directory
from agentm_kernel.plugin import (
    FileStore,
    Medium,
    StorageIOError,
)
from agentm_kernel.seam.folders import walk_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_kernel.files.medium import Beside
from pathlib import Path

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


def test_a_walk_by_folders_gives_the_versions_of_the_notes_in_each(store: FileStore) -> None:
    for key in ("b.md", "a/y/x.md", "a/y/w.md", "a/z.md"):
        store.write(Locator(key), key)
    store.mkdir(Locator("c"))
    found = {folder.info.locator.key: folder for folder in walk_folders(store, Locator())}
    assert list(found) == ["", "a", "a/y", "c"]
    assert sorted(found["a/y"].versions) == ["w.md", "x.md"]
    for key, folder in found.items():
        assert folder.info == store.info(Locator(key))
        for name, version in folder.versions.items():
            assert version == store.info(Locator(key).child(name)).version
    assert [*walk_folders(store, Locator("absent")), *walk_folders(store, Locator("b.md"))] == []


class Odd(Medium):
    """A medium with names of its own: some are hidden, some copies of a note, some stand for another."""

    def is_hidden(self, name: str) -> bool:
        return name.startswith("tool")

    def is_copy(self, name: str, beside: Beside) -> bool:
        return name.endswith(".copy") and beside(name.removesuffix(".copy"))

    def note_name(self, name: str) -> str:
        return name.removeprefix("stub-")


def test_what_a_medium_hides_or_renames_is_so_in_every_listing(root: Path) -> None:
    for name in ("a.md", "a.md.copy", "b.md.copy", "tool.md", "stub-a.md", "stub-c.md", "plain.md"):
        (root / "sub").mkdir(exist_ok=True)
        (root / "sub" / name).write_text(name)
    (root / "tools").mkdir()
    store = FileStore(root, medium=Odd())
    notes = ["sub/a.md", "sub/b.md.copy", "sub/c.md", "sub/plain.md"]
    assert [found.key for found in store.list(Locator("sub"))] == notes
    assert [info.locator.key for info in store.walk(Locator())] == ["sub", *notes]
    folders = {folder.info.locator.key: folder for folder in walk_folders(store, Locator())}
    assert list(folders) == ["", "sub"]
    assert sorted(f"sub/{name}" for name in folders["sub"].versions) == notes
    assert folders["sub"].note("c.md").size == len("stub-c.md")


def test_a_walk_by_folders_goes_deeper_than_it_holds_directories_open(store: FileStore) -> None:
    deep = "/".join(f"d{level}" for level in range(40))
    store.write(Locator(f"{deep}/a.md"), "text")
    store.write(Locator("d0/z.md"), "text")
    before = len(os.listdir("/dev/fd"))
    walk = walk_folders(store, Locator())
    found = [next(walk).info.locator.key for _ in range(30)]
    assert len(os.listdir("/dev/fd")) == before + 16
    assert [*found, *(folder.info.locator.key for folder in walk)][-1] == deep
    assert len(os.listdir("/dev/fd")) == before


def test_a_walk_by_folders_that_is_given_up_leaves_nothing_open(store: FileStore) -> None:
    store.write(Locator("a/b/c/note.md"), "text")
    before = len(os.listdir("/dev/fd"))
    walk = walk_folders(store, Locator())
    next(walk), next(walk)
    assert len(os.listdir("/dev/fd")) > before
    del walk
    assert len(os.listdir("/dev/fd")) == before


def test_a_walk_by_folders_leaves_out_what_vanishes_and_follows_no_link_that_comes_in_its_place(
    store: FileStore, root: Path, tmp_path: Path
) -> None:
    for key in ("a/x.md", "b/x.md", "c/x.md"):
        store.write(Locator(key), "text")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    walk = walk_folders(store, Locator())
    assert next(walk).info.locator.key == ""
    (root / "a" / "x.md").unlink()
    (root / "a").rmdir()
    assert next(walk).info.locator.key == "b"
    (root / "c").rename(tmp_path / "gone")
    (root / "c").symlink_to(tmp_path / "outside")
    with pytest.raises(StorageIOError):
        next(walk)


def test_a_walk_leaves_out_a_note_that_vanishes_between_its_name_and_its_status(
    store: FileStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("a.md", "b.md"):
        store.write(Locator(key), "x")
    scandir = os.scandir

    @contextmanager
    def vanishing(place: int) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(place) as found:
            entries = list(found)
        (root / "a.md").unlink(missing_ok=True)
        yield entries

    monkeypatch.setattr(os, "scandir", vanishing)
    assert [info.locator.key for info in store.walk(Locator())] == ["b.md"]


def test_a_walk_does_not_mind_an_entry_that_fails_and_is_not_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(root, medium=Odd())
    store.write(Locator("a.md"), "x")
    (root / "tool.md").write_text("x")
    status = Directory.status

    def failing(self: Directory, name: str) -> os.stat_result | None:
        if name == "tool.md":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return status(self, name)

    def failing_all(self: Directory) -> dict[str, os.stat_result]:
        return {name: status for name in self.names() if (status := self.status(name)) is not None}

    monkeypatch.setattr(Directory, "status", failing)
    monkeypatch.setattr(Directory, "statuses", failing_all)
    assert [info.locator.key for info in store.walk(Locator())] == ["a.md"]
    assert [*next(walk_folders(store, Locator())).versions] == ["a.md"]


def test_a_directory_that_vanishes_during_a_walk_is_left_out(store: FileStore, root: Path) -> None:
    store.write(Locator("a/x.md"), "x")
    store.write(Locator("b.md"), "x")
    walk = store.walk(Locator())
    assert next(walk).locator == Locator("a")
    (root / "a" / "x.md").unlink()
    (root / "a").rmdir()
    assert [info.locator.key for info in walk] == ["b.md"]
