"""No file-system path crosses the seam: what verbs return, and what functions that promise a locator return."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from agentm_devkit.gates.names import Names
from agentm_devkit.gates.sources import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.findings import Finding
    from agentm_devkit.gates.sources import Module, Sources

SEAM_CLASSES = frozenset(
    {
        "Appends",
        "BackendLayer",
        "ConflictCopies",
        "DerivedMaintenance",
        "DeviceCopy",
        "DeviceFiles",
        "FileStore",
        "History",
        "PersonalSpace",
        "StorageBackend",
    }
)
"""The kernel's classes whose public methods are the seam. Known by name, so that a plugin can be judged alone."""

_VERBS = frozenset({"resolve", "read", "write", "list", "exists", "info", "mkdir", "delete", "walk", "device_path"})
_PATH_PACKAGES = frozenset({"pathlib", "pathlib_abc", "upath"})
_PATH_TYPES = frozenset({"os.PathLike", "os.DirEntry"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Member = _Function | ast.Assign | ast.AnnAssign


def check_path_leaks(sources: Sources) -> Iterator[Finding]:
    """`path-leak` and `unannotated-verb`."""
    names = Names(sources)
    for module in sources.modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                if is_seam_class(names, module, node):
                    yield from _check_class(names, module, node)
            elif isinstance(node, _Function) and _promises_locator(node.name):
                yield from _check_return(names, module, node, f"`{node.name}` promises a locator")


def is_seam_class(names: Names, module: Module, node: ast.ClassDef) -> bool:
    """Whether a class is, or inherits from, one of the seam's."""
    return any(
        name.startswith(f"{KERNEL}.") and name.rpartition(".")[2] in SEAM_CLASSES
        for name in (f"{module.name}.{node.name}", *names.ancestors(module, node))
    )


def _promises_locator(name: str) -> bool:
    return not name.startswith("_") and not {"locator", "locators"}.isdisjoint(name.split("_"))


def _check_class(names: Names, module: Module, owner: ast.ClassDef) -> Iterator[Finding]:
    for member in _members(owner):
        if isinstance(member, _Function):
            if not member.name.startswith("_") and not _promises_locator(member.name):  # those are seen in any class
                yield from _check_return(names, module, member, f"`{member.name}` of {owner.name} crosses the seam")
        elif isinstance(member, ast.AnnAssign):
            attribute = member.target.id if isinstance(member.target, ast.Name) else "_"
            if not attribute.startswith("_") and _mentions_path(names, module, member.annotation, set()):
                yield module.finding(
                    member.lineno,
                    "path-leak",
                    f"`{attribute}` of {owner.name} is in everyone's reach and holds a file-system path: "
                    "begin its name with an underscore",
                )
        else:
            assigned = [target.id for target in member.targets if isinstance(target, ast.Name)]
            for verb in sorted(_VERBS.intersection(assigned)):
                what = f"`{verb}` of {owner.name} crosses the seam"
                own = [function for function in _members(owner) if _is_called(function, member.value)]
                if own:
                    yield from _check_return(names, module, own[-1], what)
                elif not _is_wrapped(names, module, member.value, verb):
                    yield _unannotated(module, member, what)


def _is_called(member: _Member, name: ast.expr) -> TypeGuard[_Function]:
    """Whether it is the function of that name: `write = mkdir = _refuse` hands on what `_refuse` says it returns."""
    return isinstance(member, _Function) and isinstance(name, ast.Name) and member.name == name.id


def _is_wrapped(names: Names, module: Module, value: ast.expr, verb: str) -> bool:
    """Whether it is `read = wrapped(BackendLayer.read, …)`: a verb of the seam's own, which says what it returns."""
    first = value.args[0] if isinstance(value, ast.Call) and value.args else None
    if not isinstance(first, ast.Attribute) or not isinstance(first.value, ast.Name) or first.attr != verb:
        return False
    return any(name.rpartition(".")[2] in SEAM_CLASSES for name in names.meanings(module, first.value))


def _members(node: ast.AST) -> Iterator[_Member]:
    """What a class body defines, conditional parts included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.AnnAssign)):
            yield child
        elif isinstance(child, (ast.If, ast.Try, ast.ExceptHandler)):
            yield from _members(child)


def _check_return(names: Names, module: Module, function: _Function, what: str) -> Iterator[Finding]:
    if function.returns is None:
        yield _unannotated(module, function, what)
    elif _mentions_path(names, module, function.returns, set()):
        yield module.finding(
            function.lineno, "path-leak", f"{what}, and returns a file-system path: return a Locator or text"
        )


def _unannotated(module: Module, node: ast.stmt, what: str) -> Finding:
    return module.finding(
        node.lineno, "unannotated-verb", f"{what}, and does not say what it returns: define it with an annotation"
    )


# ------------------------------------------------------------------------------------------------ annotations


def _mentions_path(names: Names, module: Module, annotation: ast.expr, seen: set[str]) -> bool:
    """Whether a path type occurs anywhere in `annotation`, through aliases, strings, bounds and subclasses."""
    for node in _type_names(annotation):
        for name in names.meanings(module, node):
            if name.partition(".")[0] in _PATH_PACKAGES or name in _PATH_TYPES:
                return True
            if name in seen:
                continue
            seen.add(name)
            found = names.definition(name)
            if found and any(_mentions_path(names, found[0], part, seen) for part in found[1]):
                return True
    return False


def _type_names(node: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    """The names in a type expression; a string in it is a type too, except inside `Literal[…]`."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        yield node
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield from _type_names(_parsed(node.value))
    elif isinstance(node, ast.Subscript) and _is_literal(node.value):
        return
    else:
        for child in ast.iter_child_nodes(node):
            yield from _type_names(child)


def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:  # the name that NewType and TypeVar are given need not be an expression
        return ast.Constant(None)


def _is_literal(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Literal") or (
        isinstance(node, ast.Attribute) and node.attr == "Literal"
    )
