"""Options are checked before git sees them."""

from __future__ import annotations

import pytest

from agentm_git.backend import GitStore
from agentm_git.branches import branch_for
from agentm_git.options import OPTIONS
from agentm_git.settings import Settings, parse_options
from agentm_kernel.errors import StorageSelectionError
from agentm_kernel.plugin import MAX_CONTENT_BYTES, Device, Opening, content_hash
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
        r"C:\srv\notes.git",
        "C:/srv/notes.git",
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


@pytest.mark.parametrize(
    "remote",
    [
        "https://ana:s3cret@example.com/n.git",
        "https://s3cret@example.com/n.git",
        "ssh://ana:s3cret@example.com/n.git",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(remote):
    with pytest.raises(StorageSelectionError) as caught:
        Settings(remote=remote)
    assert "s3cret" not in f"{caught.value} {caught.value.hint}"
    assert "carries a name or a password" in caught.value.message
    assert "token_env" in caught.value.hint


def test_an_odd_address_is_repeated_without_the_password_in_it():
    with pytest.raises(StorageSelectionError, match="not an address") as caught:
        Settings(remote="ftp://ana:s3cret@example.com/team/n.git")
    assert "'ftp://example.com/team/n.git'" in caught.value.message


@pytest.mark.parametrize(
    "branch",
    [
        "-f",
        "a..b",
        "a b",
        "HEAD",
        "x.lock",
        "/a",
        "a//b",
        ".a",
        "a~1",
        "a@{1}",
        "",
        "a.",
        "a/.b",
        "a.lock/b",
        "@",
        "a\x1f",
        "a\x7f",
    ],
)
def test_branches_that_git_would_misread_are_refused(branch):
    with pytest.raises(StorageSelectionError, match="no name of a branch"):
        Settings(branch=branch)


@pytest.mark.parametrize("branch", ["main", "team/notes", "a-b", "v1.2", "@a", "a.lock.b", "größe", "head"])
def test_branches_that_git_takes_are_accepted(branch):
    assert Settings(branch=branch).branch == branch


def test_what_is_left_out_is_as_the_options_declare_it():
    declared = {option.name: option.default for option in OPTIONS if option.default not in ("none", "what git knows")}
    assert declared.pop("size_limit") == "16 MB"
    assert parse_options({})[2] == MAX_CONTENT_BYTES == 16 * 2**20
    del declared["root"]
    settings = Settings()
    assert {name: str(getattr(settings, name)).removesuffix(".0") for name in declared} == declared
    assert {getattr(settings, name) for name in ("remote", "name", "email", "token_env")} == {""}
    assert (settings.credential_command, settings.pr_command, settings.sparse) == ((), (), ())


@pytest.mark.parametrize("value", [0, -1, "0", "inf", "nan", [], None, ""])
@pytest.mark.parametrize("name", ["deadline", "pull_ttl", "size_limit"])
def test_a_number_is_positive_and_finite_and_may_be_left_empty(name, value):
    if value in (None, ""):
        assert parse_options({name: value}) == parse_options({})
        return
    with pytest.raises(StorageSelectionError, match=f"plugins.git.{name} must be a positive number"):
        parse_options({name: value})


def test_numbers_may_be_fractions_and_texts():
    _, settings, size_limit = parse_options({"deadline": 0.5, "pull_ttl": "0.001", "size_limit": "1"})
    assert (settings.deadline, settings.pull_ttl, size_limit) == (0.5, 0.001, 1)


def test_a_choice_that_there_is_not_is_answered_with_those_that_there_are():
    with pytest.raises(StorageSelectionError, match="plugins.git.pr_policy is 'always'") as caught:
        Settings(pr_policy="always")
    assert caught.value.hint == "it is one of none, manual, auto"


def test_unknown_options_and_wrong_values_are_named():
    for options, match in (
        ({"rooot": "/x"}, "no option 'rooot'"),
        ({"conflict": "force"}, "conflict is 'force'"),
        ({"deadline": "soon"}, "deadline must be a positive number"),
        ({"name": 3}, "name must be text"),
        ({"pr_command": "a 'b"}, "pr_command cannot be read"),
        ({"pr_command": 3}, "pr_command must be a command"),
        ({"pr_command": ["a", 3]}, "pr_command must be a command"),
        ({"root": 3}, "root must be text, not int"),
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
        assert ("'notes'" if options else "not where the clone is") in caught.value.message
    assert GitStore.create({"root": "~/notes"}, *around).describe() == str(tmp_path / "notes")


def test_branches_follow_the_policy():
    talk = SyncTrigger("turn-end", "c1", "t7")
    assert branch_for(Settings(), talk, COMMIT) == "main"
    assert branch_for(Settings(branch_policy="per-conversation"), talk, COMMIT) == "agentm/conversation-c1"
    assert branch_for(Settings(branch_policy="per-turn"), talk, COMMIT) == "agentm/turn-c1-t7"
    unnamed = branch_for(Settings(branch_policy="per-conversation"), SyncTrigger("manual"), COMMIT)
    assert unnamed == "agentm/conversation-0123456789ab"


@pytest.mark.parametrize(
    ("trigger", "branch"),
    [
        (SyncTrigger("turn-end", None, "t7"), "agentm/turn-t7"),
        (SyncTrigger("turn-end", "c1"), "agentm/turn-0123456789ab"),
        (SyncTrigger("turn-end"), "agentm/turn-0123456789ab"),
    ],
)
def test_a_turn_is_enough_for_a_branch_of_its_own_and_a_conversation_is_not(trigger, branch):
    assert branch_for(Settings(branch_policy="per-turn"), trigger, COMMIT) == branch


@pytest.mark.parametrize(
    ("name", "plain"),
    [("a" * 60, "a" * 60), ("a" * 61, "a" * 60), ("a/b_c-d", "a-b_c-d"), ("../..", "x"), ("-a-", "a")],
)
def test_a_name_that_cannot_stay_as_it_is_ends_with_its_hash(name, plain):
    branch = branch_for(Settings(branch_policy="per-conversation"), SyncTrigger("manual", name), COMMIT)
    assert branch == f"agentm/conversation-{plain}" + ("" if plain == name else f"-{content_hash(name)[:8]}")


def test_names_of_hosts_cannot_make_odd_branches_and_stay_apart():
    settings = Settings(branch_policy="per-conversation")
    odd = ["../../main", "a b", "a/b", "--force", "x.lock", "ä", "a" * 300, "a~1"]
    branches = [branch_for(settings, SyncTrigger("manual", name), COMMIT) for name in odd]
    assert len(set(branches)) == len(odd)
    for branch in branches:
        assert Settings(branch=branch).branch.startswith("agentm/conversation-")
