"""The reference of commands is what the commands say about themselves."""

from __future__ import annotations

import re

from tests.docs.cli_reference import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "run `python -m tests.docs.cli_reference`"


def test_no_line_about_a_command_is_cut():
    assert not re.findall(r"^  +[a-z-]+  .*\w\.\.\.$", PAGE.read_text(), re.MULTILINE)
