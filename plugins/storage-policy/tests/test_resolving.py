"""References: three forms, never out of where they may lead, never in circles, and nothing in place of a target."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys

import pytest

from agentm_kernel.plugin import StorageRefUnresolvableError
from agentm_storage_policy.errors import RefUnresolvableError, StoragePolicyError
from agentm_storage_policy.handle import load_storage

BLOCK = "provider: dev-local\nconfig: {root: /srv/dev}\n"
WORKSPACE = """
schema: workspace/v1
id: "@acme/handbook"
version: 1.0.0
name: Handbook
owner: {{type: org, id: org-1, slug: acme}}
storage: {{{storage}}}
{more}
"""


def workspace(desk, storage, more=""):
    return desk.write("WORKSPACE.md", WORKSPACE.format(storage=storage, more=more))


def resolve(desk, path):
    return load_storage(path).resolve(desk.device, desk.options, desk.opening)


def refusal(desk, path) -> RefUnresolvableError:
    with pytest.raises(StorageRefUnresolvableError) as caught:
        resolve(desk, path)
    assert caught.value.code == "storage_ref_unresolvable"
    assert isinstance(caught.value, RefUnresolvableError)
    return caught.value


@pytest.mark.rule(8, "accepted")
@pytest.mark.parametrize("reference", ["ref: ./storage/main.STORAGE.md", "file: ./storage/main.STORAGE.md"])
def test_a_path_in_the_workspace(desk, reference):
    desk.write("storage/main.STORAGE.md", BLOCK)
    resolved = resolve(desk, workspace(desk, reference))
    assert resolved.definition.provider == "dev-local"
    assert resolved.place.root == str(desk.root)


def test_a_path_is_relative_to_the_workspace_wherever_the_document_lies(desk):
    workspace(desk, "ref: ./storage/one.STORAGE.md")
    desk.write("storage/one.STORAGE.md", "ref: ./storage/two.STORAGE.md")
    desk.write("storage/two.STORAGE.md", BLOCK)
    assert resolve(desk, desk.root / "storage/one.STORAGE.md").definition.provider == "dev-local"


@pytest.mark.rule(7, "refused")
def test_a_target_that_is_not_there_is_refused_with_the_place_of_the_reference(desk):
    error = refusal(desk, workspace(desk, "ref: ./storage/missing.STORAGE.md"))
    (finding,) = error.findings
    assert (finding.line, finding.key) == (7, "storage.ref")
    assert finding.file.endswith("WORKSPACE.md")


@pytest.mark.rule(7, "refused")
def test_a_target_that_is_wrong_is_refused_for_what_is_wrong_with_it(desk):
    desk.write("bad.STORAGE.md", "provider: dev-local\nconfig: {root: relative}\n")
    with pytest.raises(StoragePolicyError, match=r"bad\.STORAGE\.md:3:16: config\.root"):
        resolve(desk, workspace(desk, "ref: ./bad.STORAGE.md"))


@pytest.mark.rule(8, "refused")
def test_links_do_not_lead_out_of_the_workspace(desk, tmp_path):
    desk.write("outside.STORAGE.md", BLOCK, folder=tmp_path)
    (desk.root / "inside.STORAGE.md").symlink_to(tmp_path / "outside.STORAGE.md")
    assert "leads out of the workspace" in refusal(desk, workspace(desk, "ref: ./inside.STORAGE.md")).message


def test_a_target_that_is_no_file_does_not_make_anybody_wait(desk):
    os.mkfifo(desk.root / "pipe.STORAGE.md")
    assert "regular file" in refusal(desk, workspace(desk, "ref: ./pipe.STORAGE.md")).message


def test_references_in_a_circle_are_named(desk):
    desk.write("a.STORAGE.md", "ref: ./b.STORAGE.md")
    desk.write("b.STORAGE.md", "ref: ./c.STORAGE.md")
    desk.write("c.STORAGE.md", "ref: ./a.STORAGE.md")
    error = refusal(desk, desk.root / "a.STORAGE.md")
    assert "a.STORAGE.md → b.STORAGE.md → c.STORAGE.md → a.STORAGE.md" in error.message
    desk.write("self.STORAGE.md", "ref: ./self.STORAGE.md")
    assert "circle" in refusal(desk, desk.root / "self.STORAGE.md").message


def test_eight_references_are_enough(desk):
    for number in range(9):
        desk.write(f"{number}.STORAGE.md", f"ref: ./{number + 1}.STORAGE.md")
    desk.write("9.STORAGE.md", BLOCK)
    assert resolve(desk, desk.root / "1.STORAGE.md").definition.provider == "dev-local"
    assert "more than 8" in refusal(desk, desk.root / "0.STORAGE.md").message


# ------------------------------------------------------------------------------------------------ the registry


@pytest.mark.rule(8, "accepted")
@pytest.mark.rule(13, "accepted")
def test_a_slug_is_looked_up_in_the_configuration_and_another_owner_is_recorded(desk, tmp_path):
    path = desk.write("s3.STORAGE.md", 'schema: storage/v1\nid: "@globex/s3"\nversion: 1.0.0\n' + BLOCK, tmp_path)
    desk.options["registry"] = {"@globex/s3": str(path)}
    resolved = resolve(desk, workspace(desk, 'ref: "@globex/s3"'))
    assert resolved.name == "@globex/s3"
    (entry,) = desk.audit()
    assert (entry["event"], entry["owner"]) == ("storage.ref.cross-owner", "globex")


def test_a_slug_of_the_same_owner_is_nothing_to_record(desk, tmp_path):
    desk.options["registry"] = {"@acme/s3": str(desk.write("s3.STORAGE.md", BLOCK, tmp_path))}
    resolve(desk, workspace(desk, 'ref: "@acme/s3"'))
    assert desk.audit() == []


@pytest.mark.rule(7, "refused")
def test_a_slug_that_is_not_registered_is_refused_with_the_command(desk):
    error = refusal(desk, workspace(desk, 'ref: "@acme/s3"'))
    assert "agentm config set plugins.policy.registry" in error.hint


@pytest.mark.rule(8, "refused")
def test_a_document_under_a_slug_has_that_id_or_none(desk, tmp_path):
    other = 'schema: storage/v1\nid: "@acme/other"\nversion: 1.0.0\n' + BLOCK
    desk.options["registry"] = {"@acme/s3": str(desk.write("s3.STORAGE.md", other, tmp_path))}
    assert "another id" in refusal(desk, workspace(desk, 'ref: "@acme/s3"')).message


# ------------------------------------------------------------------------------------------------ other workspaces


@pytest.fixture
def sibling(desk):
    folder = desk.root.parent / "shared"
    desk.write("team.STORAGE.md", BLOCK, folder)
    return folder


@pytest.mark.rule(13, "refused")
def test_another_workspace_is_not_read_without_leave_and_the_attempt_is_recorded(desk, sibling):
    error = refusal(desk, workspace(desk, "ref: ../shared/team.STORAGE.md"))
    assert f"agentm config set plugins.policy.shared '[\"{sibling}\"]'" in error.hint
    (entry,) = desk.audit()
    assert entry["event"] == "storage.ref.cross-workspace.denied"


def test_the_command_that_allows_another_workspace_keeps_those_that_are_shared(desk):
    folder = desk.root.parent / "our notes"
    desk.write("team.STORAGE.md", BLOCK, folder)
    desk.options["shared"] = ["/srv/shared by all"]
    hint = refusal(desk, workspace(desk, 'ref: "../our notes/team.STORAGE.md"')).hint
    command = shlex.split(hint.partition("`")[2].rpartition("`")[0])
    assert command[:4] == ["agentm", "config", "set", "plugins.policy.shared"]
    assert json.loads(command[4]) == ["/srv/shared by all", str(folder)]


@pytest.mark.rule(13, "accepted")
def test_a_shared_workspace_is_read_and_that_is_recorded(desk, sibling):
    desk.options["shared"] = [str(sibling)]
    assert resolve(desk, workspace(desk, "ref: ../shared/team.STORAGE.md")).place.root == str(sibling)
    (entry,) = desk.audit()
    assert entry["event"] == "storage.ref.cross-workspace"
    assert entry["decided_by"] == "plugins.policy.shared"


def test_a_hook_reads_a_shared_workspace_and_leaves_no_trace(desk, sibling):
    desk.options["shared"] = [str(sibling)]
    desk.read_only = True
    resolve(desk, workspace(desk, "ref: ../shared/team.STORAGE.md"))
    assert not desk.state.exists()


@pytest.mark.rule(8, "refused")
def test_a_sibling_that_is_a_link_elsewhere_is_refused(desk, tmp_path):
    desk.write("team.STORAGE.md", BLOCK, tmp_path / "private")
    (desk.root.parent / "shared").symlink_to(tmp_path / "private")
    assert "leads out" in refusal(desk, workspace(desk, "ref: ../shared/team.STORAGE.md")).message


ASK = """
import sys
from agentm_kernel.plugin import Device
from agentm_storage_policy import load_storage
resolved = load_storage(sys.argv[1]).resolve(Device({"HOME": "/", "XDG_STATE_HOME": sys.argv[2]}), {"user": "ana"})
print("resolved", resolved.definition.provider)
"""


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_on_a_terminal_the_operator_is_asked(desk, sibling, answer, code):
    path = workspace(desk, "ref: ../shared/team.STORAGE.md")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", ASK, str(path), str(desk.state.parent)],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
    )
    os.close(theirs)
    os.write(ours, answer)
    output, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == code
    assert (b"resolved dev-local" in output) == (code == 0)
    (entry,) = desk.audit()
    assert entry["decided_by"] == "operator"
    assert entry["event"].endswith("denied") == (code == 1)


# ------------------------------------------------------------------------------------------------ surroundings


@pytest.mark.rule(43, "accepted")
def test_what_a_workspace_says_holds_for_its_storage_unless_the_block_says_otherwise(desk):
    more = "identity: {ref: 'operator://bob'}\ndefaults: {read_only: true}\n"
    inline = "inline: {provider: dev-local, config: {root: /srv/dev}}"
    resolved = resolve(desk, workspace(desk, inline, more))
    assert [entry["ref"] for entry, _ in resolved.identity] == ["operator://bob"]
    assert resolved.read_only
    inline = "inline: {provider: dev-local, config: {root: /srv/dev}, read_only: false, identity: {ref: 'bot://ci'}}"
    resolved = resolve(desk, workspace(desk, inline, more))
    assert [entry["ref"] for entry, _ in resolved.identity] == ["bot://ci"]
    assert not resolved.read_only


def test_a_manifest_of_another_kind_may_say_what_it_likes_about_everything_else(desk):
    desk.write("main.STORAGE.md", BLOCK)
    path = desk.write("data.md", "schema: dataset/v1\ndefaults: none\nstorage: {ref: ./main.STORAGE.md}\n")
    assert resolve(desk, path).read_only is None


def test_a_workspace_file_in_a_folder_of_somebody_else_decides_nothing(desk, monkeypatch):
    desk.write("WORKSPACE.md", "x: y", folder=desk.root.parent)
    path = desk.write("STORAGE.md", BLOCK)
    assert resolve(desk, path).place.root == str(desk.root.parent)
    owners = {str(desk.root): 1000}
    monkeypatch.setattr("agentm_storage_policy.files._owner", lambda folder: owners.get(folder, 0))
    assert resolve(desk, path).place.root == str(desk.root)


def test_policies_of_block_and_workspace_add_up(desk):
    policy = "{schema: policy/v1, grants: []}"
    inline = f"inline: {{provider: dev-local, config: {{root: /srv/dev}}, policy: {policy}}}"
    resolved = resolve(desk, workspace(desk, inline, f"policy: [{policy}, {policy}]"))
    assert len(resolved.policies) == 3
