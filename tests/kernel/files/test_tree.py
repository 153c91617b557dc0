"""Open directories: names are taken one at a time, links are never followed, nothing can block a reader."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator, update
from agentm_kernel.files import TooLarge, exchange, tree as root_module
from agentm_kernel.files.tree import Directory, PathDirectory, make_private_folder, open_root
from agentm_kernel.plugin import FileStore, InvalidContentError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from agentm_kernel.files.tree import Directory

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
KINDS = [pytest.param(True, id="by descriptor"), pytest.param(False, id="by path")]


@pytest.fixture(params=KINDS)
def directory(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Directory:
    """Both implementations, on this platform: they promise the same as long as nobody races them."""
    monkeypatch.setattr(root_module, "CAN_WALK_BY_DESCRIPTOR", request.param)
    with open_root(str(folder)) as opened:
        assert type(opened) is (Directory if request.param else PathDirectory)
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_bytes(b"text")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_bytes(b"secret")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    return root


def test_this_platform_walks_by_descriptor() -> None:
    assert root_module.CAN_WALK_BY_DESCRIPTOR


def test_entries_say_what_they_are_without_following(directory: Directory) -> None:
    assert directory.kinds() == {"a.md": stat.S_IFREG, "sub": stat.S_IFDIR, "link": 0, "link.md": 0}
    assert sorted(directory.names()) == ["a.md", "link", "link.md", "sub"]


def test_a_name_looks_free_where_nothing_is(directory: Directory) -> None:
    assert [name for name in ("a.md", "sub", "link", "absent", "A.md") if directory.looks_free(name)] == [
        "absent",
        "A.md",
    ]


def test_status_is_that_of_the_name_itself(directory: Directory, folder: Path) -> None:
    assert directory.status("absent") is None
    for name in ("a.md", "sub", "link"):
        status = directory.status(name)
        assert status is not None
        assert os.path.samestat(status, (folder / name).lstat())


def test_statuses_are_those_of_everything_in_it(directory: Directory) -> None:
    assert directory.statuses() == {name: directory.status(name) for name in ("a.md", "link", "link.md", "sub")}


def test_entering_goes_into_directories_only(directory: Directory) -> None:
    with directory.enter("sub") as sub:
        assert sub.names() == []
        assert sub.identity != directory.identity
    for name in ("link", "a.md", "absent"):
        with pytest.raises(OSError):
            directory.enter(name)


def test_a_link_is_not_opened(directory: Directory) -> None:
    with pytest.raises(OSError) as caught:
        directory.read_file("link.md", 100)
    assert caught.value.errno == errno.ELOOP


def test_a_file_is_read_with_its_status(directory: Directory) -> None:
    data, status = directory.read_file("a.md", 4)
    assert data == b"text"
    assert status.st_size == 4


def test_a_file_over_the_limit_is_not_read(directory: Directory) -> None:
    with pytest.raises(TooLarge) as caught:
        directory.read_file("a.md", 3)
    assert caught.value.size == 4


def test_a_fifo_is_refused_without_blocking(directory: Directory, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        directory.read_file("fifo", 100)


def test_a_directory_is_not_read_as_a_file(directory: Directory) -> None:
    with pytest.raises(OSError):
        directory.read_file("sub", 100)


def test_a_new_file_never_replaces_one_or_goes_through_a_link(directory: Directory, folder: Path) -> None:
    for name in ("a.md", "link.md"):
        with pytest.raises(FileExistsError):
            directory.create_file(name, 0o600)
    os.close(directory.create_file("new", 0o600))
    assert (folder / "new").stat().st_mode & 0o777 == 0o600


def test_names_are_made_moved_linked_and_removed(directory: Directory, folder: Path) -> None:
    directory.make_dir("made", 0o700)
    assert (folder / "made").stat().st_mode & 0o777 == 0o700
    directory.link("a.md", "b.md")
    with pytest.raises(FileExistsError):
        directory.link("a.md", "b.md")
    directory.unlink("a.md")
    directory.replace("b.md", "c.md")
    directory.sync()
    assert (folder / "c.md").read_bytes() == b"text"
    assert set(directory.names()) == {"c.md", "sub", "made", "link", "link.md"}


def test_replacing_a_link_replaces_the_link_and_not_its_target(directory: Directory, folder: Path) -> None:
    directory.replace("a.md", "link.md")
    assert (folder / "link.md").read_bytes() == b"text"
    assert not (folder / "link.md").is_symlink()
    assert (folder.parent / "outside" / "secret.md").read_bytes() == b"secret"


def test_another_name_for_a_link_is_one_for_the_link_and_not_for_its_target(
    directory: Directory, folder: Path
) -> None:
    directory.link("link.md", "second.md")
    assert (folder / "second.md").is_symlink()
    assert (folder.parent / "outside" / "secret.md").stat().st_nlink == 1


def test_temp_names_are_hidden_unlike_and_of_one_length(directory: Directory) -> None:
    names = {directory.new_temp_name() for _ in range(50)}
    assert len(names) == 50
    assert {len(name) for name in names} == {len(next(iter(names)))}
    for name in names:
        with pytest.raises(ValueError):
            Locator(name)


def test_a_sweep_removes_temporary_files_and_nothing_else(directory: Directory, folder: Path) -> None:
    (folder / directory.new_temp_name()).touch()
    (folder / ".agentm-mine").touch()
    (folder / "x.tmp").touch()
    directory.sweep()
    assert set(directory.names()) == {"a.md", "sub", "link", "link.md", ".agentm-mine", "x.tmp"}


def test_whether_a_directory_is_private_is_known(folder: Path) -> None:
    for mode, private in ((0o700, True), (0o750, False), (0o701, False)):
        folder.chmod(mode)
        with open_root(str(folder)) as directory:
            assert directory.is_private is private


def test_a_time_that_a_coarser_clock_could_have_left_is_no_mark(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for now, is_mark in ((1_700_000_000_123_456_789, True), (1_700_000_000_123_000_000, False)):
        monkeypatch.setattr("time.time_ns", lambda now=now: now)
        assert (directory.mark() is not None) is is_mark


def test_closing_twice_is_harmless(directory: Directory) -> None:
    directory.close()
    directory.close()


def test_the_root_itself_may_be_a_link_because_the_operator_named_it(directory: Directory, folder: Path) -> None:
    (folder.parent / "alias").symlink_to(folder)
    with open_root(str(folder.parent / "alias")) as alias:
        assert alias.identity == directory.identity


# ------------------------------------------------------------------------------------------------ a descriptor only


def test_a_directory_that_is_swapped_for_a_link_after_opening_leads_nowhere_else(folder: Path) -> None:
    with open_root(str(folder)) as root, root.enter("sub") as sub:
        (folder / "sub").rename(folder / "moved")
        (folder / "sub").symlink_to(folder.parent / "outside")
        os.close(sub.create_file("x", 0o600))
        assert sub.names() == ["x"]
    assert os.listdir(folder / "moved") == ["x"]
    assert os.listdir(folder.parent / "outside") == ["secret.md"]


# ------------------------------------------------------------------------------------------------ the fallback, whole


@pytest.fixture
def fallback_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    monkeypatch.setattr(root_module, "CAN_WALK_BY_DESCRIPTOR", False)
    return FileStore(folder)


def test_a_store_on_the_fallback_keeps_the_contract(fallback_store: FileStore) -> None:
    note = Locator("sub/deep/note.md")
    fallback_store.write(note, "one")
    update(fallback_store, note, lambda text: (text or "") + " two")
    assert fallback_store.read(note) == "one two"
    assert [info.locator.key for info in fallback_store.walk(Locator("sub"))] == ["sub/deep", "sub/deep/note.md"]
    fallback_store.delete(note)
    assert not fallback_store.exists(note)


@pytest.mark.parametrize("key", ["link/secret.md", "link/new.md", "link.md"])
def test_a_store_on_the_fallback_refuses_links(fallback_store: FileStore, folder: Path, key: str) -> None:
    note = Locator(key)
    for verb in (
        lambda: fallback_store.read(note),
        lambda: fallback_store.write(note, "x"),
        lambda: fallback_store.info(note),
        lambda: fallback_store.delete(note),
        lambda: fallback_store.mkdir(note),
    ):
        with pytest.raises(StorageError):
            verb()
    assert os.listdir(folder.parent / "outside") == ["secret.md"]
    assert (folder.parent / "outside" / "secret.md").read_bytes() == b"secret"


def test_a_file_that_grows_while_it_is_read_still_meets_the_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(folder, size_limit=10)
    real = os.read

    def read_while_growing(descriptor: int, count: int) -> bytes:
        with open(folder / "a.md", "ab") as other:
            other.write(b"more")
        return real(descriptor, min(count, 5))

    monkeypatch.setattr(os, "read", read_while_growing)
    with pytest.raises(InvalidContentError):
        store.read(Locator("a.md"))


def test_a_file_in_the_way_of_a_private_folder_is_an_error_at_once(folder: Path) -> None:
    with pytest.raises(FileExistsError):
        make_private_folder(str(folder / "a.md"))
    make_private_folder(str(folder / "sub"))


@pytest.mark.skipif(not root_module.CAN_WALK_BY_DESCRIPTOR, reason="needs directories by descriptor")
@pytest.mark.parametrize("step", ["exchange", "rename_to_free"])
def test_what_the_system_does_in_one_step_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(exchange, step, lambda *given: asked.append(given[1:]) is None)
    with open_root(str(tmp_path)) as directory:
        assert getattr(directory, step)("a", "b") is True
    assert asked == [("a", "b")]
