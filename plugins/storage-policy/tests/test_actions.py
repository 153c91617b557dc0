"""Which actions a policy may name, what is said of those that nobody asks for, and what is written down."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

from agentm_kernel.errors import StorageIOError, StorageSelectionError
from agentm_kernel.plugin import Opening
from agentm_storage_policy import audit
from agentm_storage_policy.actions import ASKED, plain_action, problem_of
from agentm_storage_policy.commands import _host
from agentm_storage_policy.compiled import Document
from agentm_storage_policy.endpoints import is_allowed
from agentm_storage_policy.errors import StorageAuthUnresolvableError, StorageConfigInvalidError
from agentm_storage_policy.explain import _branch, _when
from agentm_storage_policy.handle import check_auth
from agentm_storage_policy.store import PolicyStore

REFUSED, THEIRS = True, False


@pytest.mark.parametrize(
    "action", [*ASKED, "*", "storage:*", "storage:wr*", "@agentik/actions-standard/storage-read"]
)
def test_what_agentm_asks_for_is_a_rule(action):
    assert problem_of(action) is None


@pytest.mark.parametrize(
    ("action", "is_refused", "said"),
    [
        ("storage:fly", REFUSED, "there is no such action"),
        ("fly", REFUSED, "there is no such action"),
        ("storage:x*", REFUSED, "no action begins like that"),
        ("sto-x*", REFUSED, "no action begins like that"),
        ("storage:swap-branch", THEIRS, "never asks for it"),
        ("mail:send", THEIRS, "another program's"),
        ("mail:*", THEIRS, "another program's"),
        ("@team/actions/send", THEIRS, "another program's"),
        ("@team/actions/*", THEIRS, "another program's"),
        ("./actions/*", THEIRS, "another program's"),
        ("../actions/send", THEIRS, "another program's"),
    ],
)
def test_what_nobody_asks_for_is_refused_or_another_programs(action, is_refused, said):
    found = problem_of(action)

    assert found is not None
    assert (found[0], said in found[1]) == (is_refused, True)


@pytest.mark.parametrize("library", ["@agentik/actions-standard/", "@agentik/actions/standard/"])
def test_an_action_of_the_standard_library_is_known_by_its_short_name(library):
    assert plain_action(f"{library}storage-delete-files") == "storage:delete-files"
    assert plain_action("@other/storage-read") == "@other/storage-read"


# ------------------------------------------------------------------------------------------------ explained


@pytest.mark.parametrize(
    ("event", "window", "said"),
    [
        ("manual", (), "only when you say so (`agentm event manual`)"),
        ("write", (), "after every write"),
        ("write", (0,), "after every write"),
        ("write", (2.5,), "after writes, gathered for 2.5 s"),
        ("turn-end", (), "at turn-end"),
    ],
)
def test_when_something_happens_is_said_in_words(event, window, said):
    assert _when(event, *window) == said


@pytest.mark.parametrize(
    ("branch", "requests", "said"),
    [
        ("main", "none", "its branch"),
        ("per-host", "auto", "a branch per-host, with a pull request"),
        ("per-conversation", "manual", "a branch per-conversation, and you are told how to open a pull request"),
    ],
)
def test_where_a_push_goes_is_said_in_words(branch, requests, said):
    assert _branch(SimpleNamespace(branch_policy=branch, pr_policy=requests)) == said


@pytest.mark.parametrize(("stdin", "stderr"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_command_leaves_traces_only_where_somebody_is_looking(tmp_path, monkeypatch, stdin, stderr):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: stdin))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: stderr))

    assert _host().opening.read_only is not (stdin and stderr)


# ------------------------------------------------------------------------------------------------ the audit log


def lowest_free_descriptor():
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def test_each_record_is_a_line_and_leaves_no_file_open(tmp_path):
    opening = Opening(state_dir=str(tmp_path / "state"))
    before = lowest_free_descriptor()

    for number in range(3):
        audit.record(opening, "secret.reveal", {"slug": "naïve", "number": number})

    lines = [json.loads(line) for line in (tmp_path / "state" / "audit.jsonl").read_text("utf-8").splitlines()]
    assert [(line["event"], line["slug"], line["number"]) for line in lines] == [
        ("secret.reveal", "naïve", number) for number in range(3)
    ]
    assert lowest_free_descriptor() == before


def test_a_process_that_leaves_no_trace_writes_only_what_has_to_be_known(tmp_path):
    opening = Opening(read_only=True, state_dir=str(tmp_path / "state"))

    audit.record(opening, "storage.read", {})
    assert not (tmp_path / "state").exists()
    audit.record(opening, "secret.reveal", {}, always=True)
    assert (tmp_path / "state" / "audit.jsonl").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_log_is_for_this_user_alone_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        audit.record(Opening(state_dir=str(tmp_path / "state")), "secret.reveal", {})
    finally:
        os.umask(before)

    assert (tmp_path / "state" / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_what_cannot_be_recorded_is_an_error_with_the_systems_reason(tmp_path):
    (tmp_path / "state" / "audit.jsonl").mkdir(parents=True)

    with pytest.raises(StorageIOError, match="cannot be written") as caught:
        audit.record(Opening(state_dir=str(tmp_path / "state")), "secret.reveal", {})
    assert caught.value.errno
    assert "what cannot be recorded is not done" in caught.value.hint


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize("path", ["/", "//", "/./", "C:\\", "c:/"])
def test_the_root_of_a_file_system_is_no_store(defined, path):
    with pytest.raises(StorageConfigInvalidError, match="must not be the root of a file system"):
        defined({"provider": "dev-local", "config": {"root": path}})


@pytest.mark.parametrize("path", ["/srv/../etc", "/notes/..", "C:\\notes\\..\\b"])
def test_a_store_does_not_lead_upwards(defined, path):
    with pytest.raises(StorageConfigInvalidError, match="must not lead upwards"):
        defined({"provider": "dev-local", "config": {"root": path}})


@pytest.mark.parametrize("path", ["/srv/notes", "C:\\notes"])
def test_a_folder_is_a_store(defined, path):
    assert defined({"provider": "dev-local", "config": {"root": path}}).definition.config["root"] == path


@pytest.mark.parametrize(
    ("endpoint", "is_it"),
    [
        ("https://s3.example.com", True),
        ("https://deep.s3.example.com:9000/path", True),
        ("https://example.com", False),
        ("https://.example.com", False),
        ("https://s3.example.com.evil.org", False),
        ("https://evilexample.com", False),
    ],
)
def test_a_star_stands_for_hosts_below_a_name_and_not_for_the_name(endpoint, is_it):
    assert is_allowed(endpoint, ["*.example.com"]) is is_it


# ------------------------------------------------------------------------------------------------ what is missing


@pytest.mark.parametrize("options", [{}, {"path": ""}, {"path": 7}])
def test_a_policy_that_is_not_named_is_asked_for(desk, options):
    with pytest.raises(StorageSelectionError, match="no policy is named") as caught:
        PolicyStore.create(options, desk.device, desk.opening)
    assert "agentm config set storage.policy PATH" in caught.value.hint


@pytest.mark.parametrize(("auth", "is_good"), [({}, False), ({"auth": {"ref": "./SECRETS.md"}}, True)])
def test_a_bucket_without_credentials_is_named_by_its_key(auth, is_good):
    block = {"provider": "mastra-s3", "config": {"bucket": "b"}, **auth}
    document = Document("storage", block, {}, (), "STORAGE.md")
    if is_good:
        check_auth(document)
    else:
        with pytest.raises(StorageAuthUnresolvableError, match="auth: is missing"):
            check_auth(document)
