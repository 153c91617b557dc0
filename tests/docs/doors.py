"""The page that lists the names on the kernel's doors, one line each: `python -m tests.docs.doors` writes it.

The line of a class or function is the first sentence of its docstring; constants have theirs here. The same command
puts what type checkers see of a door on one line for each module, however it was written.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import agentm_kernel
from agentm_kernel import command, plugin

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "doors.md"

HEAD = """# Names on the doors

Three modules of the kernel are public: every name on them, and nothing else. A name is loaded when it is first used;
a misspelt one is an error for type checkers and at run time. `python -m tests.docs.doors` makes this page.
"""

DOORS = {
    agentm_kernel: "For hooks and callers.",
    plugin: "For plugin authors: what a store, a layer, a provider or a hook plugin builds on.",
    command: "For plugins with commands.",
}

CONSTANTS = {
    "ABSENT": "The condition of a write: nothing may be stored there yet.",
    "API_VERSION": "The version of the contract between kernel and plugins.",
    "BACKENDS": "The entry-point group of backends.",
    "EVENTS": "Every event of an agent's life, as a tuple of `Event`.",
    "MAX_CONTENT_BYTES": "How large a note may be unless the store's `size_limit` says otherwise.",
    "MAX_KEY_BYTES": "How long a key may be, in UTF-8 bytes.",
    "MAX_SEGMENT_BYTES": "How long one segment of a key may be, in UTF-8 bytes.",
    "PULLING": "The events at which a store elsewhere is asked for what is new.",
    "PUSHING": "The events at which what was written is sent to a store elsewhere.",
    "STAMP_KEY": "Where a store carries its identity.",
    "TEMP_PREFIX": "How the names of our temporary files begin; no key has such a name.",
    "hookimpl": "Marks a function as the implementation of a hook.",
    "json_option": "The option `--json` of a command that answers.",
    "registry": "The backends that this process has registered; it ships empty.",
}


def meaning(door: object, name: str) -> str:
    """One sentence about a name."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    text = inspect.getdoc(getattr(door, name)) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.replace("|", "\\|")


def page() -> str:
    parts = [HEAD]
    for door, purpose in DOORS.items():
        names: list[str] = door.__all__
        rows = "\n".join(f"| `{name}` | {meaning(door, name)} |" for name in names)
        parts.append(f"\n## {door.__name__}\n\n{purpose}\n\n| name | what it is |\n|---|---|\n{rows}\n")
    return "".join(parts)


def one_line_each(source: str) -> str:
    """The source of a door with one line for each module in its `if TYPE_CHECKING` block."""
    lines = source.replace("    # fmt: off\n", "").replace("    # fmt: on\n", "").split("\n")
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
            block = []
            for found in node.body:
                assert isinstance(found, ast.ImportFrom)
                names = ", ".join(
                    f"{name.name} as {name.asname}" if name.asname else name.name for name in found.names
                )
                block += [f"    from {found.module} import {names}"] + [""] * (found.module == "collections.abc")
            lines[node.body[0].lineno - 1 : node.end_lineno] = ["    # fmt: off", *block, "    # fmt: on"]
            break
    return "\n".join(lines)


if __name__ == "__main__":
    for door in DOORS:
        file = Path(str(door.__file__))
        file.write_text(one_line_each(file.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
