"""This repository keeps the rules that it hands to plugin authors, and a few of its own."""

from __future__ import annotations

import ast
import re
import tempfile
from pathlib import Path

import pytest

from agentm_devkit.gates import check

MOST_LINES = 400
MOST_TEST_LINES = 600
"""A test file is looked up by the names in it, not read from top to bottom."""


def test_the_gates_find_nothing(repository):
    report = check([repository])

    assert [str(finding) for finding in (*report.unreadable, *report.findings)] == []


def test_the_gates_see_every_shipped_file(repository, shipped_files):
    assert check([repository]).modules == len(shipped_files)


def test_no_file_is_too_long(repository_files, shipped_files):
    limits = {file: MOST_TEST_LINES for file in repository_files if file.suffix == ".py"}
    limits.update(dict.fromkeys(shipped_files.values(), MOST_LINES))

    too_long = [str(file) for file, limit in limits.items() if len(file.read_bytes().splitlines()) > limit]

    assert too_long == []


def test_every_function_says_what_it_takes_and_returns(shipped_files):
    silent = [
        f"{file}:{node.lineno}: {node.name}"
        for file in shipped_files.values()
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_annotated(node)
    ]

    assert silent == []


def _is_annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = function.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    said = all(argument.annotation or argument.arg in ("self", "cls") for argument in given)
    return said and function.returns is not None


@pytest.mark.parametrize(
    ("source", "annotated"),
    [
        ("def f(self, a: int, *b: str, c: int = 1, **d: str) -> None: ...", True),
        ("def f(a) -> None: ...", False),
        ("def f(*a) -> None: ...", False),
        ("def f(*, a) -> None: ...", False),
        ("def f(**a) -> None: ...", False),
        ("def f(a: int): ...", False),
    ],
)
def test_the_check_for_annotations_can_fail(source, annotated):
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)

    assert _is_annotated(function) is annotated


def test_no_file_names_the_machine_it_was_written_on(repository, repository_files):
    places = {repository, repository.parent, Path.home()} - {Path(tempfile.gettempdir()), Path("/")}
    own = "|".join(re.escape(str(place)) for place in places)
    trace = re.compile(rf"(?<![\w.~-])(?:{own})/".encode())

    assert [str(file) for file in repository_files if trace.search(file.read_bytes())] == []


def test_no_setting_names_a_package_index(repository, repository_files):
    index = re.compile(r"index[-_]url|find[-_]links *=|tool\.uv\.index", re.IGNORECASE)
    settings = [file for file in repository_files if file.suffix in (".toml", ".cfg", ".ini", "")]

    assert {repository / "pyproject.toml", repository / "Makefile", repository / ".ci" / "run"} <= {*settings}
    assert [str(file) for file in settings if index.search(file.read_text(encoding="utf-8"))] == []


def test_only_the_command_that_asks_the_operator_authorizes_writes_to_personal_notes(repository):
    makers = {
        str(path.relative_to(repository))
        for folder in (repository / "kernel", *repository.glob("plugins/*/src"))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Authorization"
    }
    assert makers == {"plugins/obsidian-vault/src/agentm_obsidian_vault/personal_command.py"}
