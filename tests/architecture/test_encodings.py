"""A text in a file has the same bytes on every device, so whoever opens one says which encoding it has."""

from __future__ import annotations

import ast
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_PLAIN = {"plugins/prove/src/agentm_prove/laboratory.py"}
"""Where nothing but ASCII is written, to a place that goes again."""


def opens_a_text(call: ast.Call) -> bool:
    """Whether it is the builtin, or the one of `os` that takes a descriptor, and the mode is not a binary one."""
    if ast.unparse(call.func) not in ("open", "os.fdopen"):
        return False
    modes = [*call.args[1:2], *(one.value for one in call.keywords if one.arg == "mode")]
    return not any("b" in ast.unparse(mode) for mode in modes)


def test_every_text_file_is_opened_with_its_encoding() -> None:
    sources = [*REPOSITORY.glob("kernel/agentm_kernel/**/*.py"), *REPOSITORY.glob("plugins/*/src/**/*.py")]
    trees = {file.relative_to(REPOSITORY).as_posix(): ast.parse(file.read_bytes()) for file in sources}
    opened = [
        (name, node)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and opens_a_text(node)
    ]
    assert len(opened) > 40
    silent = {f"{name}:{call.lineno}" for name, call in opened if all(one.arg != "encoding" for one in call.keywords)}
    assert {place for place in silent if place.partition(":")[0] not in _PLAIN} == set()
