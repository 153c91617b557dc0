"""What a project is called: one name from wherever it is entered, and never a name that no store could hold."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from agentm_kernel.plugin import ConfigError, InvalidLocatorError, normalize_key
from agentm_kernel.projects import find_project_root
from agentm_kernel.projects.checkout import identify_project, plain_slug
from agentm_kernel.projects.remote import safe_name

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git

URL = "https://example.com/owner/widgets.git"


def slug(directory: Path) -> str:
    return identify_project(find_project_root(str(directory))).slug


def declare(root: Path, content: object) -> Path:
    """Give `root` a `project.json`; text is written as it is."""
    path = root / ".harness" / "project.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# ------------------------------------------------------------------------------------------------ one name


@pytest.mark.parametrize("named_by", ["remote", "directory"])
def test_from_a_subdirectory_and_a_worktree_a_project_has_one_name(git: Git, tmp_path: Path, named_by: str) -> None:
    root = git.init(tmp_path / "widgets", remote=URL if named_by == "remote" else None)
    (root / "src" / "deep").mkdir(parents=True)
    git(root, "worktree", "add", "--quiet", str(tmp_path / "fix-123"))
    (tmp_path / "fix-123" / "src").mkdir()
    directories = (root, root / "src" / "deep", tmp_path / "fix-123", tmp_path / "fix-123" / "src")
    assert {slug(directory) for directory in directories} == {"widgets"}


def test_a_renamed_folder_a_second_clone_and_a_submodule_have_the_name_of_the_remote(
    git: Git, tmp_path: Path
) -> None:
    upstream = git.init(tmp_path / "upstream" / "widgets")
    git(tmp_path, "clone", "--quiet", str(upstream), "widgets")
    git(tmp_path, "clone", "--quiet", str(upstream), "second")
    outer = git.init(tmp_path / "outer")
    git(outer, "submodule", "--quiet", "add", str(upstream), "lib")
    (tmp_path / "widgets").rename(tmp_path / "renamed")
    found = [identify_project(str(path)) for path in (tmp_path / "renamed", tmp_path / "second", outer / "lib")]
    assert {project.slug for project in found} == {"widgets"}
    assert len({project.remote for project in found}) == 1


def test_worktrees_of_a_bare_repository_without_a_remote_have_its_name(git: Git, tmp_path: Path) -> None:
    git.init(tmp_path / "source")
    for bare in ("widgets.git", "gadgets/.bare"):
        git(tmp_path, "clone", "--quiet", "--bare", "source", bare)
        git(tmp_path / bare, "remote", "remove", "origin")
        git(tmp_path / bare, "worktree", "add", "--quiet", str(tmp_path / bare.replace("/", "-") / "tree"), "-b", "x")
    assert slug(tmp_path / "widgets.git" / "tree") == "widgets"
    assert slug(tmp_path / "gadgets-.bare" / "tree") == "gadgets"


# ------------------------------------------------------------------------------------------------ the chain


def test_the_first_that_names_the_project_wins(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "folder", remote=URL)
    declare(root, {"vault_project": "declared", "github": {"repo": "owner/from-github"}})
    assert slug(root) == "declared"
    declare(root, {"github": {"repo": "owner/from-github"}})
    assert slug(root) == "from-github"
    declare(root, {})
    assert slug(root) == "widgets"
    git(root, "remote", "remove", "origin")
    assert slug(root) == "folder"


@pytest.mark.parametrize(
    ("declared", "source"),
    [
        ({"vault_project": "x"}, "`vault_project` in "),
        ({"github": {"repo": "o/x"}}, "`github.repo` in "),
        (None, "the directory's name"),
    ],
)
def test_it_tells_where_the_name_comes_from(tmp_path: Path, declared: object, source: str) -> None:
    if declared:
        declare(tmp_path, declared)
    assert identify_project(str(tmp_path)).source.startswith(source)


@pytest.mark.parametrize(
    "repo", ["widgets", "owner/widgets", "owner/widgets.git", "https://example.com/owner/widgets.git", " o/widgets "]
)
def test_github_repo_names_the_project_by_its_last_part(tmp_path: Path, repo: str) -> None:
    declare(tmp_path, {"github": {"repo": repo}})
    assert slug(tmp_path) == "widgets"


@pytest.mark.parametrize(
    "content", [{}, {"vault_project": None, "github": None}, {"vault_project": "  ", "github": {"repo": ""}}]
)
def test_what_is_left_blank_names_nothing(tmp_path: Path, content: object) -> None:
    root = tmp_path / "widgets"
    declare(root, content)
    assert slug(root) == "widgets"


def test_a_remote_without_a_path_leaves_the_name_to_the_directory(git: Git, tmp_path: Path) -> None:
    assert slug(git.init(tmp_path / "widgets", remote="https://example.com/")) == "widgets"


def test_a_declared_name_needs_no_git(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /not/mounted/here\n")
    declare(tmp_path, {"vault_project": "widgets"})
    project = identify_project(str(tmp_path))
    assert project.slug == "widgets"
    with pytest.raises(ConfigError, match="not there"):
        _ = project.remote


# ------------------------------------------------------------------------------------------------ declared names


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '"widgets"', '{"vault_project": "a", "vault_project": "b"}', "\ufeff{}", "{} {}"]
    + ['{"vault_project": 5}', '{"vault_project": ["a"]}', '{"github": "o/r"}', '{"github": {"repo": {}}}'],
)
def test_a_project_file_that_cannot_be_understood_is_an_error_naming_it(tmp_path: Path, content: str) -> None:
    path = declare(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        identify_project(str(tmp_path))
    assert str(path) in caught.value.message
    assert caught.value.hint == "correct that file; it says what the project is called"


BAD_NAMES = ("..", "a\\b", "con", "a\u202eb", "x" * 201, "a:b", "dot.")


@pytest.mark.parametrize(
    ("key", "name"),
    [("vault_project", name) for name in (*BAD_NAMES, "a/b", "/a", ".", ".git")]
    + [("github.repo", f"owner/{name}") for name in (*BAD_NAMES, ".github")],
)
def test_a_declared_name_that_no_store_can_hold_is_refused_with_what_to_set(
    tmp_path: Path, key: str, name: str
) -> None:
    declare(tmp_path, {"vault_project": name} if key == "vault_project" else {"github": {"repo": name}})
    with pytest.raises(ConfigError, match="cannot name a project") as caught:
        identify_project(str(tmp_path))
    assert f"`{key}`" in caught.value.message
    assert "vault_project" in (caught.value.hint or "")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
@pytest.mark.parametrize("kind", ["fifo", "directory", "dangling link", "not UTF-8"])
def test_a_project_file_that_cannot_be_read_is_an_error_and_not_absence(tmp_path: Path, kind: str) -> None:
    path = declare(tmp_path, {})
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "dangling link":
        path.symlink_to("missing")
    else:
        path.write_bytes(b'{"vault_project": "caf\xe9"}')
    with pytest.raises(ConfigError, match=r"project\.json"):
        identify_project(str(tmp_path))


@pytest.mark.parametrize("name", ["", ".", "a/b", "..", 5])
def test_a_name_that_is_not_one_plain_name_is_an_invalid_locator(name: object) -> None:
    with pytest.raises(InvalidLocatorError):
        plain_slug(name)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ found names


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("widgets", "widgets"),
        ("My Widgets 2.0", "My Widgets 2.0"),
        ("wïdgets-日本語", "wïdgets-日本語"),
        ("cafe\u0301", "café"),
        (".dotfiles", ".dotfiles"),
        (".github", "github"),
        (".claude", "claude"),
        ("a:b?c", "a-b-c"),
        ("trailing. ", "trailing"),
        ("aux", "project-aux"),
        ("NUL.md", "project-NUL.md"),
        ("git~1", "project-git~1"),
        ("...", "project"),
        ("", "project"),
        ("a\udcffb", "a-b"),
        ("a\u202eb", "a-b"),
    ],
)
def test_a_found_name_is_kept_where_stores_can_hold_it_and_made_safe_where_not(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=300) | st.text(alphabet="éa\u0301\u3000 .~-日<\u0338\u200d", max_size=120))
def test_whatever_a_directory_is_called_its_project_has_a_name_that_stores_can_hold(name: str) -> None:
    safe = safe_name(name.replace("/", ""))
    assert normalize_key(safe) == safe
    assert "/" not in safe


@pytest.mark.skipif(os.name == "nt", reason="Windows has other names")
@pytest.mark.parametrize("name", [b"a:b", b"caf\xe9", b"\xf0\x9f\x92\xa9", b"..."])
def test_a_directory_of_any_name_can_be_a_project(tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(path)
    project = identify_project(os.fsdecode(path))
    assert normalize_key(project.slug) == project.slug
    assert project.remote is None


def test_the_root_of_the_file_system_can_be_a_project() -> None:
    project = identify_project("/")
    assert (project.slug, project.remote) == ("project", None)
