"""The three tiers: the source, what is derived from it, and what must never leave the device."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from pathlib import Path

import pytest

import agentm_kernel
from agentm_kernel import Locator
from agentm_kernel.plugin import DerivedMaintenance, FileStore, Tier, TierLayout


def test_only_the_local_index_stays_on_the_device() -> None:
    assert {tier: tier.syncs for tier in Tier} == {
        Tier.SOURCE: True,
        Tier.SHARED_ABSTRACTS: True,
        Tier.LOCAL_INDEX: False,
    }


def test_everything_but_the_source_is_derived() -> None:
    assert [tier for tier in Tier if not tier.derived] == [Tier.SOURCE]


def test_the_layout_names_a_root_for_each_tier() -> None:
    layout = TierLayout(Locator("notes"), Locator("notes/_abstracts"), Locator("index"))
    assert [layout.root_for(tier).key for tier in Tier] == ["notes", "notes/_abstracts", "index"]
    assert layout.never_sync_root == Locator("index")


def test_the_default_layout_is_valid_and_every_backend_has_one(tmp_path: Path) -> None:
    assert FileStore(tmp_path).tier_layout == TierLayout()
    assert len({TierLayout().root_for(tier) for tier in Tier}) == 3


def test_the_source_may_be_the_whole_store() -> None:
    assert TierLayout(source=Locator()).root_for(Tier.SOURCE) == Locator()


@pytest.mark.parametrize(
    "roots",
    [
        ("a", "a", "b"),
        ("a", "b", "a"),
        ("a", "b", "b"),
        ("a/b", "a", "c"),
        ("a/b/c", "x", "a"),
        ("a", "", "b"),
        ("a", "b", ""),
    ],
)
def test_a_derived_root_is_never_equal_to_another_or_above_the_source(roots: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError):
        TierLayout(*map(Locator, roots))


def test_a_neighbour_that_begins_like_the_source_is_not_above_it() -> None:
    assert TierLayout(Locator("notes-old"), Locator("notes"), Locator("n"))


def test_a_layout_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        TierLayout().source = Locator("x")  # type: ignore[misc]


def kernel_modules() -> list[Path]:
    return sorted(Path(agentm_kernel.__path__[0]).rglob("*.py"))


def test_the_kernel_ships_no_maintenance_of_its_own_and_imports_no_database() -> None:
    assert inspect.isabstract(DerivedMaintenance)
    assert len(list(pkgutil.iter_modules(agentm_kernel.__path__))) > 1
    for path in kernel_modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name != "DerivedMaintenance":
                assert "DerivedMaintenance" not in [ast.unparse(base) for base in node.bases], path
            if isinstance(node, ast.Import):
                assert not {alias.name.partition(".")[0] for alias in node.names} & {"sqlite3", "dbm", "shelve"}, path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in {"sqlite3", "dbm", "shelve"}, path
