"""The reference of commands is what the commands say about themselves."""

from __future__ import annotations

from tests.docs.cli_reference import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "run `python -m tests.docs.cli_reference`"
