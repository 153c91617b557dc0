"""What a name in a file means: followed through imports, aliases and re-exports, across the files under check."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.sources import Module, Sources

# `type Alias = …` and `def f[T: Bound]` exist from Python 3.12 on.
_TYPE_ALIAS: Any = getattr(ast, "TypeAlias", ())
_TYPE_VARIABLE: Any = getattr(ast, "TypeVar", ())


@dataclass
class _Scope:
    """What one file binds. A name may be bound more than once (`try … except ImportError`): all of it counts."""

    imported: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    values: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` as text; `None` for anything that is not a plain chain of names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = dotted(node.value)
        return f"{left}.{node.attr}" if left else None
    return None


class Names:
    """The meanings of names in `sources`, as dotted names of the place where each was first defined."""

    def __init__(self, sources: Sources) -> None:
        self._modules = sources.modules
        self._scopes = {name: _read_scope(module) for name, module in sources.modules.items()}

    def meanings(self, module: Module, node: ast.AST) -> set[str]:
        """Where the chain of names `node` may lead. A builtin means itself; not a chain of names: nothing."""
        text = dotted(node)
        if text is None:
            return set()
        head, dot, rest = text.partition(".")
        scope = self._scopes[module.name]
        if head in scope.classes or (head in scope.values and head not in scope.imported):
            return {f"{module.name}.{text}"}
        starts = scope.imported.get(head, {head})
        return {meaning for start in starts for meaning in self._origins(f"{start}{dot}{rest}", set())}

    def _origins(self, name: str, seen: set[str]) -> set[str]:
        """`name` followed through re-exports of the modules under check."""
        owner, attribute = self._split(name)
        if owner is None or name in seen:
            return {name}
        seen.add(name)
        sources = self._scopes[owner].imported.get(attribute)
        return {end for source in sources for end in self._origins(source, seen)} if sources else {name}

    def _split(self, name: str) -> tuple[str | None, str]:
        owner, _, attribute = name.rpartition(".")
        return (owner, attribute) if owner in self._scopes else (None, name)

    def values_of(self, module: Module, name: str) -> list[ast.expr]:
        """The expressions that the file or one of its classes assigns to `name`."""
        return self._scopes[module.name].values.get(name, [])

    def definition(self, name: str) -> tuple[Module, list[ast.expr]] | None:
        """The module that defines the dotted `name`, and what it is made of: an alias' value, a class' bases."""
        owner, attribute = self._split(name)
        if owner is None:
            return None
        scope = self._scopes[owner]
        parts: list[ast.expr] = [*scope.values.get(attribute, ())]
        if attribute in scope.classes:
            parts += scope.classes[attribute].bases
        return self._modules[owner], parts

    def ancestors(self, module: Module, node: ast.ClassDef) -> Iterator[str]:
        """The dotted names of every base class, near and far, as far as the files under check show them."""
        seen: set[str] = set()
        waiting = [(module, base) for base in node.bases]
        while waiting:
            where, base = waiting.pop()
            generic = base.value if isinstance(base, ast.Subscript) else base
            for name in self.meanings(where, generic) - seen:
                seen.add(name)
                yield name
                if found := self.definition(name):
                    waiting += [(found[0], part) for part in found[1]]


def _read_scope(module: Module) -> _Scope:
    scope = _Scope()
    for node in (*module.nodes, *(ast.walk(module.stub) if module.stub else ())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.imported[name].add(alias.name if alias.asname else name)
        elif isinstance(node, ast.ImportFrom):
            source = module.absolute(node.level, node.module or "")
            for alias in node.names:
                scope.imported[alias.asname or alias.name].add(f"{source}.{alias.name}")
        elif isinstance(node, ast.ClassDef):
            scope.classes[node.name] = node
        elif isinstance(node, _TYPE_VARIABLE) and node.bound is not None:
            scope.values[node.name].append(node.bound)
    for node in _outside_functions(module.tree):
        _read_value(scope, node)
    return scope


def _read_value(scope: _Scope, node: ast.AST) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.values[target.id].append(node.value)
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name) and node.value is not None:
            scope.values[node.target.id].append(node.value)
    elif isinstance(node, _TYPE_ALIAS):
        scope.values[node.name.id].append(node.value)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Statements of the file and of its classes: what a function assigns is nobody else's."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _outside_functions(child)
