"""Where documents end that may be read, what a block says in its parts, and what is asked before anything happens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel.plugin import Locator, Opening
from agentm_storage_policy.gate import AccessRules
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
