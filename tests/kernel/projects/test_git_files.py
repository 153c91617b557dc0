"""The `origin` of a repository, found in git's files: the same address that git itself names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel.plugin import ConfigError
from agentm_kernel.projects.git_files import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git

URL = "https://example.com/owner/widgets.git"


def origin(directory: Path) -> str | None:
    repository = find_repository(str(directory))
    assert repository is not None
    return repository.origin_url()


def origin_as_git_says(git: Git, directory: Path) -> str | None:
    return git.attempt(directory, "config", "--get", "remote.origin.url").stdout.decode().rstrip("\n") or None


@pytest.fixture
def widgets(git: Git, tmp_path: Path) -> Path:
    return git.init(tmp_path / "widgets", remote=URL)


@pytest.fixture
def no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The git command cannot be found: whatever still works reads files."""
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))


# ------------------------------------------------------------------------------------------------ repositories


def test_the_origin_is_found_from_anywhere_in_the_work_tree(widgets: Path) -> None:
    (widgets / "src").mkdir()
    assert origin(widgets) == origin(widgets / "src") == URL


def test_a_repository_without_an_origin_has_none(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    git(root, "remote", "add", "upstream", URL)
    assert origin(root) is None


def test_outside_of_any_repository_there_is_none(tmp_path: Path) -> None:
    assert find_repository(str(tmp_path)) is None


def test_a_repository_without_a_configuration_has_no_origin(widgets: Path) -> None:
    (widgets / ".git" / "config").unlink()
    assert origin(widgets) is None


def test_a_clone_names_what_it_was_cloned_from(git: Git, widgets: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(widgets), "copy")
    assert origin(tmp_path / "copy") == origin_as_git_says(git, tmp_path / "copy") == str(widgets)


def test_a_linked_worktree_has_the_origin_of_its_repository(git: Git, widgets: Path, tmp_path: Path) -> None:
    git(widgets, "worktree", "add", "--quiet", str(tmp_path / "elsewhere"))
    assert origin(tmp_path / "elsewhere") == origin_as_git_says(git, tmp_path / "elsewhere") == URL


def test_a_worktree_of_a_bare_repository_has_its_origin(git: Git, widgets: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(widgets), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "topic")
    assert origin(tmp_path / "tree") == origin_as_git_says(git, tmp_path / "tree") == str(widgets)


def test_a_hidden_bare_repository_with_worktrees_beside_it_is_found(git: Git, widgets: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    git(tmp_path, "clone", "--quiet", "--bare", str(widgets), "project/.bare")
    (project / ".git").write_text("gitdir: ./.bare\n")
    git(project, "worktree", "add", "--quiet", "topic")
    assert origin(project) == origin(project / "topic") == origin_as_git_says(git, project / "topic") == str(widgets)


def test_a_submodule_has_an_origin_of_its_own(git: Git, widgets: Path, tmp_path: Path) -> None:
    outer = git.init(tmp_path / "outer", remote="https://example.com/owner/outer.git")
    git(outer, "submodule", "--quiet", "add", str(widgets), "lib/widgets")
    assert origin(outer / "lib" / "widgets") == origin_as_git_says(git, outer / "lib" / "widgets") == str(widgets)
    assert origin(outer / "lib") == "https://example.com/owner/outer.git"


def test_a_repository_whose_files_lie_elsewhere_is_found(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets", f"--separate-git-dir={tmp_path / 'hidden'}", remote=URL)
    assert (root / ".git").is_file()
    assert origin(root) == origin_as_git_says(git, root) == URL


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_git_folder_that_is_a_link_is_followed(widgets: Path, tmp_path: Path) -> None:
    (widgets / ".git").rename(tmp_path / "moved")
    (widgets / ".git").symlink_to(tmp_path / "moved")
    assert origin(widgets) == URL


def test_git_variables_of_an_outer_process_change_nothing(
    git: Git, widgets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = git.init(tmp_path / "other", remote="https://example.com/owner/other.git")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert origin(widgets) == URL


# ------------------------------------------------------------------------------------------------ configurations


def test_of_several_addresses_it_is_the_one_git_fetches_from(git: Git, widgets: Path) -> None:
    git(widgets, "remote", "set-url", "--add", "origin", "https://example.com/mirror.git")
    assert origin(widgets) == git(widgets, "remote", "get-url", "origin").strip() == URL


@pytest.mark.parametrize("key", ["insteadOf", "pushInsteadOf"])
def test_rewriting_rules_do_not_change_who_the_origin_is(git: Git, widgets: Path, key: str) -> None:
    git(widgets, "config", f"url.ssh://git@example.com/.{key}", "https://example.com/")
    assert origin(widgets) == URL


def test_a_worktree_may_add_a_configuration_of_its_own(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    git(root, "config", "extensions.worktreeConfig", "true")
    git(tmp_path / "tree", "config", "--worktree", "remote.origin.url", URL)
    assert origin(tmp_path / "tree") == origin_as_git_says(git, tmp_path / "tree") == URL
    assert origin(root) is origin_as_git_says(git, root) is None


def test_a_worktrees_own_configuration_counts_only_when_it_is_switched_on(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    (root / ".git" / "config.worktree").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    assert origin(root) is origin_as_git_says(git, root) is None
    git(root, "config", "extensions.worktreeConfig", "true")
    assert origin(root) == origin_as_git_says(git, root) == URL


@pytest.mark.parametrize("path", ["extra", "sub/extra", "~/extra", "{tmp}/extra", "../../outside"])
def test_an_included_file_is_read_where_git_looks_for_it(git: Git, tmp_path: Path, path: str) -> None:
    root = git.init(tmp_path / "widgets")
    path = path.format(tmp=tmp_path)
    extra = tmp_path / path[2:] if path.startswith("~") else root / ".git" / path
    extra.parent.mkdir(exist_ok=True)
    extra.write_text(f'[remote "origin"]\n\turl = {URL}\n')
    git(root, "config", "include.path", path)
    assert origin(root) == URL
    if not path.startswith("~"):  # git's home is another one here
        assert origin_as_git_says(git, root) == URL


def test_an_included_file_that_is_missing_is_nothing_to_complain_about(git: Git, widgets: Path) -> None:
    git(widgets, "config", "include.path", "missing")
    assert origin(widgets) == origin_as_git_says(git, widgets) == URL


def test_an_included_file_beside_git_itself_is_left_to_git(git: Git, tmp_path: Path) -> None:
    root = git.init(tmp_path / "widgets")
    (root / ".git" / "%(prefix)").mkdir()
    (root / ".git" / "%(prefix)" / "extra").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    git(root, "config", "include.path", "%(prefix)/extra")
    assert origin(root) == origin_as_git_says(git, root)
    assert origin(root) != URL


def test_files_that_include_each_other_are_refused_as_git_does(git: Git, widgets: Path) -> None:
    git(widgets, "config", "include.path", "config")
    assert git.attempt(widgets, "config", "--get", "remote.origin.url").returncode not in (0, 1)
    with pytest.raises(ConfigError, match="include each other"):
        origin(widgets)


@pytest.mark.usefixtures("no_git")
def test_a_condition_that_cannot_matter_needs_no_git(tmp_path: Path) -> None:
    without_git_to_ask(
        tmp_path / "widgets",
        '[includeIf "gitdir:~/clients/"]\n\tpath = names\n[includeIf "onbranch:main"]\n\tpath = missing\n',
    )
    assert origin(tmp_path / "widgets") == URL


@pytest.mark.parametrize("setting", ['[includeIf "onbranch:main"]\n\turl = other', "[extensions]\n\tpath = other"])
def test_what_is_not_the_path_of_an_include_includes_nothing(tmp_path: Path, setting: str) -> None:
    without_git_to_ask(tmp_path / "widgets", f"{setting}\n")
    assert origin(tmp_path / "widgets") == URL


def without_git_to_ask(root: Path, settings: str) -> None:
    """What git takes for no repository, and so answers no question about."""
    git_dir = root / ".git"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "names").write_text("[user]\n\tname = Ada\n")
    (git_dir / "other").write_text('[remote "origin"]\n\turl = https://example.org/other.git\n')
    (git_dir / "config").write_text(f'[remote "origin"]\n\turl = {URL}\n{settings}')


@pytest.mark.parametrize(("branch", "holds"), [("main", True), ("other", False)])
def test_a_condition_that_decides_about_the_origin_is_left_to_git(
    git: Git, tmp_path: Path, branch: str, holds: bool
) -> None:
    root = git.init(tmp_path / "widgets", "--initial-branch=main")
    (root / ".git" / "extra").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    git(root, "config", f"includeIf.onbranch:{branch}.path", "extra")
    assert origin(root) == origin_as_git_says(git, root) == (URL if holds else None)


def test_asking_git_ignores_what_is_not_the_repositorys_own(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = git.init(tmp_path / "widgets", "--initial-branch=main")
    (root / ".git" / "extra").write_text(f'[remote "origin"]\n\turl = {URL}\n')
    git(root, "config", "includeIf.onbranch:main.path", "extra")
    (tmp_path / "global").write_text('[remote "origin"]\n\turl = https://example.com/everywhere.git\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert origin(root) == URL


def test_what_git_and_its_tools_write_is_read_without_git(
    git: Git, widgets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "branch.main.description": 'Fix "quotes", C:\\paths\tand #7; then\nthe rest\n',
        "branch.main.github-pr-owner-number": "owner#widgets#7",
        "url.ssh://git@example.com/.insteadOf": "https://example.com/",
        "alias.recent": '!f() { git log --format="%h \\"%s\\"" "$@"; }; f',
        "core.sshCommand": 'ssh -i "C:/Users/Ada Lovelace/.ssh/id"',
        "user.name": "Ada, Countess of Lovelace; née Byron",
        "remote.origin.fetch": "+refs/pull/*/head:refs/remotes/origin/pr/*",
        "extensions.worktreeConfig": "true",
    }
    for name, value in settings.items():
        git(widgets, "config", name, value)
    git(widgets, "worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "topic/one")
    git(tmp_path / "tree", "config", "--worktree", "user.email", "ada@example.com")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert origin(widgets) == origin(tmp_path / "tree") == URL


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root to give a repository to another user")
def test_another_users_repository_is_asked_about_as_well(git: Git, tmp_path: Path) -> None:
    """Git that searches for the repository passes over such a one, and would say that there is no origin."""
    root = conditional(git, tmp_path, url="other")
    git(root, "symbolic-ref", "HEAD", "refs/heads/main")
    for path in (root, root / ".git"):
        os.chown(path, 54321, 54321)
    assert origin_as_git_says(git, root) is None
    assert origin(root) == "other"


# ------------------------------------------------------------------------------------------------ errors


def conditional(git: Git, tmp_path: Path, url: str = URL) -> Path:
    """A repository for which git has to be asked."""
    root = git.init(tmp_path / "widgets")
    (root / ".git" / "extra").write_text(f'[remote "origin"]\n\turl = {url}\n')
    git(root, "config", "includeIf.onbranch:main.path", "extra")
    return root


def test_where_git_has_to_be_asked_and_is_not_installed_it_says_so(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = conditional(git, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="not installed"):
        origin(root)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as command")
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("exec sleep 60", "did not answer within 1 s"),
        ("echo broken >&2; exit 128", "broken"),
        ("printf 'local\\0\\377\\0'", "UTF-8"),
    ],
)
def test_a_git_that_hangs_fails_or_babbles_is_an_error(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str
) -> None:
    root = conditional(git, tmp_path)
    command = tmp_path / "bin" / "git"
    command.parent.mkdir()
    command.write_text(f"#!{shutil.which('sh')}\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ConfigError, match=complaint):
        origin(root)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (b"[core\n", "line 1 is not valid"),
        (f'[remote "origin"]\nurl = {URL}\nnot valid\n'.encode(), "line 3 is not valid"),
        ('[remote "origin"]\nurl = x\n'.encode("utf-16"), "line 1 is not valid"),
        (b'[remote "origin"]\nurl = caf\xe9\n', "not UTF-8"),
        (b'[remote "origin"]\nurl\n', "no value"),
    ],
)
def test_a_configuration_that_cannot_be_understood_is_an_error_naming_the_file(
    widgets: Path, config: bytes, complaint: str
) -> None:
    path = widgets / ".git" / "config"
    path.write_bytes(config)
    with pytest.raises(ConfigError, match=complaint) as caught:
        origin(widgets)
    assert str(path) in caught.value.message


def test_an_included_file_that_no_system_could_have_is_an_error(widgets: Path) -> None:
    (widgets / ".git" / "config").write_bytes(b"[include]\npath = a\0b\n")
    with pytest.raises(ConfigError, match="NUL"):
        origin(widgets)


def test_an_old_encoding_elsewhere_in_the_file_does_not_matter(git: Git, widgets: Path) -> None:
    path = widgets / ".git" / "config"
    path.write_bytes(b"[user]\n\tname = Andr\xe9\n" + path.read_bytes())
    assert origin(widgets) == origin_as_git_says(git, widgets) == URL


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
@pytest.mark.parametrize("kind", ["directory", "fifo", "dangling link", "link to itself"])
def test_a_configuration_that_is_not_a_file_is_an_error_at_once(widgets: Path, kind: str) -> None:
    path = widgets / ".git" / "config"
    path.unlink()
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("missing" if kind == "dangling link" else "config")
    with pytest.raises(ConfigError, match="cannot be read"):
        origin(widgets)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_configuration_that_may_not_be_read_is_an_error(widgets: Path) -> None:
    (widgets / ".git" / "config").chmod(0)
    script = (
        "import os; from agentm_kernel.errors import ConfigError  # now: the other user may not\n"
        "from agentm_kernel.projects.git_files import Repository\n"
        "os.geteuid() or os.seteuid(65534)  # root may read everything\n"
        "try: Repository('', '.', '.').origin_url()\n"
        "except Exception as error: print(type(error).__name__, error.message)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=widgets / ".git", capture_output=True, text=True, check=True
    )
    assert done.stdout == f"ConfigError {os.path.join('.', 'config')} cannot be read: Permission denied\n"


@pytest.mark.parametrize("pointer", ["", "gitdir:", "somewhere\n"])
def test_a_git_file_that_points_nowhere_is_an_error(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    with pytest.raises(ConfigError, match="does not point"):
        find_repository(str(tmp_path))


def test_a_worktree_whose_repository_is_not_there_is_an_error_that_says_what_to_do(
    git: Git, widgets: Path, tmp_path: Path
) -> None:
    git(widgets, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    widgets.rename(tmp_path / "moved")
    with pytest.raises(ConfigError, match="not there") as caught:
        find_repository(str(tmp_path / "tree"))
    assert "git worktree repair" in (caught.value.hint or "")
    git(tmp_path / "moved", "worktree", "repair", str(tmp_path / "tree"))
    assert origin(tmp_path / "tree") == URL
