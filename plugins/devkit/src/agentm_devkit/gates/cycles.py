"""No two modules of the kernel need each other: an import inside a function hides a cycle, it does not end it.

A package that hands on the names of its own modules when somebody asks for them (`__getattr__`) does not need them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from agentm_devkit.gates.imports import imports_of
from agentm_devkit.gates.layers import lines_run_as_program
from agentm_devkit.gates.names import Names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.findings import Finding
    from agentm_devkit.gates.imports import Import
    from agentm_devkit.gates.sources import Module, Sources

    Graph = dict[str, dict[str, int]]


def check_import_cycles(sources: Sources) -> Iterator[Finding]:
    """`import-cycle`: one finding for each knot of modules, with the shortest way around in it."""
    graph = _graph(sources)
    reach = {name: _reachable(graph, name) for name in graph}
    told: set[str] = set()
    for name in sorted(graph):
        if name in reach[name] and name not in told:
            told |= {other for other in reach[name] if name in reach[other]}
            way = _shortest_cycle(graph, name)
            yield sources.modules[name].finding(
                graph[name][way[1]],
                "import-cycle",
                f"{' → '.join(way)}: move what they share into a module that imports none of them",
            )


def _graph(sources: Sources) -> Graph:
    """Which module of the kernel imports which when it runs, and in which line."""
    names = Names(sources)
    known = {module.name for module in sources.kernel}
    graph: Graph = {}
    for module in sources.kernel:
        targets = graph.setdefault(module.name, {})
        as_program, handing_on = lines_run_as_program(module), _lines_handing_on(module)
        for found in imports_of(module, names):
            target = _target(found, known)
            if target is None or target == module.name or found.for_types or found.line in as_program:
                continue
            if found.line not in handing_on or not target.startswith(f"{module.name}."):
                targets.setdefault(target, found.line)
    return graph


def _lines_handing_on(module: Module) -> set[int]:
    """The lines of the module's own `__getattr__`."""
    functions = (node for node in module.nodes if isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
    own = [node for node in functions if [argument.arg for argument in node.args.args] == ["name"]]
    return {line for node in own for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _target(found: Import, known: set[str]) -> str | None:
    """The module under check that is imported; `None` for others, and for a name that is computed."""
    if not found.complete:
        return None
    inner = f"{found.module}.{found.name}"
    if inner in known:
        return inner
    return found.module if found.module in known else None


def _reachable(graph: Graph, start: str) -> set[str]:
    """What `start` imports, directly or not; itself only if it stands on a cycle."""
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def _shortest_cycle(graph: Graph, start: str) -> list[str]:
    ways = [[start]]
    seen = set()
    for way in ways:  # grows while it is gone through: breadth first
        for name in sorted(graph[way[-1]]):
            if name == start:
                return [*way, name]
            if name not in seen:
                seen.add(name)
                ways.append([*way, name])
    raise AssertionError(f"{start} stands on no cycle")
