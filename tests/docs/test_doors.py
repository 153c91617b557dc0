"""The page of public names is what the doors have, each with a sentence."""

from __future__ import annotations

import enum

import pytest

from tests.docs.doors import DOORS, PAGE, meaning, page


def test_the_page_lists_the_doors_as_they_are():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.doors`"


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_name_has_a_sentence(door):
    assert [name for name in door.__all__ if len(meaning(door, name).split()) < 3] == []


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_sentence_is_of_python_s_own(door):
    inherited = {" ".join((kind.__doc__ or "").split()) for kind in (str, int, tuple, dict, enum.Enum, enum.EnumMeta)}
    assert [name for name in door.__all__ if meaning(door, name) in inherited] == []


def test_what_can_be_called_stands_with_its_parameters():
    assert "`update(backend: StorageBackend, locator: Locator, fn: " in page()
    assert "`Option(name, kind, meaning, default, secret)`" in page()
