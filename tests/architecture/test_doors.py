"""The three doors: every public name, for people, for type checkers and for tools alike."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agentm_kernel
from agentm_kernel import command, plugin

DOORS = (agentm_kernel, plugin, command)
CASES = [(door, home, name) for door in DOORS for name, home in door._HOMES.items()]
TYPES_ONLY = {"Beside", "Opener"}
"""Names of types that exist for type checkers alone."""


def names_for_type_checkers(path: Path) -> dict[str, set[str]]:
    """What the stub, or else the `if TYPE_CHECKING` block, imports, by module; only `name as name` is a re-export."""
    stub = path.with_suffix(".pyi")
    body = ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8")).body
    blocks = [
        node.body
        for node in body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    found: dict[str, set[str]] = {}
    for statement in (part for block in blocks or [body] for part in block if isinstance(part, ast.ImportFrom)):
        exported = {alias.name for alias in statement.names if alias.asname == alias.name}
        if exported - TYPES_ONLY:
            found.setdefault(statement.module or "", set()).update(exported - TYPES_ONLY)
    return found


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_type_checkers_see_exactly_the_names_that_load_lazily(door, shipped_files):
    seen = names_for_type_checkers(shipped_files[door.__name__])

    assert {name: module for module, names in seen.items() for name in names} == {
        name: f"agentm_kernel.{home}" for name, home in door._HOMES.items()
    }


@pytest.mark.parametrize(("door", "home", "name"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_every_public_name_can_be_had(door, home, name):
    assert getattr(door, name) is getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_public_name_has_one_home_and_is_listed_for_people_who_look(door, shipped_files):
    seen = names_for_type_checkers(shipped_files[door.__name__])

    assert sorted(name for names in seen.values() for name in names) == sorted(door._HOMES) == door.__all__
    assert {*door._HOMES} <= {*dir(door)}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_home_lists_its_names_in_order(door):
    by_home: dict[str, list[str]] = {}
    for name, home in door._HOMES.items():
        by_home.setdefault(home, []).append(name)

    assert {home: names for home, names in by_home.items() if names != sorted(names)} == {}


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_name_that_is_not_there_is_an_attribute_error(door):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = door.nothing


def test_callers_have_few_names_to_learn():
    assert len(agentm_kernel.__all__) <= 18


def test_a_misspelt_import_is_an_error_for_mypy(tmp_path):
    misspelt = [(door.__name__, name) for door in DOORS for name in ("Locater", "select_backends")]
    (tmp_path / "user.py").write_text("".join(f"from {door} import {name}\n" for door, name in misspelt))
    run = [sys.executable, "-m", "mypy", "--no-incremental", "--cache-dir", str(tmp_path / "cache"), "user.py"]

    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    for door, name in misspelt:
        assert f'Module "{door}" has no attribute "{name}"' in done.stdout, done.stdout + done.stderr
