"""The git directory that is agentm's own: made whole, mended, and cleared of what a killed git left."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from agentm_git.private_dir import GitLock, PrivateDir
from agentm_kernel.errors import LockTimeout, StorageSelectionError
from agentm_kernel.plugin import TEMP_PREFIX

if TYPE_CHECKING:
    from pathlib import Path

ONE = "1" * 40


@pytest.fixture
def place(tmp_path: Path) -> PrivateDir:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    (tmp_path / ".git" / "config").write_text("[core]\n\tbare = false\n")
    return PrivateDir(str(tmp_path))


@pytest.fixture
def ours(place: PrivateDir, tmp_path: Path) -> Path:
    place.check()
    return tmp_path / ".git" / "agentm"


def test_it_has_a_configuration_attributes_and_a_head_of_its_own(ours: Path) -> None:
    assert (ours / "config").read_text().startswith("[core]\n")
    assert (ours / "info/attributes").read_text().startswith("* -text ")
    assert (ours / "info/exclude").read_text() == f"{TEMP_PREFIX}*\n"
    assert (ours / "HEAD").read_text() == "ref: refs/heads/agentm-none\n"
    assert (ours / "network").is_dir()
    assert (ours / "refs/remotes/origin").is_dir()
    assert stat.S_IMODE(os.stat(ours).st_mode) == 0o700


def test_what_somebody_changed_in_it_is_mended_and_the_rest_stays(place: PrivateDir, ours: Path) -> None:
    before = {name: os.stat(ours / name).st_ino for name in ("config", "info/attributes")}
    (ours / "HEAD").write_text(f"{ONE}\n")
    place.check()
    assert {name: os.stat(ours / name).st_ino for name in before} == before, "what is right is not written again"
    (ours / "config").write_bytes(b"[core]\n\tfsmonitor = evil \xff\n")
    os.rmdir(ours / "network")
    os.unlink(ours / "info/attributes")
    place.check()
    assert "evil" not in (ours / "config").read_text()
    assert (ours / "info/attributes").exists()
    assert (ours / "HEAD").read_text() == f"{ONE}\n"
    assert sorted(os.listdir(ours)) == ["HEAD", "config", "info", "network", "refs"]


def test_its_head_is_a_commit_or_no_branch_at_all(place: PrivateDir, ours: Path) -> None:
    place.set_head(ONE)
    assert (ours / "HEAD").read_text() == f"{ONE}\n"
    place.set_head(None)
    assert (ours / "HEAD").read_text() == "ref: refs/heads/agentm-none\n"


def test_a_ref_of_its_own_is_set_read_and_removed(place: PrivateDir, ours: Path) -> None:
    name = "refs/agentm/had/team/notes"
    assert place.ref(name) is None
    place.remove_ref(name)
    place.set_ref(name, ONE)
    assert place.ref(name) == ONE
    assert place.ref("refs/agentm/had/team") is None
    assert place.ref(f"{name}/below") is None
    (ours / "refs/agentm/had/empty").write_text("\n")
    assert place.ref("refs/agentm/had/empty") is None
    place.remove_ref(name)
    assert place.ref(name) is None


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("reftable", "", "it keeps its refs in a reftable"),
        ("shallow", "", "it is shallow"),
        ("config", "[extensions]\n\tobjectFormat = sha256\n", "its objects have names of another kind"),
    ],
)
def test_a_repository_of_another_format_is_refused_and_left_alone(
    place: PrivateDir, tmp_path: Path, name: str, content: str, why: str
) -> None:
    (tmp_path / ".git" / name).write_text(content)
    with pytest.raises(StorageSelectionError, match=why):
        place.check()
    assert not (tmp_path / ".git" / "agentm").exists()


def test_a_configuration_that_is_no_text_is_no_obstacle(place: PrivateDir, tmp_path: Path) -> None:
    (tmp_path / ".git" / "config").write_bytes(b"[user]\n\tname = An\xe4\n")
    place.check()
    assert (tmp_path / ".git" / "agentm" / "HEAD").exists()


def test_what_is_no_clone_is_said_and_a_work_tree_of_another_one_too(tmp_path: Path) -> None:
    place = PrivateDir(str(tmp_path))
    assert not place.is_clone
    with pytest.raises(StorageSelectionError, match=f"{tmp_path} is not a git repository"):
        place.check()
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    with pytest.raises(StorageSelectionError, match=f"{tmp_path} is a work tree of another repository"):
        place.check()


# ------------------------------------------------------------------------------------------------ locks


def planted(ours: Path, *names: str) -> list[Path]:
    paths = [ours / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return paths


LOCAL = ("index.lock", "HEAD.lock", "merge-index", "merge-index.lock")
NETWORK = ("packed-refs.lock", "refs/remotes/origin/main.lock", "refs/remotes/origin/team/notes.lock")


def test_each_lock_clears_what_a_git_under_it_may_have_left(place: PrivateDir, ours: Path) -> None:
    of_local, of_network = planted(ours, *LOCAL), planted(ours, *NETWORK)
    (kept,) = planted(ours, "refs/remotes/origin/main")
    with place.local():
        assert not any(path.exists() for path in of_local)
        assert all(path.exists() for path in of_network)
        planted(ours, *LOCAL)
        with place.network(1.0):
            assert not any(path.exists() for path in of_network)
            assert all(path.exists() for path in of_local), "whoever holds the other lock may be at it"
    assert kept.exists()


def test_a_lock_that_is_held_is_waited_for_only_so_long_and_named_by_the_clone(place: PrivateDir, ours: Path) -> None:
    with place.network(1.0), pytest.raises(LockTimeout) as caught, place.network(0.0):
        pass
    assert str(ours.parent) in caught.value.message
    assert str(ours) not in caught.value.message


def test_a_lock_whose_leftovers_cannot_be_cleared_is_given_back(ours: Path) -> None:
    (ours / "index.lock").mkdir()
    with pytest.raises(OSError, match=r"index\.lock"), GitLock(str(ours), 1.0, ["index.lock"]):
        pass
    (ours / "index.lock").rmdir()
    with GitLock(str(ours), 0.0, ["index.lock"]) as lock:
        assert lock.descriptor >= 0
