"""The union of two versions has every line of both, in the order of each."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentm_obsidian_vault.merge import is_append_only, is_version, union

LINES = st.lists(st.sampled_from(["- a", "- b", "- c", "", "# day", "- a "]), max_size=12)


def text_of(lines: list[str], *, ends: bool = True) -> str:
    return "\n".join(lines) + ("\n" if lines and ends else "")


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_every_line_of_both_survives_in_order(mine: list[str], theirs: list[str], a: bool, b: bool) -> None:
    merged = union(text_of(mine, ends=a), text_of(theirs, ends=b)).split("\n")
    assert is_subsequence(mine, merged)
    assert is_subsequence(theirs, merged)


@given(LINES, LINES, LINES)
def test_what_both_began_with_stands_once_and_first(common: list[str], mine: list[str], theirs: list[str]) -> None:
    merged = union(text_of(common + mine), text_of(common + theirs))
    assert merged.startswith(text_of(common))
    assert len(merged.splitlines()) <= len(common) + len(mine) + len(theirs)


@given(LINES, LINES)
def test_a_version_that_is_only_behind_adds_nothing(lines: list[str], more: list[str]) -> None:
    longer = text_of(lines + more)
    assert union(longer, text_of(lines)) == longer
    assert union(text_of(lines), longer) == longer
    assert union(longer, longer) == longer


@given(st.text(), st.text())
def test_any_text_can_be_merged(mine: str, theirs: str) -> None:
    merged = union(mine, theirs)
    lines = [line.removesuffix("\r") for line in merged.split("\n")]
    for side in (mine, theirs):
        wanted = [line.removesuffix("\r") for line in side.split("\n")]
        assert is_subsequence(wanted[:-1] if wanted[-1] == "" else wanted, lines)


def test_mine_come_before_theirs_at_each_place() -> None:
    assert union("a\nmine\nz\n", "a\ntheirs\nz\n") == "a\nmine\ntheirs\nz\n"


def test_a_last_line_without_a_newline_stays_a_line_of_its_own() -> None:
    assert union("a\nmine", "a\ntheirs\n") == "a\nmine\ntheirs\n"
    assert union("a\nb", "a\nb\nc") == "a\nb\nc"


def test_line_endings_do_not_double_a_file() -> None:
    assert union("a\nb\n", "a\r\nb\r\nc\r\n") == "a\nb\nc\r\n"


@pytest.mark.parametrize("name", ["progress.md", "progress-auth.md", "work.log.md", "build.log", "journal-2026.md"])
def test_files_that_only_grow(name: str) -> None:
    assert is_append_only(name)


@pytest.mark.parametrize(
    "name", ["PLAN.md", "PLAN-auth.md", "ROADMAP.md", "_project.json", "my progress.md", "catalog.md"]
)
def test_files_that_do_not(name: str) -> None:
    assert not is_append_only(name)


SAME = "The first line.\nThe second line.\nThe third line.\n"


@pytest.mark.parametrize(
    ("mine", "theirs", "shows_it"),
    [
        (SAME, SAME, True),
        (SAME + "mine\n", SAME + "theirs\nand more\n", True),
        ("x\n" + SAME, "y\n" + SAME + "z\n", True),
        (SAME, SAME.replace("\n", "\r\n"), True),
        (SAME, "Nothing of the kind.\n", False),
        ("", "", False),
        (SAME, "", False),
        (
            "---\nkind: fact\ntags: [a]\n---\n# Title\n\nOne.\n",
            "---\nkind: fact\ntags: [a]\n---\n# Title\n\nTwo.\n",
            False,
        ),
        ("## Status\n\nAccepted\n\n## Why\n\nSpeed.\n", "## Status\n\nAccepted\n\n## Why\n\nSafety.\n", False),
        ("one shared line\n" + "a\n" * 9, "one shared line\n" + "".join(f"b{n}\n" for n in range(9)), False),
    ],
)
def test_texts_show_whether_one_is_a_version_of_the_other(mine: str, theirs: str, shows_it: bool) -> None:
    assert is_version(mine, theirs) is shows_it
    assert is_version(theirs, mine) is shows_it
