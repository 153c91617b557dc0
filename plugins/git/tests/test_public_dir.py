"""What the operator sees with git is read and changed by git's own rules, and what was left is told from theirs."""

from __future__ import annotations

import os
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from agentm_git import public_dir
from agentm_git.private_dir import PrivateDir
from agentm_git.public_dir import PublicDir
from agentm_kernel.errors import ConcurrentModificationError, LockTimeout, StorageConflictError

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = "1" * 40, "abcdef0123456789abcdef0123456789abcdef01"
BRANCH = "refs/heads/main"


@pytest.fixture
def git(tmp_path: Path) -> Path:
    """The clone's own `.git`, as far as it is looked at."""
    made = tmp_path / ".git"
    for folder in ("refs/heads", "objects", "agentm"):
        (made / folder).mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    return made


@pytest.fixture
def public(tmp_path: Path, git: Path) -> PublicDir:
    return PublicDir(PrivateDir(str(tmp_path)), "main")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves only while somebody sleeps; the pauses."""
    pauses: list[float] = []
    fake = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append, time=lambda: 1_700_000_000.9)
    monkeypatch.setattr(public_dir, "time", fake)
    return pauses


# ------------------------------------------------------------------------------------------------ reading


def test_a_branch_is_read_where_git_keeps_it_and_a_file_of_its_own_comes_first(public: PublicDir, git: Path) -> None:
    assert public.head() is None
    lines = f"# pack-refs with: peeled\n{'x' * 40} {BRANCH}\n{ONE} {BRANCH}\n^{TWO}\n"
    (git / "packed-refs").write_bytes(TWO.encode() + b" refs/heads/\xff\n" + lines.encode())
    assert public.head() == ONE
    assert public.ref("refs/heads/other") is None
    (git / "refs/heads/main").write_text(f"{TWO}\n")
    assert public.head() == TWO
    assert public.ref("refs/heads/main/below") is None
    assert public.ref("refs/heads") is None


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
    ],
)
def test_what_was_begun_with_git_is_to_be_finished_first(public: PublicDir, git: Path, name: str, what: str) -> None:
    assert public.unfinished() is None
    public.check_ready()
    (git / name).write_text("")
    assert public.unfinished() == what
    with pytest.raises(StorageConflictError, match=f"a {what} that was begun with git") as caught:
        public.check_ready()
    assert f"{what} --abort`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("head", "said"), [("ref: refs/heads/other", "is on other, and"), (ONE, f"is on {ONE}, and")]
)
def test_another_branch_is_named(public: PublicDir, git: Path, head: str, said: str) -> None:
    (git / "HEAD").write_text(f"{head}\n")
    with pytest.raises(StorageConflictError, match=said):
        public.check_ready()


# ------------------------------------------------------------------------------------------------ a ref


def test_a_ref_moves_from_what_it_was_and_the_log_tells_how(public: PublicDir, git: Path, clock: list[float]) -> None:
    public.move(BRANCH, ONE, None, "commit: first")
    public.move(BRANCH, TWO, ONE, "commit: second")
    assert (git / BRANCH).read_text() == f"{TWO}\n"
    assert (git / "logs" / BRANCH).read_text() == (
        f"{'0' * 40} {ONE} agentm <agentm> 1700000000 +0000\tcommit: first\n"
        f"{ONE} {TWO} agentm <agentm> 1700000000 +0000\tcommit: second\n"
    )
    public.move("refs/remotes/origin/team/notes", ONE, None, "fetch")
    assert (git / "refs/remotes/origin/team/notes").read_text() == f"{ONE}\n"
    assert sorted(os.listdir(git / "agentm")) == []
    assert clock == []


def test_a_ref_that_somebody_moved_stays_and_nothing_is_left_lying(public: PublicDir, git: Path) -> None:
    (git / BRANCH).write_text(f"{TWO}\n")
    with pytest.raises(ConcurrentModificationError, match="was moved by another program"):
        public.move(BRANCH, ONE, None, "commit: mine")
    assert (git / BRANCH).read_text() == f"{TWO}\n"
    assert os.listdir(git / "refs/heads") == ["main"]
    public.move(BRANCH, ONE, TWO, "commit: mine")
    assert public.head() == ONE


def test_a_lock_of_another_git_is_waited_for_and_stays(public: PublicDir, git: Path, clock: list[float]) -> None:
    lock = git / f"{BRANCH}.lock"
    lock.write_text("theirs")
    with pytest.raises(LockTimeout, match=r"another git is at work in .*main\.lock is there") as caught:
        public.move(BRANCH, ONE, None, "commit: mine")
    assert f"if no git is running, remove {lock}" in (caught.value.hint or "")
    assert 2.0 <= sum(clock) < 2.1
    assert max(clock) < 0.1, "it is taken soon after it is free"
    assert lock.read_text() == "theirs"
    lock.unlink()
    public.move(BRANCH, ONE, None, "commit: mine")
    assert public.head() == ONE


def test_a_lock_that_a_process_of_ours_left_is_no_obstacle(public: PublicDir, git: Path, clock: list[float]) -> None:
    (git / "agentm/ref").write_text(f"{TWO}\n")
    os.link(git / "agentm/ref", git / f"{BRANCH}.lock")
    public.move(BRANCH, ONE, None, "commit: mine")
    assert public.head() == ONE
    assert clock == []


def test_a_ref_is_on_the_disk_before_it_has_its_name(
    public: PublicDir, git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, bool]] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, (git / BRANCH).exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    public.move(BRANCH, ONE, None, "commit: mine")
    assert synced == [(len(f"{ONE}\n"), False)]


def test_a_log_that_cannot_be_written_stops_nothing(public: PublicDir, git: Path) -> None:
    (git / "logs").write_text("in the way")
    public.move(BRANCH, ONE, None, "commit: mine")
    assert public.head() == ONE


def test_where_there_are_no_links_a_copy_does(
    public: PublicDir, git: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    public.move(BRANCH, ONE, None, "commit: mine")
    assert public.head() == ONE
    (git / f"{BRANCH}.lock").write_text("theirs")
    with pytest.raises(LockTimeout):
        public.move(BRANCH, TWO, ONE, "commit: mine")


# ------------------------------------------------------------------------------------------------ the index


def test_the_operators_index_is_taken_over_unless_it_is_ours(public: PublicDir, git: Path) -> None:
    assert public.adopt_index() is False, "there is none yet"
    (git / "index").write_text("theirs")
    assert public.adopt_index() is True
    assert (git / "agentm/index").read_text() == "theirs"
    public.publish_index()
    assert public.adopt_index() is False
    shutil.copyfile(git / "index", git / "new")
    os.replace(git / "new", git / "index")
    assert public.adopt_index() is True, "git writes a new file for every change"
    assert sorted(os.listdir(git / "agentm")) == ["index"]


def test_an_index_that_git_splits_in_that_moment_is_taken_over_with_its_parts(
    public: PublicDir, git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git writes a part before the index that names it, so the parts are looked for after the index."""
    (git / "index").write_text("whole")
    copy = shutil.copyfile

    def at_the_last_moment(source: str, target: str) -> None:
        (git / "sharedindex.1").write_text("the part")
        (git / "index").write_text("names sharedindex.1")
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", at_the_last_moment)
    assert public.adopt_index() is True
    assert (git / "agentm/index").read_text() == "names sharedindex.1"
    assert (git / "agentm/sharedindex.1").read_text() == "the part"


def test_our_index_becomes_the_operators_unless_their_git_holds_it(
    public: PublicDir, git: Path, clock: list[float]
) -> None:
    (git / "agentm/index").write_text("ours")
    public.publish_index()
    assert os.path.samefile(git / "index", git / "agentm/index")
    before = os.stat(git / "index").st_ctime_ns
    public.publish_index()
    assert os.stat(git / "index").st_ctime_ns == before, "nothing to do"
    os.unlink(git / "agentm/index")
    (git / "agentm/index").write_text("newer")
    (git / "index.lock").write_text("theirs")
    public.publish_index()
    assert ((git / "index").read_text(), (git / "index.lock").read_text()) == ("ours", "theirs")
    assert clock == [], "nobody waits for it"
    os.unlink(git / "index.lock")
    os.link(git / "agentm/index", git / "index.lock")
    public.publish_index()
    assert (git / "index").read_text() == "newer", "a lock of ours that was left is no obstacle"
    assert sorted(os.listdir(git / "agentm")) == ["index"]
    assert not (git / "index.lock").exists()


def test_an_index_whose_publishing_was_cut_off_is_published_by_the_next_one(
    public: PublicDir, git: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    (git / "agentm/index").write_text("ours")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            public.publish_index()
    assert (git / "index.lock").exists()
    public.publish_index()
    assert (git / "index").read_text() == "ours"
    assert not (git / "index.lock").exists()
