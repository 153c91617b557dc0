"""The reference of commands is what the commands say about themselves."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.docs.cli_reference import PAGE


def test_the_page_is_current():
    """Asked in a process of its own: click remembers the help that a command had in another test, without `-h`."""
    command = [sys.executable, "-c", "from tests.docs.cli_reference import page; print(page(), end='')"]

    done = subprocess.run(command, cwd=PAGE.parents[2], capture_output=True, check=True)

    assert PAGE.read_bytes() == done.stdout, "run `python -m tests.docs.cli_reference`"


def test_no_line_about_a_command_is_cut():
    assert not re.findall(r"^  +[a-z-]+  .*\w\.\.\.$", PAGE.read_text(), re.MULTILINE)
