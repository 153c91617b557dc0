from __future__ import annotations

import sys

import pytest

BACKEND = "src/agentm_example/backend.py"


def backend(verb: str, *, before: str = "", base: str = "StorageBackend") -> dict[str, str]:
    """A plugin with one backend class that has one member."""
    return {BACKEND: f"from agentm_kernel import {base}\n{before}\nclass Example({base}):\n    {verb}\n"}


@pytest.mark.parametrize(
    ("before", "annotation"),
    [
        ("from pathlib import Path", "Path"),
        ("from pathlib import Path", "'Path'"),
        ("from pathlib import Path", "'list[Path]'"),
        ("from pathlib import Path as Locator", "Locator"),
        ("from pathlib import PurePosixPath", "dict[str, list[PurePosixPath | None]]"),
        ("import pathlib", "pathlib.PosixPath"),
        ("import pathlib as p", "tuple[p.Path, ...]"),
        ("import os", "os.PathLike[str]"),
        ("import os", "os.DirEntry[str]"),
        ("from os import PathLike", "str | PathLike[str]"),
        ("from pathlib import Path\nPlace = Path", "Place"),
        ("from pathlib import Path\nfrom typing import TypeAlias\nPlace: TypeAlias = 'Path | str'", "Place"),
        ("from pathlib import Path\nOne = Path\nTwo = list[One]", "dict[str, Two]"),
        ("from pathlib import Path\nfrom typing import NewType\nPlace = NewType('Place', Path)", "Place"),
        ("from pathlib import Path\nfrom typing import TypeVar\nT = TypeVar('T', bound=Path)", "T"),
        ("from pathlib import Path\nclass Place(Path): ...", "Place"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pathlib import Path", "Path"),
        ("try:\n    from upath import UPath as P\nexcept ImportError:\n    P = str", "P"),
    ],
)
def test_a_path_in_the_return_type_of_a_verb_is_found_however_it_is_spelled(rules, before, annotation):
    assert rules(backend(f"def read(self, locator) -> {annotation}: ...", before=before)) == ["path-leak"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax exists from Python 3.12 on")
@pytest.mark.parametrize(
    ("before", "verb"),
    [
        ("from pathlib import Path\ntype Place = Path", "def read(self) -> Place: ..."),
        ("from pathlib import Path", "def read[T: Path](self) -> T: ..."),
    ],
)
def test_a_path_behind_newer_type_syntax_is_found(rules, before, verb):
    assert rules(backend(verb, before=before)) == ["path-leak"]


def test_a_path_behind_an_alias_of_another_module_is_found(rules):
    tree = {
        "src/agentm_example/types.py": "from pathlib import Path\nPlace = Path | str\n",
        "src/agentm_example/__init__.py": "from .types import Place as Spot\n",
        BACKEND: (
            "from agentm_kernel.plugin import StorageBackend\nfrom agentm_example import Spot\n"
            "class Example(StorageBackend):\n    def read(self) -> Spot: ...\n"
        ),
    }

    assert rules(tree) == ["path-leak"]


@pytest.mark.parametrize(
    "verb",
    [
        "async def read(self) -> Path: ...",
        "@property\n    def tier_layout(self) -> Path: ...",
        "@classmethod\n    def create(cls) -> Path: ...",
        "if True:\n        def read(self) -> Path: ...",
        "root: Path",
        "def device_path(self) -> Path: ...",
    ],
)
def test_every_public_member_is_looked_at(rules, verb):
    assert rules(backend(verb, before="from pathlib import Path")) == ["path-leak"]


@pytest.mark.parametrize("base", ["StorageBackend", "FileStore", "BackendLayer", "DeviceFiles", "DeviceCopy"])
def test_each_class_of_the_seam_passes_the_rule_on(rules, base):
    assert rules(backend("def read(self) -> Path: ...", before="from pathlib import Path", base=base)) == [
        "path-leak"
    ]


@pytest.mark.parametrize(
    ("imports", "base"),
    [
        ("import agentm_kernel", "agentm_kernel.StorageBackend"),
        ("import agentm_kernel.plugin as seam", "seam.StorageBackend"),
        ("from agentm_kernel.plugin import StorageBackend\nclass Middle(StorageBackend): ...", "Middle"),
        ("from agentm_kernel.plugin import StorageBackend\nBase = StorageBackend", "Base"),
        ("from agentm_kernel.plugin import StorageBackend\nclass Middle(StorageBackend): ...", "Middle[int]"),
    ],
)
def test_a_backend_is_recognised_however_it_inherits(rules, imports, base):
    text = f"from pathlib import Path\n{imports}\nclass Example({base}):\n    def read(self) -> Path: ...\n"

    assert rules({BACKEND: text}) == ["path-leak"]


def test_a_backend_that_inherits_from_another_module_is_recognised(rules):
    tree = {
        "src/agentm_example/base.py": "from agentm_kernel.plugin import FileStore\nclass Base(FileStore): ...\n",
        BACKEND: (
            "from pathlib import Path\nfrom . import base\n"
            "class Example(base.Base):\n    def read(self) -> Path: ...\n"
        ),
    }

    assert rules(tree) == ["path-leak"]


@pytest.mark.parametrize(
    "verb",
    [
        "def read(self): ...",
        "@property\n    def capabilities(self): ...",
        "read = make_verb()",
        "list = lambda self, locator: []",
        "read = wrapped(Somebody.read)",
        "read = wrapped(StorageBackend.info)",
        "def _refuse(self): ...\n    read = _refuse",
    ],
)
def test_a_verb_without_an_annotation_is_a_finding(rules, verb):
    assert rules(backend(verb)) == ["unannotated-verb"]


@pytest.mark.parametrize(
    ("verb", "found"),
    [
        ("read = wrapped(StorageBackend.read, str)", []),
        ("def _refuse(self) -> str: ...\n    write = mkdir = _refuse", []),
        ("def _refuse(self) -> 'Path': ...\n    write = _refuse", ["path-leak"]),
    ],
)
def test_a_verb_made_of_one_that_says_what_it_returns_is_judged_by_that(rules, verb, found):
    assert rules(backend(verb, before="from pathlib import Path")) == found


@pytest.mark.parametrize(
    "member",
    [
        "def read(self) -> str: ...",
        "def device_path(self, locator) -> str: ...",
        "def __init__(self, root: Path): ...",
        "def write(self, source: Path) -> 'Locator': ...",
        "def _open(self) -> Path: ...",
        "_root: Path",
        "title = make_title()",
        "def read(self) -> Literal['Path']: ...",
        "def read(self) -> typing.Literal['Path']: ...",
    ],
)
def test_what_does_not_cross_the_seam_may_be_a_path(rules, member):
    assert rules(backend(member, before="from pathlib import Path")) == []


def test_a_class_that_is_no_backend_may_return_paths(rules):
    assert rules({BACKEND: "from pathlib import Path\nclass Tool:\n    def read(self) -> Path: ...\n"}) == []


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("def registry_locator(project) -> Path: ...", ["path-leak"]),
        ("def list_locators() -> list[Path]: ...", ["path-leak"]),
        ("def registry_locator(project): ...", ["unannotated-verb"]),
        ("def registry_locator(project) -> str: ...", []),
        ("def state_folder() -> Path: ...", []),
        ("def allocators() -> Path: ...", []),
    ],
)
def test_a_function_that_promises_locators_keeps_its_word(rules, function, expected):
    assert rules({"kernel/agentm_kernel/projects/registry.py": f"from pathlib import Path\n{function}\n"}) == expected


def test_a_method_that_promises_a_locator_is_reported_once(rules):
    verb = "def note_locator(self) -> Path: ..."

    assert rules(backend(verb, before="from pathlib import Path")) == ["path-leak"]


def test_a_finding_names_the_file_the_line_and_the_verb(judge, tmp_path):
    report = judge(backend("def read(self) -> Path: ...", before="from pathlib import Path"))

    (finding,) = report.findings
    assert finding.file == str(tmp_path / BACKEND)
    assert finding.line == 4
    assert "`read` of Example" in finding.sentence
