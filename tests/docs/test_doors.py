"""The page of public names is what the doors have, each with a sentence."""

from __future__ import annotations

import pytest

from tests.docs.doors import DOORS, PAGE, meaning, page


def test_the_page_lists_the_doors_as_they_are():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.doors`"


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_name_has_a_sentence(door):
    assert [name for name in door.__all__ if len(meaning(door, name).split()) < 3] == []
