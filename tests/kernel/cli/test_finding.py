"""How the command finds agentm's modules: as Python does, and what is not as usual is left to Python."""

from __future__ import annotations

import marshal
import os
import py_compile
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import agentm_kernel
import agentm_recall
from agentm_kernel.cli import QuickFinder

FACTS = ("name", "origin", "cached", "has_location", "parent")


def names_in(package) -> list[str]:
    root = Path(package.__path__[0])
    files = [file.relative_to(root).with_suffix("") for file in root.rglob("*.py")]
    return sorted({".".join((package.__name__, *file.parts)).removesuffix(".__init__") for file in files})


@pytest.mark.parametrize("package", [agentm_kernel, agentm_recall], ids=lambda package: package.__name__)
def test_every_module_is_found_where_python_finds_it(package):
    for name in names_in(package):
        parent = name.rpartition(".")[0]
        path = [str(Path(package.__path__[0], *parent.split(".")[1:]))] if parent else None
        quick, usual = QuickFinder.find_spec(name, path), PathFinder.find_spec(name, path)
        assert [getattr(quick, fact) for fact in FACTS] == [getattr(usual, fact) for fact in FACTS]
        assert quick.submodule_search_locations == usual.submodule_search_locations
        assert quick.loader.get_code(name).co_filename == usual.loader.get_code(name).co_filename
        assert quick.loader.get_source(name) == usual.loader.get_source(name)


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("VALUE = 1\n")
    py_compile.compile(str(file))
    return file


def value_of(folder: Path) -> int:
    found: dict[str, int] = {}
    exec(QuickFinder.find_spec("agentm_x.one", [str(folder)]).loader.get_code("agentm_x.one"), found)
    return found["VALUE"]


@pytest.mark.parametrize("more", [1, 0, -1])
def test_a_compiled_form_that_was_not_read_to_its_end_is_left_to_python(module, monkeypatch, more):
    length = next((module.parent / "__pycache__").iterdir()).stat().st_size
    loaded: list[int] = []
    monkeypatch.setattr("agentm_kernel.cli._LONGEST", length + more)
    monkeypatch.setattr("agentm_kernel.cli.loads", lambda data: (loaded.append(len(data)), marshal.loads(data))[1])
    assert value_of(module.parent) == 1
    assert loaded == ([length - 16] if more > 0 else [])


def test_a_source_that_changed_counts_at_once(module):
    assert value_of(module.parent) == 1
    module.write_text("VALUE = 22\n")
    assert value_of(module.parent) == 22
    module.write_text("VALUE = 33\n")
    os.utime(module, (1, 1))
    assert value_of(module.parent) == 33


@pytest.mark.parametrize("damage", [lambda data: data[:12], lambda data: b"", lambda data: b"?" * len(data), None])
def test_a_compiled_form_that_is_damaged_or_gone_is_made_anew(module, damage):
    compiled = next((module.parent / "__pycache__").iterdir())
    compiled.unlink() if damage is None else compiled.write_bytes(damage(compiled.read_bytes()))
    assert value_of(module.parent) == 1


def test_what_is_not_ours_or_not_there_is_left_to_python(module):
    folder = [str(module.parent)]
    assert QuickFinder.find_spec("other.one", folder) is None
    assert QuickFinder.find_spec("agentm_x", None) is None
    assert QuickFinder.find_spec("agentm_x.one", []) is None
    assert QuickFinder.find_spec("agentm_x.two", folder) is None
    assert QuickFinder in sys.meta_path


@pytest.mark.parametrize("first", ["an archive", "the working directory", "a folder", "nothing"])
def test_a_package_is_found_along_the_search_path_unless_python_has_to_look_into_something_first(
    tmp_path, monkeypatch, first
):
    package = tmp_path / "site" / "agentm_x"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    archive = tmp_path / "archive.zip"
    archive.write_bytes(b"")
    (tmp_path / "empty").mkdir()
    before = {"an archive": archive, "the working directory": "", "a folder": tmp_path / "empty"}
    entries = [str(before.get(first, tmp_path / "not there")), str(package.parent)]
    monkeypatch.setattr(sys, "path", entries)
    found = QuickFinder.find_spec("agentm_x", None)
    if first in ("an archive", "the working directory"):
        assert found is None
    else:
        assert found.origin == str(package / "__init__.py")
        assert found.submodule_search_locations == [str(package)]


@pytest.mark.parametrize(
    ("options", "is_used"),
    [([], True), (["-O"], False), (["-X", "pycache_prefix=elsewhere"], False)],
    ids=["plain", "optimised", "compiled elsewhere"],
)
def test_where_compiled_files_lie_elsewhere_python_looks_for_them_itself(options: list[str], is_used: bool) -> None:
    code = "import sys; from agentm_kernel.cli import QuickFinder; print(QuickFinder in sys.meta_path)"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-B", *options, "-c", code]
    assert subprocess.check_output(command, env=environ, text=True) == f"{is_used}\n"
