"""What imported notes are called: names that every store can hold."""

from __future__ import annotations

import pytest

from agentm_import.planning import cut_slug, first_words


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


def test_a_text_without_a_title_is_called_by_its_first_words() -> None:
    assert first_words("\n\n# one two\nthree") == "one two"
    assert first_words("> 1 2 3 4 5 6 7 8 9") == "1 2 3 4 5 6 7 8"
    assert first_words(" \n- \n") == ""
