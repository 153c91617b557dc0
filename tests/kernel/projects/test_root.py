"""From a working directory to the root of its project."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import ConfigError
from agentm_kernel.projects import find_project_root, read_checkout_file, read_rare_file

if TYPE_CHECKING:
    from pathlib import Path

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")


def found(directory: Path) -> str:
    return find_project_root(str(directory))


def make(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory


def make_git(directory: Path) -> Path:
    """As much of a repository as marks a work tree."""
    make(directory / ".git").joinpath("HEAD").write_text("ref: refs/heads/main\n")
    return directory


def test_a_directory_with_harness_is_a_root_from_anywhere_below(tmp_path: Path) -> None:
    root = make(tmp_path / "project")
    make(root / ".harness")
    assert found(root) == found(make(root / "src" / "deep")) == str(root)


def test_a_git_work_tree_is_a_root_from_anywhere_below(tmp_path: Path) -> None:
    root = make_git(tmp_path / "project")
    assert found(root) == found(make(root / "src" / "deep")) == str(root)


def test_a_git_file_marks_a_work_tree_too(tmp_path: Path) -> None:
    root = make(tmp_path / "project")
    (root / ".git").write_text("gitdir: elsewhere\n")
    assert found(make(root / "src")) == str(root)


def test_the_nearest_root_wins(tmp_path: Path) -> None:
    outer = make_git(tmp_path / "outer")
    inner = make(outer / "packages" / "inner")
    make(inner / ".harness")
    nested = make_git(inner / "vendor" / "lib")
    assert found(make(nested / "src")) == str(nested)
    assert found(make(inner / "src")) == str(inner)
    assert found(outer / "packages") == str(outer)


def test_without_any_root_it_is_the_working_directory(tmp_path: Path) -> None:
    lonely = make(tmp_path / "a" / "b")
    assert found(lonely) == str(lonely)


@pytest.mark.parametrize("name", [".git", ".harness"])
def test_what_only_looks_like_a_marker_is_none(tmp_path: Path, name: str) -> None:
    root = make_git(tmp_path / "project")
    below = make(root / "below")
    if name == ".git":
        make(below / ".git")  # empty: git does not take it for a repository either
    else:
        (below / ".harness").write_text("a file, not a folder")
    assert found(below) == str(root)


@posix_only
def test_a_project_entered_through_a_link_has_the_same_root(tmp_path: Path) -> None:
    root = make_git(tmp_path / "project")
    link = tmp_path / "link"
    link.symlink_to(make(root / "src"))
    assert found(link) == str(root)


def test_without_an_argument_it_starts_where_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_git(tmp_path / "project")
    monkeypatch.chdir(make(root / "src"))
    assert find_project_root() == str(root)
    assert find_project_root("..") == str(root)


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    make_git(tmp_path / "project")
    with pytest.raises(ConfigError, match="not a directory"):
        found(tmp_path / "project" / "gone")


@posix_only
def test_a_current_directory_that_was_removed_is_an_error(tmp_path: Path) -> None:
    gone = make(tmp_path / "gone")
    script = (
        "import os; from agentm_kernel.projects import find_project_root\n"
        "os.rmdir(os.getcwd())\n"
        "try: find_project_root()\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=gone, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "ConfigError"


@pytest.mark.parametrize("name", [".harness", ".git"])
def test_what_cannot_be_looked_at_is_an_error_and_not_absence(tmp_path: Path, name: str) -> None:
    below = make(tmp_path / "below")
    (below / name).symlink_to(name)  # a link to itself: neither there nor absent
    with pytest.raises(ConfigError, match="cannot tell|symbolic link"):
        found(below)


def test_looking_for_a_root_imports_nothing_and_starts_nothing(tmp_path: Path) -> None:
    make_git(tmp_path / "project")
    script = (
        "import sys; from agentm_kernel.projects.checkout import identify_project\n"
        "from agentm_kernel.projects import find_project_root\n"
        "from agentm_kernel.projects import lookup\n"
        "identify_project(find_project_root()).remote\n"
        "print(*sorted({'re', 'json', 'typing', 'pathlib', 'subprocess', 'dataclasses', 'collections', 'enum'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=tmp_path / "project",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.split() == []


def test_a_file_of_a_checkout_has_four_megabytes_at_most(tmp_path: Path) -> None:
    file = tmp_path / "project.json"
    for size, is_read in ((4 * 2**20, True), (4 * 2**20 + 1, False)):
        file.write_bytes(b"x" * size)
        for read in (read_checkout_file, read_rare_file):
            if is_read:
                assert len(read(str(file)) or b"") == size
            else:
                with pytest.raises(ConfigError, match=r"project\.json"):
                    read(str(file))
