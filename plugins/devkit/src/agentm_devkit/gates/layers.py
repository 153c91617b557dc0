"""The order of the kernel's rooms: each imports itself and those before it, wherever the import stands.

An import for type checkers alone may name a later room: it does not happen when the program runs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from agentm_devkit.gates.imports import imports_of
from agentm_devkit.gates.names import Names
from agentm_devkit.gates.sources import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentm_devkit.gates.findings import Finding
    from agentm_devkit.gates.imports import Import
    from agentm_devkit.gates.sources import Module, Sources

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("seam",),
    ("files",),
    ("device",),
    ("plugins",),
    ("selection",),
    ("projects",),
    ("state",),
    ("here",),
    ("process_seam",),
    ("cli", "__main__"),
)
"""From the floor up. Rooms of one layer do not import each other; the top one may import everything."""

ROOMS = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
_TOP = len(LAYERS) - 1
DOORS = (KERNEL, f"{KERNEL}.plugin", f"{KERNEL}.command")


def check_layer_order(sources: Sources) -> Iterator[Finding]:
    """`layer-order`. The doors (`__init__`, `plugin`, `command`) lead to all rooms and stand outside the order."""
    names = Names(sources)
    for module in sources.kernel:
        if module.name in DOORS:
            continue
        room = module.name.split(".")[1]
        if room not in ROOMS:
            yield module.finding(1, "layer-order", f"the room `{room}` has no place among the layers: give it one")
        elif ROOMS[room] < _TOP:
            as_program = lines_run_as_program(module)
            for found in imports_of(module, names):
                if found.package != KERNEL or found.for_types or found.line in as_program:
                    continue
                if sentence := _objection(room, found):
                    yield module.finding(found.line, "layer-order", sentence)


def lines_run_as_program(module: Module) -> set[int]:
    """The lines below `if __name__ == "__main__"`: a module that is run as a program is a command line then."""
    lines: set[int] = set()
    for node in module.tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'":
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _objection(room: str, found: Import) -> str | None:
    """Why `room` may not import this, in words; `None` if it may."""
    target = _target_room(found)
    if target in (room, "__version__"):
        return None
    if target not in ROOMS:
        return f"`{found.text}` does not say which room is meant: import from the module where the name lives"
    if ROOMS[target] >= ROOMS[room]:
        order = " → ".join(", ".join(rooms) for rooms in LAYERS)
        return f"`{room}` imports `{target}`, which is not below it in {order}"
    return None


def _target_room(found: Import) -> str | None:
    parts = found.module.split(".")
    if len(parts) == 1:
        return found.name
    # Of a name that is computed only the parts before its last dot are certain.
    return parts[1] if found.complete or len(parts) > 2 else None
