"""Where documents end that may be read, what a block says in its parts, and what is asked before anything happens."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import Locator, Opening, StorageReadOnlyError
from agentm_storage_policy import audit
from agentm_storage_policy.crossing import may_cross
from agentm_storage_policy.gate import AccessRules
from agentm_storage_policy.grants import COMMIT, PUSH, SWAP_PROVIDER, WRITE
from agentm_storage_policy.parse import examine_bytes
from agentm_storage_policy.reading.yaml_text import MAX_DEPTH, MAX_DIGITS, MAX_NODES, UnreadableYaml, read_yaml
from agentm_storage_policy.store import PolicyStore


def mappings(depth: int) -> str:
    """A value below so many keys, each in the mapping of the one before."""
    return "".join(f"{' ' * level}a:\n" for level in range(depth - 1)) + " " * (depth - 1) + "a: 1"


def test_mappings_may_be_as_deep_as_lists() -> None:
    assert read_yaml(mappings(MAX_DEPTH)).value
    with pytest.raises(UnreadableYaml) as told:
        read_yaml(mappings(MAX_DEPTH + 1))
    assert told.value.reason == "nested deeper than 32 levels"


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("[" + "1, " * (MAX_NODES - 1) + "]", True),
        ("[" + "1, " * MAX_NODES + "]", False),
        ("{" + ", ".join(f"k{n}: 1" for n in range(MAX_NODES // 2 - 1)) + "}", True),
        ("{" + ", ".join(f"k{n}: 1" for n in range(MAX_NODES // 2)) + "}", False),
        ("{a: &a [" + "1, " * 747 + "], b: *a}", True),
        ("{a: &a [" + "1, " * 748 + "], b: *a}", False),
    ],
    ids=["values", "one more", "keys", "one key more", "aliases", "aliases, one more"],
)
def test_values_keys_and_what_aliases_stand_for_are_counted(text: str, is_read: bool) -> None:
    if is_read:
        assert read_yaml(text).value
    else:
        with pytest.raises(UnreadableYaml, match="more than 1,500 values, with aliases written out"):
            read_yaml(text)


def test_a_number_has_at_most_eighteen_digits() -> None:
    assert MAX_DIGITS == 18
    assert read_yaml(f"a: {'9' * 18}").value == {"a": int("9" * 18)}
    with pytest.raises(UnreadableYaml, match="a number of more than 18 digits"):
        read_yaml(f"a: {'9' * 19}")


# ------------------------------------------------------------------------------------------------ parts of a block


def findings(text: str, file: str = "STORAGE.yaml") -> list[tuple[bool, str, str]]:
    _, found = examine_bytes(text.encode(), file, providers=())
    return [(one.is_error, one.key, one.message) for one in found]


BLOCK = "provider: dev-local\nconfig: {root: /srv/notes}\n"


def test_the_policies_of_a_block_are_looked_at_like_any_other() -> None:
    said = "what no grant mentions is allowed to everybody"
    for policy, key in (
        ("{schema: policy/v1, default: allow}", "policy.default"),
        ("[{schema: policy/v1, default: allow}]", "policy.0.default"),
    ):
        assert (False, key, said) in findings(f"{BLOCK}policy: {policy}\n")
    assert any(is_error for is_error, _, _ in findings(f"{BLOCK}policy: []\n")), "a list has at least one"


def test_an_event_that_never_happens_is_said_with_those_that_a_host_raises() -> None:
    text = "provider: github\nconfig: {owner: acme, repo: notes}\nsync: {push: {on: full-moon}}\n"
    _, (found,) = examine_bytes(text.encode(), "STORAGE.yaml", providers=())
    assert found.hint is not None
    assert found.hint.startswith("there are workspace-open, ")
    assert ", manual-persist, heartbeat, idle-N, conversation-idle-N, storage-pull-started, " in found.hint


@pytest.mark.parametrize(
    ("access", "is_warned"),
    [
        ("{}", True),
        ("{bind: []}", True),
        ("{bind: [{tool: agentm}]}", False),
        ("{reveal: [{tool: agentm}]}", False),
    ],
)
def test_a_secret_that_nobody_may_have_is_questionable(access: str, is_warned: bool) -> None:
    entry = f"{{slug: aa, name: A name, description: What for., access: {access}}}"
    found = findings(f"secrets:\n- {entry}\n", "SECRETS.yaml")
    said = [message for is_error, _, message in found if not is_error]
    assert found == [one for one in found if not one[0]], "it is questionable, and not refused"
    assert ("nobody may have this secret: access lists no one" in said) is is_warned


# ------------------------------------------------------------------------------------------------ before it happens


class Grants:
    """Grants that say yes, and remember what was asked and whether it counts."""

    def __init__(self, reason: str = "matched-grant") -> None:
        self.asked: list[tuple[str, bool]] = []
        self.reason = reason

    def decide(self, action: str, key: str | None = None, *, counted: bool = True) -> Any:
        self.asked.append((action, counted))
        return SimpleNamespace(reason=self.reason, allowed=True, action=action)


def test_whoever_deletes_is_asked_once_for_the_act_and_before_for_nothing(tmp_path: Any) -> None:
    grants: Any = Grants()
    rules = AccessRules("p", False, grants, Opening(state_dir=str(tmp_path)))
    try:
        rules.require_delete(Locator("a.md"))
    finally:
        assert grants.asked[0][1] is False
        assert grants.asked[1][1] is True
    grants.asked.clear()
    rules.require_delete(Locator("a.md"), counted=False)
    assert [counted for _, counted in grants.asked] == [False, False]


@pytest.mark.parametrize("verb", ["write", "delete"])
def test_what_is_refused_has_not_begun(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    driver: Any = SimpleNamespace(before_write=lambda: begun.append("pulled"))
    rules: Any = SimpleNamespace()
    store = PolicyStore(MemoryBackend(), rules, driver, ())

    def refuses(locator: Locator, **_: Any) -> None:
        raise PermissionError("refused")

    monkeypatch.setattr(store, f"_require_{verb}", refuses)
    act: Any = (
        (lambda: store.write(Locator("a.md"), "x")) if verb == "write" else (lambda: store.delete(Locator("a")))
    )
    with pytest.raises(PermissionError):
        act()
    assert begun == []


# ------------------------------------------------------------------------------------------------ asking, recording


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def host(tmp_path: Path) -> Any:
    opening = Opening(state_dir=str(tmp_path))
    return SimpleNamespace(shared=("/shared",), opening=opening, actor=SimpleNamespace(user="ana"))


def recorded(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("answer", "is_allowed"),
    [("y\n", True), (" YES \n", True), ("n\n", False), ("\n", False), ("", False), ("yesterday\n", False)],
)
def test_only_yes_lets_a_policy_read_in_another_workspace(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_allowed: bool
) -> None:
    said = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", said)
    assert may_cross(host, "/a/mine", "/b/theirs\x07", "./x.md") is is_allowed
    asked = said.getvalue()
    assert asked == "The policy of 'mine' refers to another workspace: /b/theirs\ufffd\nAllow it? [y/N] "
    (line,) = recorded(tmp_path)
    assert line["event"] == f"storage.ref.cross-workspace{'' if is_allowed else '.denied'}"
    assert (line["actor"], line["decided_by"]) == ("ana", "operator")


def test_nobody_is_asked_who_is_not_there_or_only_reads_or_has_said_so_before(
    host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stdin, stderr in ((io.StringIO("y\n"), Terminal()), (Terminal("y\n"), io.StringIO())):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        assert not may_cross(host, "/a", "/b", "./x.md")
        assert stderr.getvalue() == ""
    assert may_cross(host, "/a", "/shared", "./x.md")
    assert recorded(tmp_path)[-1]["decided_by"] == "plugins.policy.shared"
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    host.opening = Opening(state_dir=str(tmp_path), read_only=True)
    assert not may_cross(host, "/a", "/b", "./x.md")


def test_the_audit_log_is_private_readable_and_says_it_even_of_half_a_letter(host: Any, tmp_path: Path) -> None:
    audit.record(host.opening, "x", {"name": "é", "half": "\ud800", "path": Path("/a")})
    text = (tmp_path / "audit.jsonl").read_bytes()
    assert b'"name": "\xc3\xa9"' in text
    assert b'"half": "\\ud800"' in text
    assert b'"path": "/a"' in text
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600
    reading = Opening(state_dir=str(tmp_path / "none"), read_only=True)
    audit.record(reading, "y", {})
    assert not (tmp_path / "none").exists()
    audit.record(reading, "y", {}, always=True)
    assert (tmp_path / "none" / "audit.jsonl").exists()


def test_without_a_policy_only_the_change_of_a_store_is_recorded(tmp_path: Path) -> None:
    rules = AccessRules("p", False, None, Opening(state_dir=str(tmp_path)))
    rules.require(WRITE, Locator("a.md"))
    rules.require_step(PUSH)
    assert not (tmp_path / "audit.jsonl").exists()
    rules.require_step(SWAP_PROVIDER)
    (line,) = recorded(tmp_path)
    assert (line["allowed"], line["reason"], line["action"], line["storage"]) == (
        True,
        "no-policy",
        SWAP_PROVIDER,
        "p",
    )


@pytest.mark.parametrize(("action", "is_refused"), [(PUSH, True), (COMMIT, True), (SWAP_PROVIDER, False)])
def test_what_is_read_only_sends_nothing_and_may_be_left(tmp_path: Path, action: str, is_refused: bool) -> None:
    rules = AccessRules("p", True, None, Opening(state_dir=str(tmp_path)))
    if is_refused:
        with pytest.raises(StorageReadOnlyError, match="nothing was sent: the policy p declares the store read-only"):
            rules.require_step(action)
    else:
        rules.require_step(action)
