"""A policy as an object: checked at once, opened when asked, never changed, and catalogued."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from types import MappingProxyType

import pytest

import agentm_storage_policy
from agentm_kernel import Locator
from agentm_kernel.plugin import ProtocolError, StorageRefUnresolvableError
from agentm_storage_policy import HandleRegistry, StoragePolicyError, define_storage, load_storage
from agentm_storage_policy.errors import CODES, StorageConfigInvalidError

BLOCK = {"provider": "github", "config": {"repo": "acme/notes"}}


@pytest.mark.rule(17, "accepted")
def test_defaults_and_aliases_are_settled_when_the_block_is_read():
    definition = define_storage(BLOCK).definition
    assert definition.config == {"owner": "acme", "repo": "notes", "branch": "main"}
    assert definition.sync.mode == "pull-push"
    assert (definition.sync.pull_on, definition.sync.commit_on) == ("workspace-open", "turn-end")
    assert (definition.sync.push_on, definition.sync.conflict_policy) == ("conversation-end", "rebase")
    assert definition.exclude == ()
    assert definition.read_only is None
    folder = define_storage({"provider": "local-fs", "config": {"path": "/srv/notes"}}).definition
    assert folder.config == {"mount_path": "/srv/notes"}
    assert (folder.sync.mode, folder.sync.conflict_policy, folder.sync.commit_on) == ("watch", "abort", None)


def test_a_definition_may_be_any_kind_of_mapping():
    block = MappingProxyType(
        {"provider": "dev-local", "config": MappingProxyType({"root": "/srv/x"}), "exclude": ("a",)}
    )
    assert define_storage(block).definition.exclude == ("a",)
    assert define_storage({"inline": block}).definition.provider == "dev-local"


@pytest.mark.rule(17, "refused")
@pytest.mark.parametrize(
    "definition",
    [
        {},
        {"provider": "dev-local"},
        {"provider": "dev-local", "config": {"root": "/srv/x"}, "readOnly": True},
        {"provider": "dev-local", "config": {"root": b"/srv/x"}},
        {"provider": "dev-local", "config": {"root": "/srv/x"}, 5: 6},
        {"inline": dict(BLOCK), "ref": "./x.md"},
        "provider: github",
    ],
)
def test_a_definition_that_breaks_a_rule_is_refused(definition):
    with pytest.raises(StorageConfigInvalidError) as caught:
        define_storage(definition)
    assert caught.value.message.startswith("<definition>:1:1")


@pytest.mark.rule(2, "refused")
def test_a_program_may_not_pass_a_secret_either():
    secret = "ghp_" + "a1B2" * 9
    for place in ({"note": f"use {secret}"}, {"api_key": secret}, {"list": [secret]}):
        with pytest.raises(StorageConfigInvalidError) as caught:
            define_storage({**BLOCK, "metadata": place})
        assert secret not in f"{caught.value} {caught.value.hint}"


def test_a_handle_is_immutable_and_says_what_is_questionable(desk):
    handle = desk.policy("schema: storage/v1\nprovider: dev-local\nconfig: {path: /srv/x}\n")
    with pytest.raises(AttributeError):
        handle.root = "/"
    assert [warning.key for warning in handle.warnings] == ["schema", "config.path"]
    assert handle.name.endswith("STORAGE.md")


def test_a_reference_has_no_definition_until_it_is_resolved(desk):
    desk.write("main.STORAGE.md", "provider: dev-local\nconfig: {root: /srv/x}\n")
    handle = define_storage({"ref": "./main.STORAGE.md"}, root=str(desk.root))
    assert handle.definition is None
    assert handle.resolve(desk.device, desk.options).definition.provider == "dev-local"


def test_a_document_that_is_not_there_is_unresolvable(tmp_path):
    with pytest.raises(StorageRefUnresolvableError, match="no such file"):
        load_storage(tmp_path / "STORAGE.md")
    with pytest.raises(StorageRefUnresolvableError, match="regular file"):
        load_storage(tmp_path)


def test_plain_yaml_files_are_read_too(tmp_path):
    path = tmp_path / "storage.yaml"
    path.write_text("provider: dev-local\nconfig: {root: /srv/x}\n")
    assert load_storage(path).definition.provider == "dev-local"


def test_an_error_can_be_pickled_with_its_findings():
    with pytest.raises(StoragePolicyError) as caught:
        define_storage({"provider": "nobody", "config": {}})
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert copy.findings == caught.value.findings


@pytest.mark.rule(24, "accepted")
def test_the_nine_codes_are_types():
    assert set(CODES) == {
        "storage_provider_unknown",
        "storage_config_invalid",
        "storage_auth_unresolvable",
        "storage_pull_failed",
        "storage_commit_failed",
        "storage_push_failed",
        "storage_conflict",
        "storage_read_only",
        "storage_ref_unresolvable",
    }
    assert all(kind.code == code for code, kind in CODES.items())


# ------------------------------------------------------------------------------------------------ watching


def test_a_handle_is_watched_by_a_host_that_lives_long(desk):
    notes = desk.home / "notes"
    notes.mkdir()
    handle = define_storage({"provider": "local-fs", "config": {"mount_path": str(notes)}})
    stop, seen, told = threading.Event(), threading.Event(), []

    def listen():
        for changes in handle.watch(stop, device=desk.device, options=desk.options):
            told.extend(change.locator for change in changes)
            seen.set()

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        for number in range(100):
            (notes / "plan.md").write_text(f"{number}\n")
            if seen.wait(0.3):
                break
    finally:
        stop.set()
        listener.join(timeout=20)
    assert Locator("plan.md") in told


def test_what_is_not_watched_cannot_be_watched(desk):
    handle = define_storage({"provider": "dev-local", "config": {"root": str(desk.home / "x")}})
    with pytest.raises(StorageConfigInvalidError, match="mode canonical"):
        handle.watch(device=desk.device, options=desk.options)


# ------------------------------------------------------------------------------------------------ the catalogue


@pytest.mark.rule(25, "accepted")
def test_a_registry_keeps_handles_in_their_order_by_id_or_provider(desk):
    registry = HandleRegistry()
    named = desk.policy(
        'schema: storage/v1\nid: "@acme/x"\nversion: 1.0.0\nprovider: dev-local\nconfig: {root: /x}\n'
    )
    plain = define_storage(BLOCK)
    reference = define_storage({"ref": "./elsewhere.md"})
    for handle in (named, plain, reference):
        registry.register(handle)
    assert registry.list() == (named, plain, reference)
    assert registry.get("@acme/x") is named
    assert registry.get("github") is plain
    assert registry.get("dev-local") is None
    assert registry.lookup(lambda handle: handle.definition is None) == (reference,)


@pytest.mark.rule(25, "refused")
def test_a_key_that_is_taken_is_never_replaced():
    registry = HandleRegistry()
    registry.register(define_storage(BLOCK))
    with pytest.raises(ProtocolError, match="github"):
        registry.register(define_storage(BLOCK))
    registry.unregister("github")
    registry.register(define_storage(BLOCK))


# ------------------------------------------------------------------------------------------------ what it costs


def test_every_public_name_can_be_had():
    for name in agentm_storage_policy.__all__:
        assert getattr(agentm_storage_policy, name)
    with pytest.raises(AttributeError):
        _ = agentm_storage_policy.nothing


HEAVY = ("pydantic", "ruamel", "pathspec", "re", "json", "typing", "dataclasses", "pathlib", "logging", "click")
OPEN = """
import sys
from agentm_kernel.plugin import Device, Opening
from agentm_storage_policy.store import PolicyStore
opening = Opening(read_only=sys.argv[4] == "hook", state_dir=sys.argv[3])
PolicyStore.create({"path": sys.argv[1], "user": "ana"}, Device({"HOME": sys.argv[2]}), opening)
print(" ".join(sorted(sys.modules)))
"""


def test_a_hook_that_finds_its_policy_compiled_loads_nothing_heavy(desk):
    policy = (
        f"provider: dev-local\nconfig: {{root: {desk.home}/x}}\nexclude: [a]\n"
        "policy: {schema: policy/v1, grants: [{principal: '*', actions: [{action: 'storage:*'}]}]}\n"
    )
    path = desk.write("STORAGE.md", policy)
    loaded = {}
    for who in ("hook", "writer", "hook"):
        command = [sys.executable, "-S", "-c", OPEN, str(path), str(desk.home), str(desk.state), who]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment(), timeout=60)
        loaded[who] = set(done.stdout.split())
    assert loaded["hook"].intersection(HEAVY) == set()
    assert "pydantic" in loaded["writer"]


def _environment():
    return {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}
