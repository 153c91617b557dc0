"""What the answers of an origin mean: a race, a refusal, absence or a broken line. With a git that says them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentm_git.origin import Deadline, Origin
from agentm_git.runner import GitFailed
from agentm_git.settings import Settings
from agentm_kernel.errors import StorageError, StorageIOError, StorageSelectionError

ONE, TWO = "1" * 40, "2" * 40
URL = "https://example.com/team/notes.git"


class SayingGit:
    """Fails with these words, or does what it is told."""

    def __init__(self, said: str = "", output: bytes = b"", missing: str = "0") -> None:
        self.said, self.output, self.missing = said, output, missing
        self.asked: list[tuple[str, ...]] = []

    def run(self, *words: str, settings: dict[str, str], secrets: tuple[str, ...], limit: float) -> bytes:
        assert 0 < limit <= 5.0
        self.asked.append(words)
        if self.said:
            raise GitFailed(f"git {words[0]} failed", 1, self.said, self.output)
        return b""

    def text(self, *words: str) -> str:
        return self.missing


def origin(git: SayingGit, refs: dict[str, str] | None = None, **options: Any) -> Origin:
    known = {} if refs is None else refs
    private: Any = SimpleNamespace(root="/my notes", ref=known.get, set_ref=known.__setitem__)
    stands_in: Any = git
    return Origin(stands_in, private, Settings(**{"remote": URL, **options}), {}, {"T": "s3cret"})


def pushed(git: SayingGit, refs: dict[str, str] | None = None) -> str | None:
    return origin(git, refs).push(ONE, "main", Deadline(5.0))


# ------------------------------------------------------------------------------------------------ push


def test_a_push_expects_what_the_origin_had_and_remembers_what_it_has() -> None:
    refs: dict[str, str] = {}
    git = SayingGit()
    assert pushed(git, refs) is None
    assert refs == {"refs/remotes/origin/main": ONE}
    assert "--force-with-lease=refs/heads/main:" in git.asked[0]
    refs["refs/remotes/origin/main"] = TWO
    assert pushed(git, refs) is None
    assert f"--force-with-lease=refs/heads/main:{TWO}" in git.asked[1]
    assert git.asked[1][-2:] == (URL, f"{ONE}:refs/heads/main")


def test_nothing_is_sent_over_commits_that_are_not_here() -> None:
    git = SayingGit(missing="2")
    assert pushed(git, {"refs/remotes/origin/main": TWO}) == "the origin has commits that are not here"
    assert git.asked == []


@pytest.mark.parametrize(
    "sign",
    ["fetch first", "non-fast-forward", "stale info", "failed to update ref", "failed to lock", "cannot lock ref",
     "incorrect old value", "reference already exists", "Remote ref updated since checkout"],
)  # fmt: skip
def test_somebody_who_was_faster_is_a_reason_to_try_again(sign: str) -> None:
    why = f"[remote rejected] ({sign})"
    assert pushed(SayingGit("error: failed to push", f"To x\n!\ta:b\t{why}\nDone\n".encode())) == why
    assert pushed(SayingGit(f"fatal: {sign}")) == "git push failed"


def test_a_rejection_of_the_lease_is_one_too_and_a_lock_file_is_named() -> None:
    assert pushed(SayingGit("x", b"!\ta:b\t[rejected] (something new)\n")) == "[rejected] (something new)"
    held = "error: cannot lock ref: Unable to create '/srv/n.git/refs/heads/main.lock': File exists."
    assert pushed(SayingGit(f"x\n  {held}  \n", b"!\ta:b\t[remote rejected] (failed)\n")) == held


def test_what_the_origin_forbids_is_quoted_and_a_broken_line_is_not_taken_for_it() -> None:
    with pytest.raises(
        StorageError, match="the origin refuses the push to main: \\[remote rejected\\] \\(protected\\)"
    ):
        pushed(SayingGit("error: failed to push", b"!\ta:b\t[remote rejected] (protected)\n"))
    with pytest.raises(StorageError) as caught:
        pushed(SayingGit("x", b"!\ta:b\t[remote rejected] (branch is currently checked out)\n"))
    assert "`git clone --bare`" in (caught.value.hint or "")
    with pytest.raises(GitFailed):
        pushed(SayingGit("fatal: the remote end hung up"))


# ------------------------------------------------------------------------------------------------ fetch


def test_a_branch_that_the_origin_never_had_is_none_and_one_that_it_had_is_a_broken_answer() -> None:
    absent = "fatal: couldn't find remote ref refs/heads/main"
    assert origin(SayingGit(absent)).fetch("main", Deadline(5.0)) is None
    with pytest.raises(
        StorageIOError, match="the origin has no branch main any more, or its answer broke off"
    ) as caught:
        origin(SayingGit(absent), {"refs/remotes/origin/main": ONE}).fetch("main", Deadline(5.0))
    assert "git -C '/my notes' push origin main" in (caught.value.hint or "")


def test_what_a_fetch_brought_is_the_tip_that_is_known_then() -> None:
    assert origin(SayingGit(), {"refs/remotes/origin/main": ONE}).fetch("main", Deadline(5.0)) == ONE


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("fatal: Authentication failed for 'x'", "check the token or the key, and its rights on the repository"),
        ("fatal: could not read Username", "check the token or the key, and its rights on the repository"),
        ("The requested URL returned error: 401", "check the token or the key, and its rights on the repository"),
        ("The requested URL returned error: 403", "check the token or the key, and its rights on the repository"),
        ("git@host: Permission denied (publickey)", "check the token or the key, and its rights on the repository"),
        ("remote: Access denied", "check the token or the key, and its rights on the repository"),
        ("'x' does not appear to be a git repository", "create the repository first, or check the address"),
        ("remote: Repository not found.", "create the repository first, or check the address"),
        ("fatal: repository 'https://x/' not found", "create the repository first, or check the address"),
        (
            "ssh: Could not resolve hostname work",
            "check the network and the address: no alias of git's (`insteadOf`) is used",
        ),
        ("ssh: connect to host x port 22: Connection refused", None),
        ("The requested URL returned error: 302", None),
        ("fatal: the remote end hung up", None),
    ],
)
def test_an_error_of_the_origin_has_a_hint_where_there_is_something_to_do(said: str, hint: str | None) -> None:
    with pytest.raises(GitFailed) as caught:
        origin(SayingGit(said)).fetch("main", Deadline(5.0))
    assert caught.value.hint == hint


def test_a_redirect_is_explained_to_whoever_has_a_token() -> None:
    with pytest.raises(GitFailed) as caught:
        origin(SayingGit("The requested URL returned error: 302"), token_env="T").fetch("main", Deadline(5.0))
    assert (caught.value.hint or "").startswith("the origin has moved: use its new address")


def test_without_an_address_nobody_is_asked() -> None:
    git = SayingGit()
    with pytest.raises(StorageSelectionError, match="the clone has no origin to talk with"):
        origin(git, remote="").fetch("main", Deadline(5.0))
    assert git.asked == []
