"""How much of a source's front matter is read, to the letter, and what is said of a file that cannot be."""

from __future__ import annotations

import pytest
from import_home import CHANGED, Home, read_source, write_source

from agentm_import.items import Item, Skipped
from agentm_import.sources._common import moment
from agentm_import.yaml_text import NotYaml, mapping


def test_front_matter_of_exactly_the_longest_kind_is_read() -> None:
    yaml = "x: ['1']\n# "
    assert mapping(yaml + "y" * (16_384 - len(yaml))) == {"x": ["1"]}
    with pytest.raises(NotYaml, match="^it is too large$"):
        mapping(yaml + "y" * (16_385 - len(yaml)))


@pytest.mark.parametrize(("one", "made"), [("[]", []), ("{}", {})])
def test_front_matter_may_have_five_hundred_brackets(one: str, made: object) -> None:
    lists = f"a: [{', '.join([one] * 499)}]"
    assert mapping(lists) == {"a": [made] * 499}


def test_front_matter_may_have_five_thousand_values() -> None:
    assert mapping(f"a: [{'x,' * 4_999}]") == {"a": ["x"] * 4_999}
    with pytest.raises(NotYaml):
        mapping(f"a: [{'x,' * 5_000}]")


def test_of_two_fields_of_one_name_the_last_one_counts() -> None:
    assert mapping("a: b\na: c\n") == mapping("a: 'b'\na: c\n") == {"a": "c"}


def test_what_is_wrong_with_front_matter_is_said_in_one_short_line() -> None:
    with pytest.raises(NotYaml) as told:
        mapping("a: [" + "b\n  " * 40 + "\nc: d\n")
    assert len(str(told.value)) == 120
    assert "\n" not in str(told.value)


def test_from_one_hundred_thousand_million_on_a_moment_is_in_milliseconds() -> None:
    assert moment(100_000_000_001) == "1973-03-03T09:46:40+00:00"


def test_a_file_whose_front_matter_cannot_be_read_is_taken_as_a_whole(home: Home) -> None:
    text = "---\nname: [\n---\nTea.\n"
    root = write_source(home.path / "memory", {"tea.md": text})
    assert read_source(home, "claude-code", root) == {
        "tea.md": Item("tea.md", text, title="tea", slug="tea", updated=CHANGED)
    }


def test_instructions_that_cannot_be_read_are_named_as_they_would_have_been(home: Home) -> None:
    for folder in (home.path / ".claude", home.project):
        folder.mkdir(exist_ok=True)
        (folder / "CLAUDE.md").write_bytes(b"\xff")
    place, why = f"{home.project}/CLAUDE.md", "not UTF-8 (line 1)"
    assert read_source(home, "claude-code") == {"CLAUDE.md": Skipped("CLAUDE.md", why)}
    assert read_source(home, "claude-code", home.project) == {place: Skipped(place, why)}
