"""The provider `github`, opened by a storage policy: the policy says when, the clone does it."""

from __future__ import annotations

import json
import os
import sys

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, git, serving

from agentm_kernel.plugin import Device, Opening

pytest.importorskip("agentm_storage_policy")

from agentm_git.backend import GitStore
from agentm_git.providers import HOST_VARIABLE, open_github
from agentm_kernel import Locator
from agentm_kernel.errors import StorageError, StorageIOError, StorageReadOnlyError
from agentm_kernel.plugin import ProviderContext, SyncRules
from agentm_storage_policy.handle import define_storage

NOTE = Locator("plans/note.md")
TOKEN = "ghs_provider0123456789"


class Team:
    """An origin at a host like GitHub, and devices that open it by a policy."""

    def __init__(self, folder, origin):
        self.folder = folder
        self.origin = origin
        self.host = origin.url.rpartition("/")[0]

    def context(self, name, read_only=False):
        home = self.folder / name
        home.mkdir(exist_ok=True)
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], HOST_VARIABLE: self.host, "TEAM_TOKEN": TOKEN}
        return Device(environ), Opening(read_only=read_only, state_dir=str(home / "state"))

    def open(self, name, read_only=False, **more):
        definition = {
            "provider": "github",
            "config": {"owner": "acme", "repo": "notes", "default_commit_email": "team@example.com"},
            "identity": [{"name": "Ana", "email": "ana@example.com"}, {"name": "Bob", "email": "bob@example.com"}],
            **more,
        }
        handle = define_storage(definition, root=str(self.folder))
        device, opening = self.context(name, read_only)
        return handle.open(device, {"user": "ana"}, opening)


@pytest.fixture
def team(tmp_path):
    with serving("http", str(tmp_path)) as origin:
        root = os.path.dirname(origin.path)
        os.mkdir(os.path.join(root, "acme"))
        os.symlink(origin.path, os.path.join(root, "acme", "notes.git"))
        fill(origin, {NOTE.key: b"begin\n"})
        yield Team(tmp_path, origin)


def test_opening_makes_nothing_and_the_first_pull_makes_the_clone(team):
    assert not os.path.exists(team.folder / "one" / "state")
    with pytest.raises(StorageIOError, match="not on this device yet"):
        team.open("one", read_only=True).read(NOTE)
    store = team.open("one")
    assert not os.path.exists(team.folder / "one" / "state")
    store.handle("workspace-open", {})
    assert store.read(NOTE) == "begin\n"
    assert isinstance(store.inner, GitStore)
    assert store.inner.describe().endswith("acme/notes@main")


def test_the_first_write_makes_the_clone_too(team):
    store = team.open("one")
    store.write(NOTE, "mine\n")
    assert store.read(NOTE) == "mine\n"
    assert os.path.isdir(os.path.join(store.inner.describe(), ".git"))


def test_whoever_may_write_reads_what_the_origin_has_first(team):
    """`save` looks for notes of the same name before it writes: the clone is made then, and nothing is refused."""
    store = team.open("one")
    assert store.read(NOTE) == "begin\n"
    assert [str(child) for child in store.list(Locator("plans"))] == [NOTE.key]


def test_a_policy_that_names_nobody_has_commits_by_the_operator_whom_git_knows(team):
    home = team.folder / "one"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ana Operator\n\temail = ana@work.example\n")
    template = {"commit": {"message_template": "{{operator}}: {{summary}}"}}
    definition = {"provider": "github", "config": {"owner": "acme", "repo": "notes"}, "sync": template}
    device, opening = team.context("one")
    store = define_storage(definition, root=str(team.folder)).open(device, {"user": "ana"}, opening)
    store.write(NOTE, "one\n")
    store.handle("turn-end", {"summary": "decided"})
    said = git(store.inner.describe(), "log", "-1", "--format=%an <%ae> %s").decode().strip()
    assert said == "Ana Operator <ana@work.example> Ana Operator: decided"


def test_events_commit_and_push_as_the_policy_says_with_its_message_and_people(team):
    store = team.open("one", sync={"commit": {"message_template": "{{operator}}: {{summary}}"}})
    store.handle("workspace-open", {})
    store.write(NOTE, "one\n")
    store.handle("turn-end", {"operator": "bot", "summary": "decided", "turnId": "t1"})
    assert team.origin.files()[NOTE.key] == b"begin\n"
    report = store.handle("conversation-end", {"conversationId": "c1"})
    assert report.errors == []
    shown = team.origin.git("log", "-1", "--format=%an <%ae>%n%B").decode()
    assert shown.startswith("Ana <ana@example.com>\nbot: decided\n\nCo-authored-by: Bob <bob@example.com>")
    other = team.open("two")
    other.handle("workspace-open", {})
    assert other.read(NOTE) == "one\n"


def test_a_policy_that_commits_each_write_commits_a_deletion_too(team):
    sync = {"commit": {"on": "each-write", "batch_window_ms": 0}, "push": {"on": "per-commit"}}
    store = team.open("one", sync=sync)
    store.write(Locator("plans/other.md"), "two\n")
    assert team.origin.files()["plans/other.md"] == b"two\n"
    store.delete(NOTE)
    assert NOTE.key not in team.origin.files()


def test_branches_and_requests_follow_the_policy(team):
    store = team.open("one", sync={"push": {"branch_policy": "per-conversation", "pr_policy": "manual"}})
    store.write(NOTE, "one\n")
    store.handle("turn-end", {})
    report = store.handle("conversation-end", {"conversationId": "c1"})
    assert "gh pr create --base main --head agentm/conversation-c1" in "; ".join(report.lines)
    assert team.origin.files("agentm/conversation-c1")[NOTE.key] == b"one\n"
    assert team.origin.files()[NOTE.key] == b"begin\n"


@pytest.mark.parametrize("policy", ["rebase", "merge", "last-writer-wins", "split-conflicts"])
def test_conflicts_are_settled_by_the_policy(team, policy):
    store = team.open("one", sync={"conflict": {"policy": policy}})
    store.handle("workspace-open", {})
    fill(team.origin, {NOTE.key: b"theirs\n"})
    store.write(NOTE, "ours\n")
    store.handle("turn-end", {})
    assert store.handle("conversation-end", {}).errors == []
    assert {b"ours\n", b"theirs\n"} <= set(team.origin.files().values())


def test_a_conflict_under_abort_is_the_specifications_error(team):
    store = team.open("one", sync={"conflict": {"policy": "abort"}})
    store.handle("workspace-open", {})
    fill(team.origin, {NOTE.key: b"theirs\n"})
    store.write(NOTE, "ours\n")
    store.handle("turn-end", {})
    (error,) = store.handle("conversation-end", {}).errors
    assert error.code == "storage_conflict"
    assert store.read(NOTE) == "ours\n"


def test_excluded_keys_stay_on_the_device(team):
    store = team.open("one", exclude=[".runs/", "*.tmp"])
    store.write(Locator("x.tmp"), "mine\n")
    store.write(NOTE, "one\n")
    store.handle("turn-end", {})
    store.handle("conversation-end", {})
    assert NOTE.key in team.origin.files()
    assert "x.tmp" not in team.origin.files()


def test_a_read_only_store_still_pulls(team):
    reader = define_storage(
        {"provider": "github", "config": {"repo": "acme/notes"}, "read_only": True}, root=str(team.folder)
    ).open(team.context("two")[0], {"user": "ana"}, team.context("two")[1])
    reader.handle("workspace-open", {})
    assert reader.read(NOTE) == "begin\n"
    with pytest.raises(StorageReadOnlyError):
        reader.write(NOTE, "no\n")
    fill(team.origin, {NOTE.key: b"news\n"})
    reader.handle("workspace-open", {})
    assert reader.read(NOTE) == "news\n"


def test_the_token_of_the_policy_opens_the_origin(tmp_path):
    with serving("http", str(tmp_path), token=TOKEN) as origin:
        root = os.path.dirname(origin.path)
        os.mkdir(os.path.join(root, "acme"))
        os.symlink(origin.path, os.path.join(root, "acme", "notes.git"))
        fill(origin, {NOTE.key: b"begin\n"})
        team = Team(tmp_path, origin)
        rules = SyncRules("pull-push", "rebase")
        context = ProviderContext(*team.context("one"), "STORAGE.md", rules, lambda _: False)
        config = {"owner": "acme", "repo": "notes", "branch": "main"}
        store = open_github(config, {"GITHUB_TOKEN": TOKEN}, context)
        store.pull(OCCASION)
        store.write(NOTE, "one\n")
        store.commit("mine", AUTHORS, OCCASION)
        store.push(OCCASION)
        assert origin.files()[NOTE.key] == b"one\n"
        denied = open_github(config, {"GITHUB_TOKEN": "wrong"}, context)
        with pytest.raises(StorageIOError) as caught:
            denied.pull(OCCASION)
        assert "token" in caught.value.hint


def test_the_command_of_the_device_that_prints_a_token_is_told_the_installation_of_the_policy(tmp_path):
    with serving("http", str(tmp_path), token=TOKEN) as origin:
        root = os.path.dirname(origin.path)
        os.mkdir(os.path.join(root, "acme"))
        os.symlink(origin.path, os.path.join(root, "acme", "notes.git"))
        fill(origin, {NOTE.key: b"begin\n"})
        team = Team(tmp_path, origin)
        device, opening = team.context("one")
        program = tmp_path / "token-for"
        prints = f"import os; print({{'42': {TOKEN!r}}}.get(os.environ['AGENTM_GIT_INSTALLATION_ID'], 'no token'))"
        program.write_text(f"#!{sys.executable}\n{prints}\n")
        program.chmod(0o755)
        settings = tmp_path / "one" / ".config" / "agentm" / ".agentm-config.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"plugins": {"git": {"credential_command": str(program)}}}))
        context = ProviderContext(device, opening, "STORAGE.md", SyncRules("pull-push", "rebase"), lambda _: False)
        for number, opens in ((42, True), (43, False), (None, False)):
            config = {"owner": "acme", "repo": "notes", "installation_id": number}
            store = open_github(config, {}, context)
            if opens:
                store.pull(OCCASION)
                assert store.read(NOTE) == "begin\n"
            else:
                with pytest.raises(StorageIOError):
                    store.pull(OCCASION)


@pytest.mark.parametrize("repo", ["../x", "a/b", "-x", "a b", ".", "x;y"])
def test_names_that_are_none_of_a_repository_are_refused(tmp_path, repo):
    context = ProviderContext(
        Device({"HOME": str(tmp_path)}),
        Opening(state_dir=str(tmp_path)),
        "STORAGE.md",
        SyncRules("pull-push", "rebase"),
        lambda _: False,
    )
    with pytest.raises(StorageError, match="no name of a GitHub"):
        open_github({"owner": "acme", "repo": repo}, {}, context)


def test_a_store_of_a_policy_is_one_with_a_clone_of_the_configuration(team, tmp_path):
    store = team.open("one")
    store.write(NOTE, "from a policy\n")
    store.handle("turn-end", {})
    store.handle("conversation-end", {})
    clone = open_clone(team.origin, str(tmp_path / "clone"))
    assert clone.read(NOTE) == "from a policy\n"
    assert git(clone.describe(), "log", "-1", "--format=%an", "--", NOTE.key).decode().strip() == "Ana"
