"""Options are checked before git sees them."""

from __future__ import annotations

import pytest

from agentm_git.backend import GitStore
from agentm_git.branches import branch_for
from agentm_git.settings import Settings, parse_options
from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.plugin import Device, Opening
from agentm_kernel.seam.provider import SyncTrigger

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "remote",
    [
        "https://example.com/team/notes.git",
        "http://127.0.0.1:8080/notes.git",
        "ssh://git@example.com/notes.git",
        "git@example.com:team/notes.git",
        "git://127.0.0.1/notes.git",
        "file:///srv/notes.git",
        "/srv/notes.git",
        "",
    ],
)
def test_addresses_that_git_fetches_from_are_accepted(remote):
    assert Settings(remote=remote).remote == remote


@pytest.mark.parametrize(
    "remote",
    [
        "ext::sh -c touch% x",
        "--upload-pack=touch x",
        "fd::3",
        "notes",
        "https://example.com/a\nb",
        "ftp://example.com/x",
    ],
)
def test_addresses_that_git_would_run_or_misread_are_refused(remote):
    with pytest.raises(StorageSelectionError, match="not an address"):
        Settings(remote=remote)


@pytest.mark.parametrize("remote", ["https://ana:s3cret@example.com/n.git", "https://s3cret@example.com/n.git"])
def test_a_password_in_an_address_is_refused_and_not_repeated(remote):
    with pytest.raises(StorageSelectionError) as caught:
        Settings(remote=remote)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("branch", ["-f", "a..b", "a b", "HEAD", "x.lock", "/a", "a//b", ".a", "a~1", "a@{1}", ""])
def test_branches_that_git_would_misread_are_refused(branch):
    with pytest.raises(StorageSelectionError, match="no name of a branch"):
        Settings(branch=branch)


def test_unknown_options_and_wrong_values_are_named():
    for options, match in (
        ({"rooot": "/x"}, "no option 'rooot'"),
        ({"conflict": "force"}, "conflict is 'force'"),
        ({"deadline": "soon"}, "deadline must be a positive number"),
        ({"name": 3}, "name must be text"),
        ({"pr_command": "a 'b"}, "pr_command cannot be read"),
        ({"pr_command": 3}, "pr_command must be a command"),
    ):
        with pytest.raises(StorageSelectionError, match=match):
            parse_options(options)


def test_a_command_is_words_and_no_shell_line():
    assert parse_options({"pr_command": "open-pr --title 'a; b'"})[1].pr_command == ("open-pr", "--title", "a; b")
    assert parse_options({"pr_command": ["open-pr", "$HOME"]})[1].pr_command == ("open-pr", "$HOME")


def test_the_root_has_to_be_a_full_path(tmp_path):
    around = Device({"HOME": str(tmp_path)}), Opening(state_dir=str(tmp_path))
    for options in ({}, {"root": "notes"}):
        with pytest.raises(StorageSelectionError) as caught:
            GitStore.create(options, *around)
        assert "agentm git init" in caught.value.hint
    assert GitStore.create({"root": "~/notes"}, *around).describe() == str(tmp_path / "notes")


def test_branches_follow_the_policy():
    talk = SyncTrigger("turn-end", "c1", "t7")
    assert branch_for(Settings(), talk, COMMIT) == "main"
    assert branch_for(Settings(branch_policy="per-conversation"), talk, COMMIT) == "agentm/conversation-c1"
    assert branch_for(Settings(branch_policy="per-turn"), talk, COMMIT) == "agentm/turn-c1-t7"
    unnamed = branch_for(Settings(branch_policy="per-conversation"), SyncTrigger("manual"), COMMIT)
    assert unnamed == "agentm/conversation-0123456789ab"


def test_names_of_hosts_cannot_make_odd_branches_and_stay_apart():
    settings = Settings(branch_policy="per-conversation")
    odd = ["../../main", "a b", "a/b", "--force", "x.lock", "ä", "a" * 300, "a~1"]
    branches = [branch_for(settings, SyncTrigger("manual", name), COMMIT) for name in odd]
    assert len(set(branches)) == len(odd)
    for branch in branches:
        assert Settings(branch=branch).branch.startswith("agentm/conversation-")
