"""The text of a git configuration file: what it says of the origin is what git says. Git itself is the measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from agentm_kernel.plugin import ConfigError
from agentm_kernel.projects.git_files import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kernel.projects.conftest import Git

REFUSED = "refused"

LINES = (
    '[remote "origin"]',
    "[remote.origin]",
    "[remote.Origin]",
    '[Remote "Origin"]',
    '  [ remote "origin" ]',
    '[remote"origin"]',
    '[remote "or\\igin"]',
    '[remote "a\\"b\\\\c]d # e"]',
    '[remote "unclosed]',
    '[remote "unclosed\\',
    "[un closed]",
    "[core",
    "[]",
    '[ "x"]',
    "[a-b.c]",
    "[remote] url = same-line",
    '[remote "origin"]url=tight[core]',
    "[a] [b] key = c # d",
    "\turl = https://example.com/o/r.git",
    "URL=git@example.com:o/r.git",
    "url = spaces  inside   ",
    'url = " kept "  ',
    'url = a " b " c ',
    "url = a;b",
    "url = a # b",
    'url = "a # b" ; c',
    'url = "unclosed',
    'url = esc\\\\aped \\"x\\" \\t\\n\\b',
    "url = bad \\x escape",
    "url = continued \\",
    'url = "continued \\',
    "# comment, not continued \\",
    "url = value # comment, not continued \\",
    "url =",
    "url",
    "url # no value",
    "na-me9 = x",
    "9a = x",
    "na_me = x",
    "é = x",
    "  indented",
    '  "',
    "; comment",
    "=",
    "",
    "   ",
    "lone\rreturn = x",
    "url = lone\rreturn",
    "[include]",
    '[includeIf "onbranch:main"]',
    '[includeIf "onbranch:other"]',
    "path = extra",
    "path = names",
    "path = missing",
    'path = "extra" # quoted',
    "path = broken",
    "[extensions]",
    "worktreeConfig = true",
    "worktreeConfig = false",
    "worktreeConfig",
    '[branch "main"]',
    'description = one \\"two\\" \\\\ three\\nfour\\n',
    'description = "a # b"',
)
FILES = {
    "extra": '[remote "origin"]\n\turl = https://example.com/extra.git\n',
    "names": '[user]\n\tname = "Ada; Countess" # of Lovelace\n',
    "broken": "[user]\n\tname = \\x\n",
    "config.worktree": '[remote "origin"]\n\turl = https://example.com/of-the-worktree.git\n',
}


@pytest.fixture(scope="module")
def folder(git: Git, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = git.init(tmp_path_factory.mktemp("generated"), "--initial-branch=main")
    for name, text in FILES.items():
        (root / ".git" / name).write_text(text)
    return root


def as_git_reads_it(git: Git, root: Path) -> str | None:
    done = git.attempt(root, f"--git-dir={root / '.git'}", "config", "--null", "--includes", "--list")
    if done.returncode:
        return REFUSED
    entries = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
    urls = [value if newline else None for name, newline, value in entries if name == "remote.origin.url"]
    return REFUSED if None in urls else next(filter(None, urls), None)  # git refuses one without a value later


def as_we_read_it(root: Path) -> str | None:
    git_dir = str(root / ".git")
    try:
        return Repository(str(root), git_dir, git_dir).origin_url()
    except ConfigError as error:
        return REFUSED if error.hint else None


def blanks_alike(url: str | None) -> str | None:
    """Older gits turn every blank inside a value into a space, newer ones keep it; either will do."""
    return url and url.replace("\t", " ").replace("\r", " ")


def assert_read_alike(git: Git, root: Path, text: str, bom: str = "") -> None:
    every_repository_has = "[core]\n\trepositoryformatversion = 0\n"
    (root / ".git" / "config").write_bytes((bom + every_repository_has + text).encode())
    assert blanks_alike(as_we_read_it(root)) == blanks_alike(as_git_reads_it(git, root))


def test_an_address_without_a_value_beside_one_in_quotes_is_refused_as_git_does(git: Git, folder: Path) -> None:
    assert_read_alike(git, folder, '[remote "origin"]\nurl = " kept "\nurl')


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.sampled_from(LINES), max_size=6), ending=st.sampled_from(("\n", "\r\n")), bom=st.booleans())
@example(lines=['[remote "origin"]', "url = continued \\"], ending="\n", bom=False)
@example(lines=['[remote "origin"]', "url = a \\", "  ", "url = b"], ending="\r\n", bom=True)
@example(lines=["[user]", "name = a \\", '[remote "origin"]', "url = not here"], ending="\n", bom=False)
def test_any_text_reads_as_it_does_for_git(git: Git, folder: Path, lines: list[str], ending: str, bom: bool) -> None:
    assert_read_alike(git, folder, ending.join(lines), "\ufeff" if bom else "")


@pytest.mark.parametrize("line", LINES)
def test_every_line_alone_and_in_a_section_reads_as_it_does_for_git(git: Git, folder: Path, line: str) -> None:
    origin = '[remote "origin"]\n'
    for text in (line, f"{origin}{line}\n", f"{line}\nurl = one\n", f"[user]\n{line}\n{origin}url = one\n"):
        assert_read_alike(git, folder, text)


def test_a_bad_line_is_counted_as_an_editor_counts_it(folder: Path) -> None:
    (folder / ".git" / "config").write_bytes(b"[core]\r\n\r\n# fine\r\nnot fine\r\n")
    with pytest.raises(ConfigError, match="line 4 "):
        Repository(str(folder), str(folder / ".git"), str(folder / ".git")).origin_url()


@pytest.mark.parametrize(
    ("value", "meaning"),
    [("", True), ("= true", True), ("= Yes", True), ("= on", True), ("= 1", True)]
    + [("= false", False), ("= No", False), ("= off", False), ("= 0", False), ("=", False)],
)
def test_switches_mean_what_git_takes_them_for(git: Git, folder: Path, value: str, meaning: bool) -> None:
    assert_read_alike(git, folder, f"[extensions]\n\tworktreeConfig {value}\n")
    assert (as_we_read_it(folder) is not None) is meaning
