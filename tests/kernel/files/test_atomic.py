"""Atomic replacement of one file: the old content or the new, durable, and nothing else left behind."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.files.atomic import publish_new, replace_file
from agentm_kernel.files.tree import Directory, open_root
from agentm_kernel.plugin import LocatorConflictError, StorageIOError, atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


class Recorder(Directory):
    """A real directory that notes what is done to its names, in order, and fails where it is told to."""

    def __init__(self, path: Path, *, failing: str = "", error: int = errno.EIO) -> None:
        super().__init__(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        self.calls: list[str] = []
        self._failing, self._error = failing, error

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self._failing:
            raise OSError(self._error, os.strerror(self._error))

    def create_file(self, name: str, mode: int) -> int:
        self._note("create")
        return super().create_file(name, mode)

    def replace(self, source: str, target: str) -> None:
        self._note("replace")
        super().replace(source, target)

    def link(self, source: str, target: str) -> None:
        self._note("link")
        super().link(source, target)

    def unlink(self, name: str) -> None:
        self.calls.append("unlink")
        super().unlink(name)

    def sync(self) -> None:
        self._note("sync")
        super().sync()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_bytes(b"old")
    return tmp_path


@pytest.fixture(autouse=True)
def _leave_no_litter(tmp_path: Path) -> Iterator[None]:
    yield
    assert [path.name for path in tmp_path.rglob(".agentm-*")] == []


# ------------------------------------------------------------------------------------------------ atomic_write


@pytest.mark.parametrize(("content", "stored"), [("é\n", b"\xc3\xa9\n"), (b"\xff\0", b"\xff\0"), ("", b"")])
def test_text_and_bytes_are_stored_as_they_are(folder: Path, content: str | bytes, stored: bytes) -> None:
    atomic_write(folder / "a.md", content)
    assert (folder / "a.md").read_bytes() == stored


def test_a_new_file_appears(folder: Path) -> None:
    atomic_write(str(folder / "new.md"), "x")
    assert (folder / "new.md").read_text() == "x"


def test_a_relative_path_is_that_of_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    atomic_write("b.md", "x")
    assert (folder / "b.md").read_text() == "x"


def test_a_reader_with_the_file_open_keeps_the_old_content(folder: Path) -> None:
    with open(folder / "a.md") as reader:
        atomic_write(folder / "a.md", "new")
        assert reader.read() == "old"


def test_a_name_as_long_as_the_file_system_takes_can_be_replaced(folder: Path) -> None:
    name = "n" * 255
    atomic_write(folder / name, "one")
    atomic_write(folder / name, "two")
    assert (folder / name).read_text() == "two"


def test_large_content_is_written_whole(folder: Path) -> None:
    data = os.urandom(3_000_000)
    atomic_write(folder / "a.md", data)
    assert (folder / "a.md").read_bytes() == data


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_of_an_existing_file_is_kept(folder: Path, mode: int) -> None:
    (folder / "a.md").chmod(mode)
    atomic_write(folder / "a.md", "x")
    assert stat.S_IMODE((folder / "a.md").stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_an_existing_file_is_kept(folder: Path) -> None:
    os.chown(folder / "a.md", 65534, 65534)
    atomic_write(folder / "a.md", "x")
    status = (folder / "a.md").stat()
    assert (status.st_uid, status.st_gid) == (65534, 65534)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may change its groups")
def test_a_member_of_a_files_group_keeps_it_for_the_group(folder: Path) -> None:
    team, somebody, another = 31_700, 31_701, 31_702
    os.chown(folder, somebody, team)
    folder.chmod(0o770)
    os.chown(folder / "a.md", somebody, team)
    (folder / "a.md").chmod(0o660)
    groups = os.getgroups()
    with open_root(str(folder)) as directory:
        os.setgroups([team])
        os.setegid(another)
        os.seteuid(another)
        try:
            replace_file(directory, "a.md", b"x", directory.status("a.md"))
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)
    status = (folder / "a.md").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (another, team, 0o660)


def test_an_owner_that_has_no_number_here_costs_no_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _user: int, _group: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")  # so does a container whose users are others

    status = (folder / "a.md").stat()
    elsewhere = os.stat_result((*status[:4], 65_534, 65_534, *status[6:]))
    monkeypatch.setattr(os, "fchown", refuse)
    with open_root(str(folder)) as directory:
        replace_file(directory, "a.md", b"x", elsewhere)
    assert (folder / "a.md").read_bytes() == b"x"


@pytest.mark.parametrize(("directory_mode", "file_mode"), [(0o700, 0o600), (0o755, 0o644)])
def test_a_new_file_is_as_private_as_its_directory(folder: Path, directory_mode: int, file_mode: int) -> None:
    inner = folder / "inner"
    inner.mkdir()
    inner.chmod(directory_mode)
    previous = os.umask(0o022)
    try:
        atomic_write(inner / "a.md", "x")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((inner / "a.md").stat().st_mode) == file_mode


def test_a_link_is_neither_followed_nor_replaced(folder: Path) -> None:
    (folder / "link.md").symlink_to("a.md")
    (folder / "dangling.md").symlink_to("nowhere")
    for name in ("link.md", "dangling.md"):
        with pytest.raises(LocatorConflictError):
            atomic_write(folder / name, "x")
        assert (folder / name).is_symlink()
    assert (folder / "a.md").read_bytes() == b"old"


def test_a_fifo_or_a_directory_is_refused_without_blocking(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "directory").mkdir()
    for name in ("fifo", "directory"):
        with pytest.raises(LocatorConflictError):
            atomic_write(folder / name, "x")


def test_missing_folders_are_made_and_the_path_is_returned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = os.umask(0)
    try:
        written = atomic_write(Path("absent", "deeper", "a.md"), "x")
    finally:
        os.umask(before)
    assert written == str(folder / "absent" / "deeper" / "a.md")
    assert Path(written).read_text() == "x"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (Path("absent"), Path("absent", "deeper"))] == [0o700] * 2
    assert stat.S_IMODE(Path(written).stat().st_mode) == 0o600


def test_a_folder_that_somebody_else_makes_first_is_taken_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir

    def made_by_another_first(path: str, mode: int) -> None:
        real(path, mode)
        real(path, mode)

    monkeypatch.setattr(os, "mkdir", made_by_another_first)
    atomic_write(folder / "x" / "y" / "a.md", "text")
    assert (folder / "x" / "y" / "a.md").read_text() == "text"


def test_a_file_in_the_way_of_a_folder_is_a_typed_error(folder: Path) -> None:
    (folder / "file").write_text("x")
    with pytest.raises(StorageIOError) as caught:
        atomic_write(folder / "file" / "a.md", "x")
    assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST)
    assert caught.value.hint == "nothing was changed"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a directory in which even root may make nothing")
def test_an_error_of_the_system_is_typed() -> None:
    with pytest.raises(StorageIOError):
        atomic_write("/proc/agentm-cannot-be-made", "x")


# ------------------------------------------------------------------------------------------------ replace_file


def test_the_content_is_synced_before_the_rename_and_the_directory_after_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recorder(folder) as directory:
        real = os.fsync

        def fsync(descriptor: int) -> None:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                directory.calls.append("fsync of the content")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        replace_file(directory, "a.md", b"new", directory.status("a.md"))
    assert directory.calls == ["create", "fsync of the content", "replace", "sync"]


def test_an_exclusive_write_never_renames_over_a_name(folder: Path) -> None:
    with Recorder(folder) as directory:
        replace_file(directory, "new.md", b"x", None, publish=publish_new)
        assert "replace" not in directory.calls
        with pytest.raises(FileExistsError):
            replace_file(directory, "a.md", b"new", None, publish=publish_new)
    assert (folder / "a.md").read_bytes() == b"old"
    assert (folder / "new.md").read_bytes() == b"x"
    assert (folder / "new.md").stat().st_nlink == 1


def test_without_such_renames_an_exclusive_write_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Directory, "rename_to_free", lambda *_: False)
    with Recorder(folder) as directory:
        replace_file(directory, "new.md", b"x", None, publish=publish_new)
        assert "replace" not in directory.calls
        with pytest.raises(FileExistsError):
            replace_file(directory, "a.md", b"new", None, publish=publish_new)
    assert (folder / "a.md").read_bytes() == b"old"
    assert (folder / "new.md").stat().st_nlink == 1


def test_without_hard_links_an_exclusive_write_looks_and_renames(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Directory, "rename_to_free", lambda *_: False)
    with Recorder(folder, failing="link", error=errno.EPERM) as directory:
        replace_file(directory, "new.md", b"x", None, publish=publish_new)
        with pytest.raises(FileExistsError):
            replace_file(directory, "a.md", b"new", None, publish=publish_new)
    assert (folder / "a.md").read_bytes() == b"old"
    assert (folder / "new.md").read_bytes() == b"x"


@pytest.mark.parametrize("failing", ["create", "replace"])
def test_a_failure_before_the_rename_leaves_the_old_content_and_no_litter(folder: Path, failing: str) -> None:
    with Recorder(folder, failing=failing) as directory, pytest.raises(OSError, match="Input/output"):
        replace_file(directory, "a.md", b"new", directory.status("a.md"))
    assert (folder / "a.md").read_bytes() == b"old"


def test_a_failed_fsync_is_not_retried_and_the_old_content_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageIOError):
        atomic_write(folder / "a.md", "new")
    assert len(calls) == 1
    assert (folder / "a.md").read_bytes() == b"old"


def test_a_failed_sync_of_the_directory_is_reported(folder: Path) -> None:
    with Recorder(folder, failing="sync") as directory, pytest.raises(OSError, match="Input/output"):
        replace_file(directory, "a.md", b"new", directory.status("a.md"))


def test_an_interrupt_while_writing_leaves_no_litter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with open_root(str(folder)) as directory, pytest.raises(KeyboardInterrupt):
        replace_file(directory, "a.md", b"new", directory.status("a.md"))
    assert os.listdir(folder) == ["a.md"]


def test_short_writes_of_the_system_are_carried_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:7])))
    atomic_write(folder / "a.md", "0123456789" * 10)
    assert (folder / "a.md").read_text() == "0123456789" * 10
