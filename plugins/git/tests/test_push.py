"""What was committed reaches the origin: on the branch that the policy says, with a request where it says so."""

from __future__ import annotations

import http.server
import json
import os
import sys
import threading

import pytest
from clones import AUTHORS, OCCASION, open_clone
from git_servers import fill, git

from agentm_kernel import Locator
from agentm_kernel.errors import StorageError, StorageIOError, StorageSelectionError
from agentm_kernel.seam.provider import SyncTrigger

NOTE = Locator("note.md")
TALK = SyncTrigger("conversation-end", "c-1", "t-1")


@pytest.fixture
def opened(tmp_path, origin_by_path):
    def open_with(**options):
        return open_clone(origin_by_path, str(tmp_path / "clone"), **options)

    open_with()
    return open_with


def edit(store, text="one\n"):
    store.write(NOTE, text)
    return store.commit("edit", AUTHORS, OCCASION).ref


def branches(origin):
    return origin.git("for-each-ref", "--format=%(refname:short)").decode().split()


def test_a_commit_reaches_the_origin_once(opened, origin_by_path):
    store = opened()
    commit = edit(store)
    done = store.push(OCCASION)
    assert (done.changed, done.ref, done.url) == (True, commit, None)
    assert origin_by_path.tip() == commit
    assert not store.push(OCCASION).changed
    assert git(store.describe(), "rev-parse", "origin/main").decode().strip() == commit


@pytest.mark.parametrize(
    ("policy", "branch"), [("per-conversation", "agentm/conversation-c-1"), ("per-turn", "agentm/turn-c-1-t-1")]
)
def test_a_branch_of_its_own_takes_the_commits_and_the_main_one_stays(opened, origin_by_path, policy, branch):
    before = origin_by_path.tip()
    store = opened(branch_policy=policy)
    commit = edit(store)
    assert store.push(TALK).ref == commit
    assert branches(origin_by_path) == [branch, "main"]
    assert origin_by_path.tip(branch) == commit
    assert origin_by_path.tip() == before
    assert not store.push(TALK).changed


def test_what_was_pushed_to_a_branch_is_merged_and_not_made_anew(opened, origin_by_path):
    store = opened(branch_policy="per-conversation")
    pushed = edit(store, "first\n")
    store.push(TALK)
    fill(origin_by_path, {"elsewhere.md": b"main moves on\n"})
    store.pull(OCCASION)
    edit(store, "second\n")
    store.push(TALK)
    assert origin_by_path.git("rev-list", "agentm/conversation-c-1").decode().split().count(pushed) == 1
    assert origin_by_path.forced() == []
    assert set(origin_by_path.files("agentm/conversation-c-1")) >= {NOTE.key, "elsewhere.md"}


def test_a_branch_that_was_merged_at_the_origin_leaves_nothing_to_push(opened, origin_by_path, tmp_path):
    store = opened(branch_policy="per-conversation")
    edit(store)
    store.push(TALK)
    origin_by_path.git("update-ref", "refs/heads/main", "agentm/conversation-c-1")
    origin_by_path.git("update-ref", "-d", "refs/heads/agentm/conversation-c-1")
    store.pull(OCCASION)
    assert not store.push(SyncTrigger("conversation-end", "c-2")).changed
    assert branches(origin_by_path) == ["main"]


# ------------------------------------------------------------------------------------------------ pull requests


class Host(http.server.BaseHTTPRequestHandler):
    """A host's interface for pull requests, on loopback."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.send_response(201 if self.server.is_well else 422)
        self.end_headers()
        self.wfile.write(json.dumps({"html_url": f"https://example.com/pr/{len(self.server.requests)}"}).encode())

    def log_message(self, *args):
        """Quiet."""


COMMAND = """
import json, os, sys, urllib.request
body = {"head": os.environ["AGENTM_GIT_BRANCH"], "base": os.environ["AGENTM_GIT_BASE"],
        "installation": os.environ["AGENTM_GIT_INSTALLATION_ID"]}
request = urllib.request.Request(sys.argv[1], json.dumps(body).encode(), method="POST")
print("opened", json.load(urllib.request.urlopen(request))["html_url"])
"""


@pytest.fixture
def host():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host)
    server.requests, server.is_well = [], True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def asking(opened, host, tmp_path):
    """A store whose pull requests are opened by a command that talks with the host."""
    script = tmp_path / "open_pr.py"
    script.write_text(COMMAND)
    command = (sys.executable, str(script), f"http://127.0.0.1:{host.server_port}/pulls")
    options = {"pr_policy": "auto", "pr_command": command, "installation_id": "42"}
    return opened(branch_policy="per-conversation", **options)


def test_the_operators_command_opens_one_request_for_a_branch(asking, host):
    edit(asking, "one\n")
    assert asking.push(TALK).url == "https://example.com/pr/1"
    assert host.requests == [{"head": "agentm/conversation-c-1", "base": "main", "installation": "42"}]
    edit(asking, "two\n")
    assert asking.push(TALK).url == "https://example.com/pr/1"
    assert len(host.requests) == 1


def test_a_request_that_fails_undoes_no_push_and_says_what_to_do(asking, host, origin_by_path):
    host.is_well = False
    commit = edit(asking)
    done = asking.push(TALK)
    assert done.changed
    assert origin_by_path.tip("agentm/conversation-c-1") == commit
    assert "was not opened" in done.note
    assert "gh pr create --base main --head agentm/conversation-c-1" in done.note
    host.is_well = True
    edit(asking, "two\n")
    assert asking.push(TALK).url == "https://example.com/pr/2"


def test_manual_requests_are_a_command_and_a_link(opened):
    store = opened(branch_policy="per-conversation", pr_policy="manual")
    edit(store)
    assert "gh pr create --base main --head agentm/conversation-c-1" in store.push(TALK).note
    from agentm_git.requests import _link
    from agentm_git.settings import Settings

    link = _link(Settings(remote="https://github.com/acme/notes.git"), "agentm/conversation-c-1")
    assert link == "https://github.com/acme/notes/compare/main...agentm/conversation-c-1?expand=1"


def test_a_push_to_the_main_branch_asks_for_nothing(opened):
    store = opened(pr_policy="manual")
    edit(store)
    done = store.push(OCCASION)
    assert (done.url, done.note) == (None, None)


# ------------------------------------------------------------------------------------------------ what is refused


def test_an_excluded_path_that_the_operator_committed_is_not_pushed(opened, origin_by_path):
    store = opened(is_excluded=lambda key: key.startswith("private/"))
    store.write(Locator("private/x.md"), "mine\n")
    git(store.describe(), "add", "-f", "private/x.md")
    git(store.describe(), "commit", "-q", "-m", "by hand")
    before = origin_by_path.tip()
    with pytest.raises(StorageError, match="private/x.md, which the policy excludes"):
        store.push(OCCASION)
    assert origin_by_path.tip() == before


def test_an_origin_that_refuses_is_quoted(opened, origin_by_path):
    hook = os.path.join(origin_by_path.path, "hooks", "pre-receive")
    os.makedirs(os.path.dirname(hook), exist_ok=True)
    with open(hook, "w") as file:
        file.write("#!/bin/sh\necho the branch is protected >&2\nexit 1\n")
    os.chmod(hook, 0o755)
    store = opened()
    edit(store)
    with pytest.raises(StorageError, match="pre-receive hook declined"):
        store.push(OCCASION)
    os.unlink(hook)
    assert store.push(OCCASION).changed


def test_a_lock_that_stays_at_the_origin_is_named_when_time_is_up(opened, origin_by_path):
    lock = os.path.join(origin_by_path.path, "refs", "heads", "main.lock")
    open(lock, "w").close()
    store = opened(deadline=1.5)
    edit(store)
    with pytest.raises(StorageIOError, match=r"main\.lock"):
        store.push(OCCASION)
    os.unlink(lock)
    assert store.push(OCCASION).changed


def test_a_clone_without_an_origin_says_so(tmp_path):
    from agentm_git.setup import set_up

    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    set_up(str(tmp_path / "clone"), environ=environ)
    from agentm_git.backend import GitStore

    store = GitStore(tmp_path / "clone")
    edit(store)
    with pytest.raises(StorageSelectionError, match="no origin"):
        store.push(OCCASION)
    assert len(store.sync(OCCASION)) == 1
