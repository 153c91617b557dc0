"""The page that lists the names on the kernel's doors, one line each: `python -m tests.docs.doors` writes it.

The line of a class or function is the first sentence of its docstring; constants have theirs here. The same command
puts what type checkers see of a door on one line for each module, however it was written.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import agentm_kernel
from agentm_kernel import command, plugin

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "doors.md"

HEAD = """# Names on the doors

Three modules of the kernel are public: every name on them, and nothing else. A name is loaded when it is first used;
a misspelt one is an error for type checkers and at run time. What can be called stands with its parameters.
`python -m tests.docs.doors` makes this page.
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
    "COMMIT": "The name of the action that a policy must grant before changes are committed.",
    "CONFLICTS": "Where versions that lost are kept: the locator of `layout.CONFLICTS`.",
    "EVENTS": "Every event of an agent's life, as a tuple of `Event`.",
    "HARNESS_DIR": "The folder of a checkout in which its state and its markers lie.",
    "MAX_CONTENT_BYTES": "How large a note may be unless the store's `size_limit` says otherwise.",
    "MAX_KEY_BYTES": "How long a key may be, in UTF-8 bytes.",
    "MAX_SEGMENT_BYTES": "How long one segment of a key may be, in UTF-8 bytes.",
    "MOVED_TO_STORE": "The field of a project's record that names the store which its notes are in, if another.",
    "PULLING": "The events at which a store elsewhere is asked for what is new.",
    "PUSH": "The name of the action that a policy must grant before changes are sent.",
    "PUSHING": "The events at which what was written is sent to a store elsewhere.",
    "STAMP_KEY": "Where a store carries its identity.",
    "SWAP_PROVIDER": "The name of the action that a policy must grant before its notes go to another store.",
    "TOOLS": "The entry-point group of tools.",
    "TEMP_PREFIX": "How the names of our temporary files begin; no key has such a name.",
    "Tier": "What a part of a store is: `SOURCE`, `SHARED_ABSTRACTS` or `LOCAL_INDEX` ([tiers](seam.md#tiers)).",
    "hookimpl": "Marks a function as the implementation of a hook.",
    "json_option": "The option `--json` of a command that answers.",
    "registry": "The backends that this process has registered; it ships empty.",
}


def meaning(door: object, name: str) -> str:
    """One sentence about a name."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    text = inspect.getdoc(getattr(door, name)) or ""
    return _in_a_cell(" ".join(text.split("\n\n")[0].split()))


def signature(door: object, name: str) -> str:
    """How a function or class is called; the name alone for what is not called, or not by plugins."""
    found = getattr(door, name)
    if name in CONSTANTS or not callable(found) or (inspect.isclass(found) and not _is_made_by_authors(found)):
        return name
    if inspect.isclass(found) and issubclass(found, plugin.Frozen) and found.__init__ is plugin.Frozen.__init__:
        return _in_a_cell(f"{name}({', '.join(_fields(found))})")
    try:
        called = inspect.signature(found)
    except (TypeError, ValueError):
        return name
    answer = "" if inspect.isclass(found) or called.return_annotation in ("None", None) else called.return_annotation
    return _in_a_cell(f"{name}({', '.join(_parameters(called))})" + (f" -> {answer}" if answer else ""))


def _is_made_by_authors(kind: type) -> bool:
    """Whether plugins call it: a value or a layer, no error, protocol or enumeration."""
    return not issubclass(kind, (BaseException, enum.Enum)) and not inspect.isabstract(kind)


def _fields(kind: type) -> list[str]:
    """What a value is made of, in order."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        found |= {name: each.__dict__.get(name, _NOTHING) for name in inspect.get_annotations(each)}
    return [f"{name}{_default(value)}" for name, value in found.items() if not name.startswith("_")]


def _parameters(called: inspect.Signature) -> Iterator[str]:
    marked = False
    for name, given in called.parameters.items():
        stars = {given.VAR_POSITIONAL: "*", given.VAR_KEYWORD: "**"}.get(given.kind, "")
        if given.kind is given.KEYWORD_ONLY and not marked:
            yield "*"
        marked = marked or given.kind in (given.KEYWORD_ONLY, given.VAR_POSITIONAL)
        value = _NOTHING if given.default is given.empty else given.default
        kind = "" if given.annotation is given.empty else f": {given.annotation}"
        yield f"{stars}{name}{kind}{_default(value)}"


_NOTHING = object()


def _default(value: object) -> str:
    if value is _NOTHING or type(value).__name__ == "member_descriptor":
        return ""
    return "=" + (repr(value) if isinstance(value, (str, int, float, bool, tuple, type(None))) else "…")


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    parts = [HEAD]
    for door, purpose in DOORS.items():
        names: list[str] = door.__all__
        rows = "\n".join(f"| `{signature(door, name)}` | {meaning(door, name)} |" for name in names)
        parts.append(f"\n## {door.__name__}\n\n{purpose}\n\n| name | what it is |\n|---|---|\n{rows}\n")
    return "".join(parts)


def one_line_each(source: str) -> str:
    """What type checkers see of a door, with one line for each module."""
    joined = lambda found: "import " + ", ".join(re.split(r",\s*", found[1]))  # noqa: E731
    return re.sub(r"import \(\s*(.*?),?\s*\)", joined, source, flags=re.DOTALL)


if __name__ == "__main__":
    for door in DOORS:
        module = Path(str(door.__file__))
        file = stub if (stub := module.with_suffix(".pyi")).exists() else module
        file.write_text(one_line_each(file.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
