"""Every failure says what happened and what to run: an error without a hint is an exception, and counted here."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import agentm_kernel.errors
import agentm_storage_policy.errors

REPOSITORY = Path(__file__).resolve().parents[2]
WITHOUT = {
    "AgentmError": 13,
    "AuthorizationError": 2,
    "Cancelled": 1,
    "ConcurrentModificationError": 1,
    "DeclinedError": 3,
    "EditedMeanwhile": 2,
    "GitFailed": 2,
    "IntegrityError": 24,
    "InvalidContentError": 16,
    "InvalidLocatorError": 3,
    "LocatorConflictError": 20,
    "LockTimeout": 1,
    "NotFoundError": 23,
    "PluginError": 5,
    "ProtocolError": 2,
    "StorageError": 7,
    "StorageIOError": 12,
    "StorageReadOnlyError": 1,
    "StorageSelectionError": 7,
    "UsageError": 22,
}
"""How many places may make such an error without a hint, because there is nothing to run, or the caller says it. An
error that is not named here always has one.
"""


def ours(name: str) -> bool:
    kind = getattr(agentm_kernel.errors, name, None) or getattr(agentm_storage_policy.errors, name, None)
    return isinstance(kind, type) and issubclass(kind, agentm_kernel.errors.AgentmError)


def errors_of_plugins(trees: dict[Path, ast.Module]) -> set[str]:
    """What plugins derive from the kernel's errors."""
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {made.name for made in classes if any(isinstance(base, ast.Name) and ours(base.id) for base in made.bases)}


def test_no_further_error_goes_without_a_hint() -> None:
    places: dict[str, list[str]] = {}
    sources = [*REPOSITORY.glob("kernel/agentm_kernel/**/*.py"), *REPOSITORY.glob("plugins/*/src/**/*.py")]
    assert len(sources) > 100
    trees = {file: ast.parse(file.read_bytes()) for file in sources}
    of_plugins = errors_of_plugins(trees)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if (ours(name) or name in of_plugins) and not any(
                keyword.arg in ("hint", None) for keyword in node.keywords
            ):
                places.setdefault(name, []).append(f"{file.relative_to(REPOSITORY)}:{node.lineno}")
    counted = Counter({name: len(found) for name, found in places.items()})
    more = {name: places[name] for name in (counted - Counter(WITHOUT))}
    assert not more, "say in a hint what to run"
