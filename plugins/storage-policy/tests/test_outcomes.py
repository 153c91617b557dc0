"""What a policy refuses is an outcome: its code, its reason and what to do reach whoever asked."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from agentm_kernel import select_backend
from agentm_kernel.plugin import SWAP_PROVIDER, AuthorizationError, StorageSelectionError

READER = """policy:
  schema: policy/v1
  grants: [{principal: '*', actions: [{action: 'storage:read'}]}]
"""
MOVER = READER.replace("'storage:read'}", "'storage:read'}, {action: 'storage:swap-provider'}")


@pytest.fixture
def team(device):
    """A device whose policy is a folder; `use` writes the policy anew."""
    (device.home / "notes").mkdir()
    path = device.home / "STORAGE.md"

    def use(more: str = "", block: str | None = None) -> None:
        folder = f"provider: dev-local\nconfig: {{root: '{device.home}/notes'}}\n"
        path.write_text(f"---\n{block or folder}{more}---\n")

    use()
    device.agentm("config", "set", "storage.policy", str(path))
    device.agentm("policy", "init")
    (device.home / "notes" / "plan.md").write_text("a plan\n")
    device.use = use
    return device


def decisions(device) -> list[dict]:
    log = device.home / ".local/state/agentm/audit.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(line["action"], line["allowed"]) for line in lines if line["event"] == "storage.decision"]


# ------------------------------------------------------------------------------------------------ another store


@pytest.mark.parametrize(
    "command",
    [
        ["migrate", "--to", "device-local", "--yes"],
        ["migrate", "--to", "device-local", "--dry-run"],
        ["config", "set", "storage.backend", "device-local"],
        ["config", "unset", "storage.policy"],
        ["config", "set", "storage.policy", "/elsewhere/STORAGE.md"],
        ["config", "unset", "storage"],
        ["export", "okf", "elsewhere"],
        ["view", "--export", "elsewhere"],
        ["checkpoint", "push"],
        ["checkpoint", "create", "--ipfs"],
    ],
    ids=lambda words: " ".join(words),
)
def test_whoever_may_only_read_does_not_take_the_notes_elsewhere(team, command):
    team.agentm("checkpoint", "create")
    team.use(READER)
    before = (team.home / ".config/agentm/.agentm-config.json").read_bytes()
    done = team.agentm(*command, code=1)
    assert "does not grant storage:swap-provider" in done.stderr
    assert (team.home / ".config/agentm/.agentm-config.json").read_bytes() == before
    assert not (team.home / ".agentm").exists()
    assert not (team.home / "elsewhere").exists()
    assert decisions(team) == [(SWAP_PROVIDER, False)]


@pytest.mark.parametrize(
    "command",
    [["set", "plugins.policy.path", "/elsewhere/STORAGE.md"], ["unset", "plugins.policy"], ["unset", "plugins"]],
    ids=" ".join,
)
def test_nor_by_naming_another_document_where_the_path_is_an_option(team, command):
    team.agentm("config", "unset", "storage.policy")
    team.agentm("config", "set", "plugins.policy.path", str(team.home / "STORAGE.md"))
    team.agentm("config", "set", "storage.backend", "policy")
    team.use(READER)
    done = team.agentm("config", *command, code=1)
    assert "does not grant storage:swap-provider" in done.stderr
    assert team.agentm("config", "get", "plugins.policy.path").stdout.strip() == str(team.home / "STORAGE.md")
    assert decisions(team)[-1] == (SWAP_PROVIDER, False)


@pytest.mark.parametrize(
    "command",
    [
        ["config", "set", "stores.team.path", "/elsewhere/STORAGE.md"],
        ["config", "set", "stores.team.backend", "device-local"],
        ["config", "unset", "stores.team"],
    ],
    ids=" ".join,
)
def test_a_further_store_is_not_exchanged_without_its_own_grant(team, command):
    team.agentm("config", "unset", "storage.policy")
    team.agentm("store", "add", "team", "policy", f"path={team.home / 'STORAGE.md'}")
    team.use(READER)
    done = team.agentm(*command, code=1)
    assert "does not grant storage:swap-provider" in done.stderr
    assert team.agentm("config", "get", "stores.team.path").stdout.strip() == str(team.home / "STORAGE.md")


def test_a_project_does_not_leave_its_store_without_the_grant(team):
    work = team.home / "widgets"
    work.mkdir()
    subprocess.run(["git", "init", "-q", work], check=True)
    save = ["save", "--kind", "decision", "--slug", "a-plan", "--cwd", str(work)]
    team.agentm(*save, stdin="We decided to write it down.\n")
    team.agentm("vault", "init", str(team.home / "vault"), "--create")
    team.agentm("store", "add", "mine", "vault", f"vault_path={team.home / 'vault'}")
    team.use(READER)
    done = team.agentm("project", "use-store", "mine", "--move", "--yes", "--cwd", str(work), code=1)
    assert "does not grant storage:swap-provider" in done.stderr
    assert not (team.home / "vault" / "projects").exists()
    assert "bindings" not in (team.home / ".config/agentm/.agentm-config.json").read_text()


def test_with_the_grant_the_notes_go_and_it_is_recorded(team):
    team.use(MOVER)
    team.agentm("migrate", "--to", "device-local", "--yes")
    assert (team.home / ".agentm/memory/plan.md").read_text() == "a plan\n"
    assert decisions(team) == [(SWAP_PROVIDER, True)]


def test_a_policy_without_grants_lets_go_and_records_it(team):
    team.agentm("config", "unset", "storage.policy")
    assert decisions(team) == [(SWAP_PROVIDER, True)]


def test_a_policy_that_is_broken_can_be_left(team):
    team.use(block="provider: nothing\n")
    team.agentm("config", "unset", "storage.policy")


def test_layers_pass_the_question_on(desk, recorders):
    store = desk.open(f"provider: recorder\nconfig: {{place: {desk.home}/store}}\n{READER}")
    with pytest.raises(AuthorizationError, match="storage:swap-provider"):
        store.check_allowed(SWAP_PROVIDER)


# ------------------------------------------------------------------------------------------------ deleting


def test_a_grant_to_delete_is_for_deleting_and_one_to_write_is_for_both(desk, recorders, note):
    def block(*actions):
        granted = ", ".join(f"{{action: 'storage:{action}'}}" for action in actions)
        policy = f"{{schema: policy/v1, grants: [{{principal: '*', actions: [{granted}]}}]}}"
        return f"provider: recorder\nconfig: {{place: {desk.home}/store}}\npolicy: {policy}\n"

    desk.open(block("write", "read")).write(note, "x\n")
    deleting = desk.open(block("delete-files"))
    with pytest.raises(AuthorizationError):
        deleting.write(note, "y\n")
    deleting.delete(note)
    writing = desk.open(block("write"))
    writing.write(note, "x\n")
    writing.delete(note)
    with pytest.raises(AuthorizationError):
        desk.open(block("read")).delete(note)


# ------------------------------------------------------------------------------------------------ codes


BROKEN = {
    "storage_provider_unknown": "provider: nothing\nconfig: {}\n",
    "storage_config_invalid": "provider: dev-local\nconfig: {}\n",
    "storage_ref_unresolvable": "ref: ./missing.md\n",
    "storage_auth_unresolvable": "provider: cloud-bucket\nconfig: {bucket: notes}\n",
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_refused_selection_carries_the_code_to_every_caller(team, code, monkeypatch):
    team.use(block=BROKEN[code])
    monkeypatch.setenv("HOME", str(team.home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(StorageSelectionError) as caught:
        select_backend()
    assert caught.value.code == code
    done = team.agentm("store", "show", "--json", code=1)
    answer = json.loads(done.stdout)
    assert (answer["code"], answer["schema"]) == (code, 1)
    assert done.stderr.splitlines()[0] == f"error: {answer['error']} [{code}]"
    assert done.stderr.splitlines()[1] == f"hint: {answer['hint']}"
    rows = json.loads(team.agentm("doctor", "--json", code=1).stdout)["rows"]
    assert [row["code"] for row in rows if row["check"] == "storage"] == [code]


def test_a_refused_save_says_so_in_json_too(team):
    team.use("read_only: true\n")
    note = ["save", "--kind", "decision", "--slug", "a-plan", "--project", "widgets", "--new-project", "--json"]
    done = team.agentm(*note, stdin="We decided to write it down.\n", code=1)
    answer = json.loads(done.stdout)
    assert (answer["code"], answer["saved"]) == ("storage_read_only", [])
    assert "read-only" in answer["error"]
    assert answer["hint"] == "writing needs read_only: false in the policy"
    assert done.stderr.startswith(f"error: {answer['error']} [storage_read_only]\n")


# ------------------------------------------------------------------------------------------------ hints


def test_what_a_hint_would_set_keeps_what_is_set(team):
    team.agentm("config", "set", "plugins.policy.endpoints", '["s3.example.org"]')
    bucket = "provider: self-bucket\nconfig: {kind: s3, bucket: notes, endpoint: 'https://minio.example.net'}\n"
    team.use(block=bucket)
    hint = team.agentm("store", "show", code=1).stderr.splitlines()[1]
    command = shlex.split(hint.partition("`")[2].partition("`")[0])
    team.agentm(*command[1:])
    allowed = json.loads(team.agentm("config", "get", "plugins.policy.endpoints").stdout)
    assert allowed == ["s3.example.org", "minio.example.net"]
    assert "auth: is missing" in team.agentm("store", "show", code=1).stderr


def test_a_hint_for_the_registry_keeps_its_entries(team):
    team.agentm("config", "set", "plugins.policy.registry", '{"@acme/other": "/srv/my notes/OTHER.md"}')
    team.use(block='ref: "@acme/notes"\n')
    hint = team.agentm("store", "show", code=1).stderr.splitlines()[1]
    command = shlex.split(hint.partition("`")[2].rpartition("`")[0])
    assert json.loads(command[-1]) == {"@acme/other": "/srv/my notes/OTHER.md", "@acme/notes": "/path/STORAGE.md"}


def test_a_hint_with_spaces_in_its_path_can_be_run_as_it_is(team):
    folder, document = team.home / "my notes", team.home / "my policy.md"
    folder.mkdir()
    (folder / "old.md").write_text("by hand\n")
    document.write_text(f"---\nprovider: dev-local\nconfig: {{root: '{folder}'}}\n---\n")
    team.agentm("config", "set", "storage.policy", str(document))
    hint = team.agentm("policy", "init", code=1).stderr.splitlines()[1]
    command = shlex.split(hint.partition("`")[2].partition("`")[0])
    assert str(folder) in team.agentm(*command[1:]).stdout
    document.write_text("---\nprovider: dev-local\nconfig: {root: relative}\ncolour: 5\n---\n")
    hint = team.agentm("store", "show", code=1).stderr.splitlines()[1]
    command = shlex.split(hint.partition("`")[2].partition("`")[0])
    assert "config.root" in team.agentm(*command[1:], code=1).stdout


@pytest.mark.parametrize("provider", ["cloud-bucket", "self-bucket", "mastra-s3", "mastra-azure"])
def test_a_bucket_without_auth_is_refused_for_that_although_its_variables_are_set(team, provider):
    team.agentm("config", "set", "plugins.policy.endpoints", '["s3.example.com"]')
    own = ", kind: s3, endpoint: 'https://s3.example.com'" if provider == "self-bucket" else ""
    name = "container" if provider == "mastra-azure" else "bucket"
    team.use(block=f"provider: {provider}\nconfig: {{{name}: notes{own}}}\n")
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AZURE_STORAGE_ACCOUNT_KEY": "c"}
    for command in (["policy", "check", "STORAGE.md"], ["notes", "list"]):
        done = team.agentm(*command, code=1, **keys)
        assert "auth: is missing" in done.stdout + done.stderr
        assert "AWS_ACCESS_KEY_ID" not in done.stdout + done.stderr


def test_check_says_that_a_bucket_has_no_credentials(device):
    (device.home / "STORAGE.md").write_text("---\nprovider: cloud-bucket\nconfig: {bucket: notes}\n---\n")
    done = device.agentm("policy", "check", "STORAGE.md", code=1)
    assert "auth: is missing" in done.stdout
    assert "[storage_auth_unresolvable]" in done.stdout


def test_a_field_in_camel_case_is_refused_with_its_spelling(device):
    (device.home / "STORAGE.md").write_text(
        "---\nprovider: github\nconfig: {repo: acme/notes}\nreadOnly: true\nsync: {commitMode: batched}\n---\n"
    )
    said = device.agentm("policy", "check", "STORAGE.md", code=1).stdout
    assert "hint: fields are written with underscores: read_only" in said
    assert "hint: it is written commit.on" in said
