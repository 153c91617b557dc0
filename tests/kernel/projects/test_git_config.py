"""The text of a git configuration file, read as git reads it: git itself is the measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from agentm_kernel.projects.git_files import BadGitConfig, is_true, parse_git_config

if TYPE_CHECKING:
    from tests.kernel.projects.conftest import Git

Entries = list[tuple[str, str | None]]

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
)


def as_git_reads_it(git: Git, path: pytest.TempPathFactory, text: str) -> Entries | None:
    file = path.getbasetemp() / "generated-config"
    file.write_bytes(text.encode())
    done = git.attempt(path.getbasetemp(), "config", "--file", str(file), "--null", "--list")
    if done.returncode:
        return None
    entries = [entry.partition("\n") for entry in done.stdout.decode().split("\0")[:-1]]
    return [(name, value if newline else None) for name, newline, value in entries]


def as_we_read_it(text: str) -> Entries | None:
    try:
        return list(parse_git_config(text))
    except BadGitConfig:
        return None


def blanks_alike(entries: Entries | None) -> Entries | None:
    """Older gits turn every blank inside a value into a space, newer ones keep it; either will do."""
    return entries and [(name, value and value.replace("\t", " ").replace("\r", " ")) for name, value in entries]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.sampled_from(LINES), max_size=6), ending=st.sampled_from(("\n", "\r\n")), bom=st.booleans())
@example(lines=['[remote "origin"]', "url = continued \\"], ending="\n", bom=False)
@example(lines=['[remote "origin"]', "url = a \\", "  ", "url = b"], ending="\r\n", bom=True)
def test_any_text_reads_as_it_does_for_git(
    git: Git, tmp_path_factory: pytest.TempPathFactory, lines: list[str], ending: str, bom: bool
) -> None:
    text = ("\ufeff" if bom else "") + ending.join(lines)
    assert blanks_alike(as_we_read_it(text)) == blanks_alike(as_git_reads_it(git, tmp_path_factory, text))


@pytest.mark.parametrize("line", LINES)
def test_every_line_alone_and_in_a_section_reads_as_it_does_for_git(
    git: Git, tmp_path_factory: pytest.TempPathFactory, line: str
) -> None:
    for text in (line, f'[remote "origin"]\n{line}\n'):
        assert blanks_alike(as_we_read_it(text)) == blanks_alike(as_git_reads_it(git, tmp_path_factory, text))


def test_a_bad_line_is_counted_as_an_editor_counts_it() -> None:
    with pytest.raises(BadGitConfig) as caught:
        list(parse_git_config("[core]\r\n\r\n# fine\r\nnot fine\r\n"))
    assert caught.value.line == 4


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(None, True), ("true", True), ("Yes", True), ("on", True), ("1", True)]
    + [("false", False), ("No", False), ("off", False), ("0", False), ("", False)],
)
def test_switches_mean_what_git_takes_them_for(value: str | None, meaning: bool) -> None:
    assert is_true(value) is meaning
