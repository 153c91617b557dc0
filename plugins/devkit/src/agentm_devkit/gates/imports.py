"""Every import of a file, wherever it stands, and the dynamic ones as far as their text tells."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentm_devkit.gates.names import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.names import Names
    from agentm_devkit.gates.sources import Module

_DYNAMIC = frozenset(
    {
        "__import__",
        "builtins.__import__",
        "importlib.__import__",
        "importlib.import_module",
        "importlib.util.find_spec",
        "pkgutil.resolve_name",
        "runpy.run_module",
    }
)


@dataclass(frozen=True)
class Import:
    """`module` is absolute; `name` is what is taken out of it, which may itself be a module."""

    module: str
    line: int
    name: str | None = None
    complete: bool = True
    """False where only the beginning of the module's name can be read: the rest is computed."""
    for_types: bool = False
    """Whether only type checkers see it: below `if TYPE_CHECKING`."""

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    @property
    def text(self) -> str:
        return self.module if self.complete else f"{self.module}…"


def imports_of(module: Module, names: Names) -> Iterator[Import]:
    """Every import of `module`, those inside functions included."""
    for_types = _lines_for_types(module, names)
    for found in _imports_of(module, names):
        yield replace(found, for_types=True) if found.line in for_types else found


def _lines_for_types(module: Module, names: Names) -> set[int]:
    """The lines below `if TYPE_CHECKING`; those of its `else` run, and are not among them."""
    lines: set[int] = set()
    for node in module.nodes:
        if isinstance(node, ast.If) and _is_false_at_run_time(node.test, module, names):
            lines.update(range(node.body[0].lineno, (node.body[-1].end_lineno or node.body[-1].lineno) + 1))
    return lines


def _is_false_at_run_time(test: ast.expr, module: Module, names: Names) -> bool:
    """Whether it is the name that `typing` has, or one of the file's own that is never anything but false."""
    if names.meanings(module, test) == {"typing.TYPE_CHECKING"}:
        return True
    values = names.values_of(module, "TYPE_CHECKING") if dotted(test) == "TYPE_CHECKING" else []
    return bool(values) and all(isinstance(value, ast.Constant) and value.value is False for value in values)


def _imports_of(module: Module, names: Names) -> Iterator[Import]:
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node.level, node.module or "")
            for alias in node.names:
                yield Import(source, node.lineno, alias.name)
        elif isinstance(node, ast.Call) and _is_dynamic(node, module, names):
            yield _dynamic_import(node, module, names)


def _is_dynamic(call: ast.Call, module: Module, names: Names) -> bool:
    return dotted(call.func) is not None and not _DYNAMIC.isdisjoint(names.meanings(module, call.func))


def _dynamic_import(call: ast.Call, module: Module, names: Names) -> Import:
    argument = (
        call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("name", "mod_name")), None)
    )
    text, complete = _known_text(argument, module, names)
    text = text.partition(":")[0]  # pkgutil's spelling of an attribute
    bare = text.lstrip(".")
    return Import(module.absolute(len(text) - len(bare), bare), call.lineno, complete=complete)


def _known_text(node: ast.expr | None, module: Module, names: Names) -> tuple[str, bool]:
    """The text of an expression as far as it is constant from its beginning, and whether that is all of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, True
    if isinstance(node, ast.JoinedStr):
        return _joined(node.values, module, names)
    if isinstance(node, ast.FormattedValue):
        return _known_text(node.value, module, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([node.left, node.right], module, names)
    if isinstance(node, ast.Name) and node.id == "__name__":
        return module.name, True
    if isinstance(node, ast.Name):
        values = [value for value in names.values_of(module, node.id) if not isinstance(value, ast.Name)]
        if len(values) == 1:
            return _known_text(values[0], module, names)
    return "", False


def _joined(parts: list[ast.expr], module: Module, names: Names) -> tuple[str, bool]:
    text = ""
    for part in parts:
        piece, complete = _known_text(part, module, names)
        text += piece
        if not complete:
            return text, False
    return text, True
