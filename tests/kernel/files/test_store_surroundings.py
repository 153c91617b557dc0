"""`FileStore` among what may already lie in its folder: leftovers, foreign names, links, devices, modes."""

from __future__ import annotations

import errno
import os
import socket
import stat
import unicodedata
from typing import TYPE_CHECKING

import pytest
from tests.kernel.files.verbs import tree, verbs

from agentm_kernel import Locator
from agentm_kernel.plugin import ABSENT, FileStore, LocatorConflictError, NotFoundError, StorageError, StorageIOError
from agentm_kernel.seam.locator import TEMP_PREFIX

if TYPE_CHECKING:
    pass

from pathlib import Path

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


# ------------------------------------------------------------------------------------------------ what lies about


def test_names_that_no_key_can_have_are_not_listed_but_can_be_named(store: FileStore, root: Path) -> None:
    store.write(Locator("a/ok.md"), "x")
    for name in ("back\\slash.md", "CON", "trailing.", ".git", "new\nline"):
        (root / "a" / name).touch()
    (root / os.fsdecode(b"not-utf8-\xff")).touch()
    assert store.list(Locator()) == [Locator("a")]
    assert store.list(Locator("a")) == [Locator("a/ok.md")]
    assert [info.locator.key for info in store.walk(Locator())] == ["a", "a/ok.md"]
    foreign = set(store.foreign_entries(Locator()))
    assert foreign == {os.path.join("a", n) for n in ("back\\slash.md", "CON", "trailing.", ".git", "new\nline")} | {
        os.fsdecode(b"not-utf8-\xff")
    }


def test_what_a_killed_writer_left_is_invisible_and_swept_by_the_next_write(store: FileStore, root: Path) -> None:
    leftover = f"{TEMP_PREFIX}0123456789abcdef.tmp"
    for folder in (root, root / "a", root / "b"):
        folder.mkdir(exist_ok=True)
        (folder / leftover).write_text("half")
    assert store.list(Locator()) == [Locator("a"), Locator("b")]
    store.write(Locator("a/note.md"), "x")
    assert not (root / "a" / leftover).exists()
    assert (root / "b" / leftover).exists(), "only where the writer is"
    store.write(Locator("note.md"), "x")
    assert not (root / leftover).exists()


@posix_only
def test_a_decomposed_name_of_another_program_is_foreign_and_keeps_its_key(store: FileStore, root: Path) -> None:
    (root / unicodedata.normalize("NFD", "café.md")).write_text("theirs")
    if (root / "café.md").exists():
        pytest.skip("this file system composes names itself")
    assert store.list(Locator()) == []
    assert not store.exists(Locator("café.md"))
    with pytest.raises(LocatorConflictError):
        store.write(Locator("café.md"), "ours")
    assert len(os.listdir(root)) == 1


@pytest.mark.parametrize(("stored", "new"), [("Plan.md", "plan.md"), ("Straße", "STRASSE"), ("É.md", "é.md")])
def test_another_case_of_a_stored_key_is_refused(store: FileStore, root: Path, stored: str, new: str) -> None:
    store.write(Locator(stored), "x")
    for condition in (None, ABSENT):
        with pytest.raises(LocatorConflictError, match="case") as caught:
            store.write(Locator(new), "y", if_match=condition)
        assert "use the stored spelling" in (caught.value.hint or "")
    with pytest.raises(LocatorConflictError):
        store.mkdir(Locator(new))
    with pytest.raises(LocatorConflictError):
        store.write(Locator(new).child("below.md"), "y")
    assert not store.exists(Locator(new))
    assert os.listdir(root) == [stored]


# ------------------------------------------------------------------------------------------------ links and devices


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text("secret")
    return folder


@posix_only
@pytest.mark.parametrize("verb", ["read", "write", "create", "replace", "info", "exists", "mkdir", "delete"])
@pytest.mark.parametrize("key", ["dir/secret.md", "dir/new.md", "file.md", "dangling.md", "loop.md", "loop.md/a"])
def test_no_verb_follows_a_link(store: FileStore, root: Path, outside: Path, verb: str, key: str) -> None:
    (root / "dir").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "dangling.md").symlink_to(outside / "new.md")
    (root / "loop.md").symlink_to("loop.md")
    links = sorted(os.listdir(root))
    with pytest.raises(StorageError) as caught:
        verbs(store, key)[verb]()
    assert not isinstance(caught.value, NotFoundError), "a link that is not followed is an error, never absence"
    assert tree(outside) == {"secret.md": b"secret"}
    assert sorted(os.listdir(root)) == links
    assert all((root / name).is_symlink() for name in links)


@posix_only
def test_links_are_neither_listed_nor_walked(store: FileStore, root: Path, outside: Path) -> None:
    (root / "dir").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "secret.md")
    (root / "dangling.md").symlink_to("nowhere")
    store.write(Locator("note.md"), "x")
    assert store.list(Locator()) == [Locator("note.md")]
    assert [info.locator.key for info in store.walk(Locator())] == ["note.md"]
    assert set(store.foreign_entries(Locator())) == {"dir", "file.md", "dangling.md"}
    with pytest.raises(StorageIOError) as caught:
        store.list(Locator("dir"))
    assert caught.value.errno == errno.ELOOP


@posix_only
def test_a_write_to_a_hard_link_leaves_the_other_name_alone(store: FileStore, root: Path, outside: Path) -> None:
    os.link(outside / "secret.md", root / "a.md")
    store.write(Locator("a.md"), "new")
    assert (outside / "secret.md").read_text() == "secret"
    assert store.read(Locator("a.md")) == "new"


@posix_only
def test_an_append_to_a_hard_link_leaves_the_other_name_alone(store: FileStore, root: Path, outside: Path) -> None:
    os.link(outside / "secret.md", root / "a.md")
    store.append(Locator("a.md"), "more\n")
    assert (outside / "secret.md").read_text() == "secret"
    assert store.read(Locator("a.md")) == "secret\nmore\n"


@posix_only
@pytest.mark.parametrize("verb", ["read", "write", "create", "info", "exists", "mkdir", "delete"])
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_is_not_a_file_is_refused_without_blocking(root: Path, verb: str, kind: str) -> None:
    store = FileStore(root)
    directory = os.open(root, os.O_RDONLY)
    if kind == "fifo":
        os.mkfifo(root / "a.md")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{directory}/a.md" if os.path.isdir("/proc/self/fd") else str(root / "a.md"))
    os.close(directory)
    with pytest.raises(StorageError) as caught:
        verbs(store, "a.md")[verb]()
    assert not isinstance(caught.value, NotFoundError)
    assert store.list(Locator()) == []
    assert not stat.S_ISREG((root / "a.md").lstat().st_mode)


# ------------------------------------------------------------------------------------------------ modes


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o400])
def test_an_overwrite_keeps_the_mode(store: FileStore, root: Path, mode: int) -> None:
    store.write(Locator("a.md"), "x")
    (root / "a.md").chmod(mode)
    store.write(Locator("a.md"), "y")
    assert stat.S_IMODE((root / "a.md").stat().st_mode) == mode
    assert store.read(Locator("a.md")) == "y"


@posix_only
def test_a_private_store_makes_private_files_and_directories(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "above" / "root", create_root=True, private=True)
    store.write(Locator("a/b.md"), "x")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "above").rglob("*")}
    assert modes == {0o700, 0o600}


@posix_only
def test_a_shared_store_follows_the_umask(store: FileStore, root: Path) -> None:
    previous = os.umask(0o027)
    try:
        root.chmod(0o750)
        store.write(Locator("a/b.md"), "x")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "a" / "b.md").stat().st_mode) == 0o640
