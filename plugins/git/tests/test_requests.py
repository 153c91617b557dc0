"""Pull requests for pushed branches: when the operator's command is asked, what it is told, and what is said."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from agentm_git.requests import request
from agentm_git.settings import Settings
from agentm_kernel.seam.provider import SyncTrigger

BRANCH = "agentm/conversation-c-1"
TALK = SyncTrigger("turn-end", "c-1", "7")
BY_HAND = f"`gh pr create --base main --head {BRANCH} --fill`"
LINK = f"https://example.com/acme/notes/compare/main...{BRANCH}?expand=1"
TOLD = """' '.join(sorted(f'{n[11:]}={v}' for n, v in __import__('os').environ.items() if n[:11] == 'AGENTM_GIT_'))"""


@pytest.fixture
def ask(tmp_path):
    def asked(script="", *, command=None, branch=BRANCH, **options):
        words = command or (sys.executable, "-c", f"open('ran', 'a').write('.'); {script}")
        given = {"remote": "https://example.com/acme/notes.git", "pr_policy": "auto", "pr_command": words, **options}
        place = SimpleNamespace(path=str(tmp_path))
        clone = SimpleNamespace(
            settings=Settings(**given), private=place, folder=SimpleNamespace(root=str(tmp_path)), environ=os.environ
        )
        return request(clone, branch, TALK)

    return asked


def runs(tmp_path):
    return len((tmp_path / "ran").read_text()) if (tmp_path / "ran").exists() else 0


@pytest.mark.parametrize(
    ("policy", "branch", "answer"),
    [
        ("none", BRANCH, (None, None)),
        ("auto", "main", (None, None)),
        ("manual", BRANCH, (LINK, f"to open a pull request: {BY_HAND}")),
    ],
)
def test_the_command_is_run_only_where_the_policy_says_so(ask, tmp_path, policy, branch, answer):
    assert ask("print('https://example.com/pr/1')", pr_policy=policy, branch=branch) == answer
    assert runs(tmp_path) == 0


def test_without_a_command_the_operator_is_told_how_to_open_one(ask):
    assert ask(pr_command=()) == (LINK, f"to open a pull request: {BY_HAND}")


@pytest.mark.parametrize(
    "remote", ["git@example.com:acme/notes.git", "file:///srv/notes.git", "http://example.com/n"]
)
def test_only_an_address_that_a_browser_opens_safely_becomes_a_link(ask, remote):
    assert ask(pr_policy="manual", remote=remote) == (None, f"to open a pull request: {BY_HAND}")


def test_the_command_is_told_what_it_is_about_and_runs_in_the_clone(ask, tmp_path):
    url, note = ask(f"open('told', 'w').write({TOLD}); print('https://x/1')", installation_id="42")

    assert (url, note) == ("https://x/1", f"pull request for {BRANCH}")
    assert (tmp_path / "told").read_text().split() == [
        "BASE=main",
        f"BRANCH={BRANCH}",
        "CONVERSATION=c-1",
        "INSTALLATION_ID=42",
        "REMOTE=https://example.com/acme/notes.git",
        "TURN=7",
    ]


def test_a_request_that_is_open_is_not_opened_again(ask, tmp_path):
    first = ask("print('opened https://example.com/pr/1 now')")
    second = ask("print('https://example.com/pr/2')")

    assert first == ("https://example.com/pr/1", f"pull request for {BRANCH}")
    assert second == ("https://example.com/pr/1", None)
    assert runs(tmp_path) == 1
    assert ask("print('https://example.com/pr/3')", branch="agentm/other")[0] == "https://example.com/pr/3"


def test_the_last_address_that_is_printed_counts_whatever_is_printed_around_it(ask):
    bytes_around = "import sys; sys.stdout.buffer.write(b'\\xff http://a/1\\nhttps://example.com/pr/2 \\xff\\n')"

    assert ask(bytes_around) == ("https://example.com/pr/2", f"pull request for {BRANCH}")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("raise SystemExit(3)", "plugins.git.pr_command ended with 3"),
        ("print('https://example.com/pr/1'); raise SystemExit(1)", "plugins.git.pr_command ended with 1"),
        ("print('done')", "plugins.git.pr_command printed no address"),
    ],
)
def test_what_fails_is_said_and_tried_again_by_the_next_push(ask, script, why):
    assert ask(script) == (LINK, f"the pull request was not opened ({why}); open it by hand: {BY_HAND}")
    assert ask("print('https://example.com/pr/2')")[0] == "https://example.com/pr/2"


def test_a_command_that_is_not_there_is_named(ask):
    url, note = ask(command=("no-such-program",))

    assert url == LINK
    assert "`no-such-program` is not installed" in note
