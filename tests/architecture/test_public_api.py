"""The package's door: every public name, for people, for type checkers and for tools alike."""

from __future__ import annotations

import ast

import pytest

import agentm_kernel


def names_for_type_checkers(source: str) -> dict[str, set[str]]:
    """What the `if TYPE_CHECKING` block imports, by module; only `name as name` is a re-export for a checker."""
    blocks = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    found: dict[str, set[str]] = {}
    for statement in (part for block in blocks for part in block.body if isinstance(part, ast.ImportFrom)):
        exported = {alias.name for alias in statement.names if alias.asname == alias.name}
        found.setdefault(statement.module or "", set()).update(exported)
    return found


def test_type_checkers_see_exactly_the_names_that_load_lazily(shipped_files):
    source = shipped_files["agentm_kernel"].read_text(encoding="utf-8")

    homes = {f"agentm_kernel.{home}": set(names) for home, names in agentm_kernel._HOMES.items()}

    assert names_for_type_checkers(source) == homes


@pytest.mark.parametrize("name", agentm_kernel.__all__)
def test_every_public_name_can_be_had(name):
    home = agentm_kernel._HOME_OF[name]

    assert getattr(agentm_kernel, name) is getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)


def test_every_public_name_has_one_home():
    names = [name for names in agentm_kernel._HOMES.values() for name in names]

    assert sorted(names) == sorted(set(names)) == agentm_kernel.__all__


def test_a_home_lists_its_names_in_order():
    assert {home: names for home, names in agentm_kernel._HOMES.items() if [*names] != sorted(names)} == {}


def test_public_names_are_listed_for_people_who_look():
    assert {*agentm_kernel.__all__, "__version__"} <= {*dir(agentm_kernel)}


def test_the_older_name_of_the_mutex_is_the_same_function():
    assert agentm_kernel.vault_mutex is agentm_kernel.store_mutex


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = agentm_kernel.nothing
