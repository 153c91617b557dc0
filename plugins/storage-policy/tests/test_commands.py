"""`agentm policy`: every finding with its place, what a policy means in sentences, and the schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).with_name("documents")
GOOD = (
    "---\nschema: storage/v1\nid: '@ana/desk'\nversion: 1.0.0\nprovider: local-fs\nconfig: {mount_path: %s}\n%s---\n"
)


@pytest.fixture
def policy(device):
    """A policy over a folder of the device, as the operator writes it."""

    def write(more="", folder="notes"):
        (device.home / folder).mkdir(exist_ok=True)
        path = device.home / "STORAGE.md"
        path.write_text(GOOD % (device.home / folder, more))
        return str(path)

    return write


# ------------------------------------------------------------------------------------------------ check


def test_check_says_ok_or_names_everything_that_is_wrong(device, policy):
    assert device.agentm("policy", "check", policy()).stdout == f"{policy()}: ok\n"
    path = policy("sync: {mode: canonical}\ncolour: blue\n")
    done = device.agentm("policy", "check", path, code=1)
    assert done.stdout.splitlines()[0] == f"{path}:7:14: sync.mode: must be watch: error [storage_config_invalid]"
    assert f"{path}:8:1: colour: there is no such field here: error [storage_config_invalid]" in done.stdout


def test_check_looks_at_many_files_and_fails_if_one_does(device):
    files = [str(DOCUMENTS / name) for name in ("17-accepted-standalone.md", "33-accepted-access.md")]
    assert device.agentm("policy", "check", *files).stdout.count(": ok\n") == 2
    assert device.agentm("policy", "check", *files, str(device.home / "missing.md"), code=1)
    unknown = str(DOCUMENTS / "09-refused-unknown.md")
    assert "storage_provider_unknown" in device.agentm("policy", "check", unknown, code=1).stdout


def test_check_answers_in_json(device):
    files = [
        str(DOCUMENTS / name)
        for name in ("28-accepted-an-event-that-nobody-raises.md", "05-refused-not-a-boolean.md")
    ]
    fields = json.loads(device.agentm("policy", "check", "--json", *files, code=1).stdout)
    assert fields["schema"] == 1
    assert [file["ok"] for file in fields["files"]] == [True, False]
    warning, error = (file["findings"][0] for file in fields["files"])
    assert (warning["severity"], warning["code"]) == ("warning", None)
    assert (error["severity"], error["code"]) == ("error", "storage_config_invalid")
    assert (error["key"], error["line"], error["column"]) == ("read_only", 4, 12)


def test_check_never_shows_a_secret(device):
    files = [str(file) for file in DOCUMENTS.glob("02-refused-*.md")]
    for option in ([], ["--json"]):
        done = device.agentm("policy", "check", *option, *files, code=1)
        for secret in ("kept-by-nobody", "correct-horse", "ghp_", "glpat-", "hunter22", "aB3aB3", "not-even"):
            assert secret not in done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------ explain, schema


def test_explain_says_what_will_happen(device, policy):
    more = "read_only: true\nsync: {conflict: {policy: split-conflicts}}\n"
    lines = device.agentm("policy", "explain", policy(more)).stdout.splitlines()
    assert lines[0] == f"Notes lie in the folder {device.home}/notes, which other programs may edit."
    assert any("read-only" in line for line in lines)
    assert any("the other one beside the note" in line for line in lines)
    assert any("No access policy applies" in line for line in lines)


EXPLAINED = {
    "16-accepted-every-trigger.md": [
        "a clone of the GitHub repository acme/notes, branch main",
        "Pulled at turn-start, unless that was done in the last 60 s",
        "Committed after writes, gathered for 5 s.",
        "Pushed at conversation-end, to a branch per-conversation, with a pull request.",
    ],
    "23-accepted-commit-by-hand.md": ["only when you say so (`agentm event manual`)"],
    "02-accepted-names-of-secrets.md": [
        "the s3 bucket acme-notes at https://s3.example.com",
        "plugins.policy.endpoints",
        "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), if ./SECRETS.md allows it",
    ],
    "09-accepted-mastra-azure.md": ["the container c", "There is one copy"],
    "45-accepted-inline-in-a-block.md": ["As ana you may read, write, delete, commit, push, take"],
    "19-accepted-credentials-by-name.md": [
        "the environment (the secret acme/s3-rw), if .secrets/SECRETS.md allows it"
    ],
    "04-accepted-patterns.md": ["Not mirrored: .runs/"],
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explain_knows_every_provider_and_mode(device, name):
    text = device.agentm("policy", "explain", str(DOCUMENTS / name)).stdout
    for part in EXPLAINED[name]:
        assert part in text


def test_explain_names_what_you_may_not_do(device, policy):
    grants = "grants: [{principal: 'user://ana', actions: [{action: 'storage:read'}]}]"
    text = device.agentm("policy", "explain", policy(f"policy: {{schema: policy/v1, {grants}}}\n")).stdout
    assert "As ana you may read." in text
    assert "You may not write (no-grant), delete (no-grant), commit (no-grant), push (no-grant), " in text
    fields = json.loads(device.agentm("policy", "explain", "--json", policy()).stdout)
    assert fields["provider"] == "local-fs"


def test_explain_follows_references_and_refuses_what_cannot_be_followed(device):
    (device.home / "W.md").write_text("---\nstorage: {ref: ./STORAGE.md}\n---\n")
    done = device.agentm("policy", "explain", "W.md", code=1)
    assert "W.md:2:16: storage.ref: the reference leads nowhere" in done.stderr
    (device.home / "STORAGE.md").write_text(GOOD % ("/srv/notes", ""))
    assert "The storage block is in" in device.agentm("policy", "explain", "W.md").stdout


@pytest.mark.parametrize("kind", ["storage", "workspace", "policy", "secrets"])
def test_schema_is_printed_for_editors(device, kind):
    schema = json.loads(device.agentm("policy", "schema", "--kind", kind).stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(kind)
