"""What imported notes are called: names that every store can hold."""

from __future__ import annotations

import pytest

from agentm_import.planning import clean_path, cut_slug, first_words
from agentm_kernel.plugin import AgentmError


@pytest.mark.parametrize(
    ("slug", "room_for", "kept"),
    [
        ("short", 0, "short"),
        ("x" * 81, 0, "x" * 80),
        ("x" * 81, 5, "x" * 75),
        ("é" * 61, 0, "é" * 60),
        ("é" * 61, 1, "é" * 59),
        ("x" * 79 + "-y", 0, "x" * 79),
    ],
    ids=["as it is", "characters", "with room", "bytes", "bytes, with room", "no hyphen at its end"],
)
def test_a_slug_is_cut_to_the_length_of_a_name(slug: str, room_for: int, kept: str) -> None:
    assert cut_slug(slug, room_for) == kept


def test_a_slug_needs_no_room_unless_it_is_said() -> None:
    assert cut_slug("x" * 81) == "x" * 80


def test_a_text_without_a_title_is_called_by_its_first_words() -> None:
    assert first_words("\n\n# one two\nthree") == "one two"
    assert first_words("> 1 2 3 4 5 6 7 8 9") == "1 2 3 4 5 6 7 8"
    assert first_words(" \n- \n") == ""


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("a/b c.md", "a/b c.md"),
        ("./a/../b.md", "a/b.md"),
        ('a<>:"|?*\\b.md', "a--------b.md"),
        ("a\x07b/ c. .md", "a-b/c.md"),
        (" . /x.md", "note/x.md"),
        ("a./x.md", "a/x.md"),
        ("x" * 300 + ".md", "x" * 180 + ".md"),
        ("é" * 300 + "/x.md", "é" * 90 + "/x.md"),
    ],
)
def test_a_path_keeps_as_much_of_itself_as_a_store_can_hold(path: str, kept: str) -> None:
    assert clean_path(path) == kept


@pytest.mark.parametrize("path", ["..", "_meta/x?.md"])
def test_a_path_of_which_nothing_is_left_or_that_is_the_store_s_own_is_no_note(path: str) -> None:
    with pytest.raises(AgentmError, match="no note can have the name"):
        clean_path(path)
