"""Who may touch files: one module asks for a note's real path, and one opens what lies inside a store."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from agentm_devkit.gates.names import Names
from agentm_devkit.gates.sources import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.findings import Finding
    from agentm_devkit.gates.sources import Module, Sources

_DEVICE_PATH = "device_path"

DEVICE_PATH_CALLERS = (f"{KERNEL}.state.routing", "agentm_devkit.conformance")
"""Routing gives hooks their paths; the conformance kit checks that it will be able to."""

STORE_OPENERS = tuple(f"{KERNEL}.files.{name}" for name in ("tree", "mutex", "native_lock", "appending"))
"""The confined walk, and the lock on the root directory."""

SHORT_WALK = (f"{KERNEL}.files.store", "_read_at_a_glance")
"""The walk's short form for hooks, which is a function of the store."""

OUTSIDE_OF_STORES = f"{KERNEL}.files"
"""Looks at files of the device and of checkouts."""

_FILE_CALLS = frozenset({"open", "io.open", "codecs.open"}) | frozenset(
    f"os.{name}"
    for name in ("open", "link", "remove", "rename", "renames", "replace", "rmdir", "symlink", "truncate", "unlink")
)
_FILE_PACKAGES = frozenset({"shutil", "tempfile"})
_PATH_METHODS = frozenset(
    {"open", "read_bytes", "read_text", "rename", "replace", "unlink", "write_bytes", "write_text"}
)


def check_device_path_callers(sources: Sources) -> Iterator[Finding]:
    """`device-path-caller`: but a backend may ask itself, and a method of that name may pass the question on."""
    for module in sources.modules.values():
        if not _is_below(module.name, DEVICE_PATH_CALLERS):
            for line in _device_path_uses(module.tree):
                yield module.finding(
                    line, "device-path-caller", f"only `{DEVICE_PATH_CALLERS[0]}` may ask for the real path of a note"
                )


def _device_path_uses(node: ast.AST) -> Iterator[int]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and child.name == _DEVICE_PATH:
            continue
        if _is_device_path(child):
            yield child.lineno
        yield from _device_path_uses(child)


def _is_device_path(node: ast.AST) -> TypeGuard[ast.Attribute | ast.Call]:
    """The attribute of anything but `self`, or a call that is given its name: `getattr` and its kin get at it so."""
    if isinstance(node, ast.Attribute):
        return node.attr == _DEVICE_PATH and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    return isinstance(node, ast.Call) and any(
        isinstance(argument, ast.Constant) and argument.value == _DEVICE_PATH for argument in node.args
    )


def check_file_access(sources: Sources) -> Iterator[Finding]:
    """`raw-file-access`: the write floor and the backends on it reach files through the confined walk only."""
    names = Names(sources)
    for module in sources.modules.values():
        if not _is_on_the_floor(names, module):
            continue
        short = [node for node in module.nodes if (module.name, getattr(node, "name", "")) == SHORT_WALK]
        walking = {id(node) for function in short for node in ast.walk(function)}
        for node in module.nodes:
            if isinstance(node, ast.Call) and id(node) not in walking and _touches_files(names, module, node):
                yield module.finding(
                    node.lineno,
                    "raw-file-access",
                    "a file is reached by its path, where a link could lead out of the store: "
                    "go through the verbs of `FileStore`",
                )


def _is_on_the_floor(names: Names, module: Module) -> bool:
    if module.name == OUTSIDE_OF_STORES or _is_below(module.name, STORE_OPENERS):
        return False
    if _is_below(module.name, (f"{KERNEL}.files",)):
        return True
    return any(
        name.startswith(f"{KERNEL}.") and name.endswith(".FileStore")
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        for name in names.ancestors(module, node)
    )


def _touches_files(names: Names, module: Module, call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):  # Path(…).read_text()
        made = names.meanings(module, function.value.func)
        return function.attr in _PATH_METHODS and any(name.startswith("pathlib.") for name in made)
    return any(
        name in _FILE_CALLS or name.partition(".")[0] in _FILE_PACKAGES for name in names.meanings(module, function)
    )


def _is_below(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)
