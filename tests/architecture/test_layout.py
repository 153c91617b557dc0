"""Keys and folders that stores reserve are spelled in one module: `seam/layout.py`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from agentm_kernel.plugin import STAMP_KEY, Locator, layout

REPOSITORY = Path(__file__).resolve().parents[2]
HOME = REPOSITORY / "kernel" / "agentm_kernel" / "seam" / "layout.py"
SOURCES = sorted(
    path
    for folder in (REPOSITORY / "kernel", *REPOSITORY.glob("plugins/*/src"))
    for path in folder.rglob("*.py")
    if path != HOME and "scaffold" not in path.parts
)
RESERVED = {name: value for name, value in vars(layout).items() if name.isupper() and name != "PROJECT_TREES"}

# Words that are reserved and also mean something else: a command, a name for people, a room of the kernel.
WORDS = {
    "_meta": {"messages.py"},  # what MCP calls the part of a message that is about the message
    "personal": {
        *("guide.py", "names.py", "published.py", "personal_command.py", "search.py", "outlines.py", "tools.py"),
        *("note.py", "pieces.py", "export.py"),
    },
    "projects": {"layers.py", "plugin.py", "gemini.py", "basic_memory.py", "claude_code.py", "routes.py"},
}


def literals(source: str) -> list[str]:
    """Every text of a module that is not there for people: no docstrings."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]


def spelled(text: str) -> str | None:
    """The reserved key or folder that `text` is, or begins with."""
    return next((value for value in RESERVED.values() if text == value or text.startswith(f"{value}/")), None)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_no_other_module_spells_a_reserved_key(path: Path) -> None:
    found = [
        text
        for text in literals(path.read_text())
        if (value := spelled(text)) and path.name not in WORDS.get(value, ())
    ]
    assert not found, f"{path.name} spells {found}: take it from `layout`"


def test_the_check_can_fail() -> None:
    module = '"""_meta/"""\nx = "_meta/x"\ny = f"projects/{x}"\nz = "metal"'
    assert sorted(filter(None, map(spelled, literals(module)))) == ["_meta", "projects"]


def test_every_reserved_key_is_a_key_and_none_is_given_twice() -> None:
    assert len(set(RESERVED.values())) == len(RESERVED) >= 14
    for value in RESERVED.values():
        assert Locator(value).key == value
    assert layout.STAMP_KEY == STAMP_KEY
