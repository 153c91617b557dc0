"""What is handed from one to another does not change under whoever has it: data classes are frozen, or named here."""

from __future__ import annotations

import ast
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CHANGING = {
    "__init__.Asked",
    "connections.Plan",
    "folder.Comparison",
    "json_tree.Node",
    "names._Scope",
    "planning.Plan",
    "receipts.Receipt",
    "sources.Sources",
}
"""Those that are filled in steps by the only one who has them."""


def is_frozen(decorator: ast.expr) -> bool | None:
    """`None` for what makes no data class."""
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if name.rpartition(".")[2] != "dataclass":
        return None
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(keyword.arg == "frozen" and ast.unparse(keyword.value) == "True" for keyword in keywords)


def test_every_data_class_is_frozen_unless_it_is_named_here() -> None:
    found: dict[bool | None, set[str]] = {}
    sources = [*REPOSITORY.glob("kernel/agentm_kernel/**/*.py"), *REPOSITORY.glob("plugins/*/src/**/*.py")]
    for file in sources:
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(node, ast.ClassDef):
                continue
            for decorator in node.decorator_list:
                found.setdefault(is_frozen(decorator), set()).add(f"{file.stem}.{node.name}")

    assert len(found[True]) > 20
    assert found[False] == CHANGING
