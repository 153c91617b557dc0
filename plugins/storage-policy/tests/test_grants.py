"""Grants: denied unless allowed, by every policy at once, and each answer with its reason."""

from __future__ import annotations

import json

import pytest

from agentm_kernel import select_backend
from agentm_kernel.plugin import BackendLayer, DeviceFiles, StorageReadOnlyError
from agentm_storage_policy.actions import ASKED
from agentm_storage_policy.errors import StorageDeniedError
from agentm_storage_policy.gate import PolicyGate
from agentm_storage_policy.grants import COMMIT, PUSH, READ, WRITE, Grants, Policy
from agentm_storage_policy.host import Actor
from agentm_storage_policy.limits import RateLimits

ANA = Actor(
    "ana", operator="bob", roles=("editor",), groups=("docs", "@acme/groups/writers"), email="ana@example.com"
)
NOON = 1_780_315_200.0  # a Monday, 12:00 UTC


def grants(*policies, actor=ANA, now=NOON, **options):
    found = [Policy(f"policy-{number}", {"schema": "policy/v1", **data}) for number, data in enumerate(policies)]
    return Grants(found, actor, now=lambda: now, **options)


def grant(principal="*", action="storage:*", **more):
    return {"principal": principal, "actions": [{"action": action}], **more}


def decide(policy, action=READ, key=None, **options):
    decision = grants(policy, **options).decide(action, key)
    return decision.allowed, decision.reason


@pytest.mark.rule(45, "refused")
@pytest.mark.parametrize("action", ASKED)
def test_what_no_grant_mentions_is_denied(action):
    assert decide({}, action) == (False, "no-grant")
    assert decide({"grants": []}, action) == (False, "no-grant")
    assert decide({"grants": [grant(action="sandbox:execute")]}, action) == (False, "no-grant")


@pytest.mark.rule(45, "accepted")
def test_grants_add_up_over_policies():
    both = grants({"grants": [grant(action=READ)]}, {"grants": [grant(action=WRITE)]})
    assert both.decide(READ).allowed
    assert both.decide(WRITE).allowed
    assert both.decide(WRITE).grant == "policy-1: grants.0"
    assert both.decide(WRITE).policies == ("policy-0", "policy-1")


@pytest.mark.rule(45, "refused")
def test_one_policy_that_denies_by_default_is_enough():
    assert grants({"default": "allow"}, {"default": "allow"}).decide(READ).allowed
    assert not grants({"default": "allow"}, {"default": "deny"}).decide(READ).allowed
    assert not grants({"default": "allow"}, {}).decide(READ).allowed


@pytest.mark.rule(45, "refused")
def test_requirements_of_all_policies_hold(caplog):
    policy = {"grants": [grant()]}
    demanding = {"requirements": [{"kind": "mfa-recent", "applies_to": ["storage:push"]}]}
    both = grants(policy, demanding)
    assert both.decide(WRITE).allowed
    assert not both.decide(PUSH).allowed
    assert both.decide(PUSH).reason == "requirement-failed"
    assert "mfa-recent" in caplog.text
    everywhere = grants(policy, {"requirements": [{"kind": "signed-by"}]})
    assert not everywhere.decide(READ).allowed


@pytest.mark.parametrize(
    "principal",
    [
        "*",
        "user://ana",
        "user://current",
        "operator://bob",
        "operator://current",
        "role://editor",
        "group://docs",
        "@acme/groups/writers",
        {"ref": "user://ana"},
        {"name": "Anyone", "email": "ana@example.com"},
    ],
)
def test_principals_that_are_meant(principal):
    assert decide({"grants": [grant(principal)]}) == (True, "matched-grant")


@pytest.mark.parametrize(
    "principal",
    [
        "user://bob",
        "operator://ana",
        "role://owner",
        "group://writers-of-others",
        "org://acme",
        {"ref": "user://bob"},
        {"name": "ana", "email": "other@example.com"},
        {"file": "./nobody.md"},
        "**",
        "",
    ],
)
def test_principals_that_are_not(principal):
    assert decide({"grants": [grant(principal)]}) == (False, "no-grant")


def test_nobody_is_the_current_operator_where_none_is_configured():
    assert not grants({"grants": [grant("operator://current")]}, actor=Actor("ana")).decide(READ).allowed
    nameless = {"grants": [grant({"name": "x", "email": "ana@example.com"})]}
    assert not grants(nameless, actor=Actor("ana")).decide(READ).allowed


@pytest.mark.rule(46, "accepted")
@pytest.mark.rule(46, "refused")
def test_a_grant_ends_when_its_time_is_over():
    timed = grant(ttl_seconds=3600, granted_at="2026-06-01T11:30:00Z")
    assert decide({"grants": [timed]}, now=NOON) == (True, "matched-grant")
    assert decide({"grants": [timed]}, now=NOON + 1799) == (True, "matched-grant")
    assert decide({"grants": [timed]}, now=NOON + 1800) == (False, "ttl-expired")
    assert decide({"grants": [grant(ttl_seconds=3600)]}) == (False, "ttl-expired")
    elsewhere = grant(ttl_seconds=3600, granted_at="2026-06-01T13:30:00+02:00")
    assert decide({"grants": [elsewhere]}, now=NOON) == (True, "matched-grant")


@pytest.mark.rule(47, "accepted")
@pytest.mark.parametrize(
    ("condition", "now", "holds"),
    [
        ({"timezone": "UTC"}, NOON, True),
        ({"timezone": "UTC"}, NOON + 6 * 3600, False),
        ({"timezone": "UTC"}, NOON + 6 * 86400, False),
        ({"timezone": "Asia/Tokyo"}, NOON, False),
        ({"timezone": "UTC", "start": "13:00"}, NOON, False),
        ({"timezone": "UTC", "end": "23:00"}, NOON + 6 * 3600, True),
        ({"timezone": "UTC", "days": ["sun"]}, NOON + 6 * 86400, True),
        ({"timezone": "Mars/Olympus"}, NOON, False),
        ({"timezone": "../../etc/passwd"}, NOON, False),
        ({"start": "noon"}, NOON, False),
    ],
)
def test_business_hours(condition, now, holds, caplog):
    conditions = [{"kind": "during-business-hours", **condition}]
    answer = (True, "matched-grant") if holds else (False, "condition-failed")
    assert decide({"grants": [grant(conditions=conditions)]}, now=now) == answer
    is_strange = "/" in condition.get("timezone", "") and not condition["timezone"].startswith("Asia")
    assert ("cannot be understood" in caplog.text) == (is_strange or condition.get("start") == "noon")


@pytest.mark.rule(47, "refused")
def test_every_condition_has_to_hold_and_an_unknown_one_never_does(caplog):
    known = {"kind": "during-business-hours", "timezone": "UTC"}
    unknown = {"kind": "phase-of-the-moon"}
    assert decide({"grants": [grant(conditions=[known, unknown])]}) == (False, "condition-failed")
    assert "phase-of-the-moon" in caplog.text
    either = [grant(conditions=[unknown]), grant(conditions=[known])]
    assert decide({"grants": either}) == (True, "matched-grant")


@pytest.mark.rule(48, "accepted")
@pytest.mark.rule(48, "refused")
def test_wildcards_mean_what_begins_like_them():
    assert all(decide({"grants": [grant(action=any_)]}, action)[0] for any_ in ("*", "storage:*") for action in ASKED)
    assert decide({"grants": [grant(action="storage:com*")]}, COMMIT)[0]
    assert not decide({"grants": [grant(action="storage:com*")]}, READ)[0]
    assert not decide({"grants": [grant(action="secrets:*")]}, READ)[0]


@pytest.mark.rule(49, "accepted")
@pytest.mark.rule(49, "refused")
def test_actions_of_the_standard_library_are_known_by_both_of_its_names():
    for library in ("@agentik/actions-standard", "@agentik/actions/standard"):
        assert decide({"grants": [grant(action=f"{library}/storage-commit")]}, COMMIT)[0]
    assert not decide({"grants": [grant(action="@mallory/actions/storage-commit")]}, COMMIT)[0]
    assert not decide({"grants": [grant(action="storage:delete-files")]}, WRITE)[0]


def test_a_scope_narrows_a_grant_to_what_is_below_it():
    scoped = {"principal": "*", "actions": [{"action": "storage:*", "scope": "projects/acme/"}]}
    assert decide({"grants": [scoped]}, WRITE, "projects/acme/plan.md")[0]
    assert decide({"grants": [scoped]}, READ, "projects/acme")[0]
    assert not decide({"grants": [scoped]}, READ, "projects/acme-2/plan.md")[0]
    assert not decide({"grants": [scoped]}, READ, "")[0]
    assert not decide({"grants": [scoped]}, PUSH)[0], "a push is about everything"


@pytest.mark.rule(50, "accepted")
@pytest.mark.rule(50, "refused")
def test_every_answer_has_the_reason_that_says_most():
    assert decide({"grants": [grant(revoked=True)]}) == (False, "explicit-revoke")
    assert decide({"grants": [grant(revoked=True), grant(ttl_seconds=1)]}) == (False, "ttl-expired")
    assert decide({"grants": [grant(revoked=True), grant()]}) == (True, "matched-grant")
    limit = {"limits": [{"kind": "rate-tool-calls", "value": 1, "per": "hour"}], "grants": [grant()]}
    full = grants(limit, is_within_limit=lambda *_: False)
    assert (full.decide(WRITE).allowed, full.decide(WRITE).reason) == (False, "limit-exceeded")
    assert full.decide(READ).allowed, "reading leaves no trace, so it cannot be counted"
    assert full.decide(WRITE, counted=False).allowed


def test_a_revoked_grant_is_not_forgotten_where_everything_is_allowed_by_default():
    assert decide({"default": "allow", "grants": [grant(revoked=True)]}) == (False, "explicit-revoke")


def test_limits_are_counted_over_processes_and_slide(desk):
    moment = [NOON]
    first, second = (RateLimits(desk.opening, now=lambda: moment[0]) for _ in range(2))
    assert first.is_within("a", 2, "minute")
    assert second.is_within("a", 2, "minute")
    assert not first.is_within("a", 2, "minute")
    assert first.is_within("b", 2, "minute")
    moment[0] += 60
    assert first.is_within("a", 2, "minute")


# ------------------------------------------------------------------------------------------------ in a store

POLICY = "provider: recorder\nconfig: {{place: {place}}}\npolicy: {policy}\n"
READERS = "{schema: policy/v1, grants: [{principal: 'user://ana', actions: [{action: 'storage:read'}]}]}"


def test_a_store_with_a_policy_lets_in_whom_it_names(desk, recorders, note):
    store = desk.open(POLICY.format(place=desk.home / "store", policy=READERS))
    assert not store.exists(note)
    with pytest.raises(StorageDeniedError) as caught:
        store.write(note, "x\n")
    assert caught.value.decision.reason == "no-grant"
    assert "write" not in recorders[0][0].calls
    (entry,) = desk.audit()
    assert (entry["event"], entry["action"], entry["allowed"]) == ("storage.decision", "storage:write", False)


def test_nobody_else_reads_it_either(desk, recorders, note):
    desk.options["user"] = "mallory"
    store = desk.open(POLICY.format(place=desk.home / "store", policy=READERS))
    for verb in (
        store.read,
        store.list,
        store.exists,
        store.info,
        store.walk,
        store.foreign_entries,
        lambda note: store.facet(DeviceFiles).device_path(note),
    ):
        with pytest.raises(StorageDeniedError):
            verb(note)
    assert recorders[0][0].calls == []


def test_policies_in_files_and_of_the_registry_apply(desk, recorders, note, tmp_path):
    desk.write("team.POLICY.md", "schema: policy/v1\ngrants: [{principal: '*', actions: [{action: 'storage:*'}]}]")
    baseline = 'schema: policy/v1\nid: "@acme/baseline"\nversion: 1.0.0\nrequirements: [{kind: mfa-recent}]'
    desk.options["registry"] = {"@acme/baseline": str(desk.write("b.POLICY.md", baseline, tmp_path))}
    both = POLICY.format(place=desk.home / "store", policy="[{file: ./team.POLICY.md}, {ref: '@acme/baseline'}]")
    with pytest.raises(StorageDeniedError, match="requirement-failed"):
        desk.open(both).read(note)
    desk.write("nothing.POLICY.md", "schema: storage/v1")
    with pytest.raises(Exception, match="a POLICY.md is wanted"):
        desk.open(POLICY.format(place=desk.home / "store", policy="{file: ./nothing.POLICY.md}"))


def test_a_principal_may_be_a_file(desk, recorders, note):
    desk.write("ana.IDENTITY.md", "name: Ana\nemail: ana@example.com")
    desk.options["email"] = "ana@example.com"
    policy = (
        "{schema: policy/v1, grants: [{principal: {file: ./ana.IDENTITY.md}, actions: [{action: 'storage:read'}]}]}"
    )
    assert not desk.open(POLICY.format(place=desk.home / "store", policy=policy)).exists(note)


def test_a_selected_store_counts_each_write_once(desk, recorders, note):
    limit = (
        "limits: [{kind: rate-tool-calls, value: 3, per: hour}], grants: [{principal: '*', actions: [{action: '*'}]}]"
    )
    policy = POLICY.format(place=desk.home / "store", policy=f"{{schema: policy/v1, {limit}}}")
    config = desk.home / ".config" / "agentm" / ".agentm-config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"storage.policy": str(desk.write("STORAGE.md", policy))}))
    store = select_backend(environ=desk.environ)
    store.write(note, "1\n")  # and the store's identity before it, which is a write as well
    store.write(note, "2\n")
    with pytest.raises(StorageDeniedError, match="limit-exceeded"):
        store.write(note, "3\n")


def test_a_policy_may_make_stores_read_only_that_do_not_say(desk, recorders, note):
    policy = "{schema: policy/v1, default: allow, defaults: {storage: {read_only: true}}}"
    block = POLICY.format(place=desk.home / "store", policy=policy)
    with pytest.raises(StorageReadOnlyError):
        desk.open(block).write(note, "x\n")
    desk.open(f"{block}read_only: false\n").write(note, "x\n")


def test_every_verb_of_the_seam_is_behind_the_gate_or_harmless():
    harmless = {"capabilities", "check_usable", "describe", "resolve", "stamp_text", "tier_layout", "create", "inner"}
    harmless |= {
        "api_version",
        "scratch_options",
        "heavy_imports",
        "self_stamping",
        "size_limit",
        "check_reachable",
        "own_wrappers",
    }
    harmless |= {"facet", "passes", "changes"}  # what it hands out, `passes` and `wrap_facet` decide
    verbs = {name for name in dir(BackendLayer) if not name.startswith("_")} - harmless
    assert {name for name in verbs if getattr(PolicyGate, name) is getattr(BackendLayer, name)} == set()


def test_a_policy_that_cannot_be_had_is_never_skipped(desk, recorders):
    with pytest.raises(Exception, match="leads nowhere"):
        desk.open(POLICY.format(place=desk.home / "store", policy="{file: ./missing.POLICY.md}"))
