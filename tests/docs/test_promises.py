"""The tests that the page of the write floor names are there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.faults.__main__ import CAMPAIGNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "write-floor.md"


def test_every_test_and_campaign_that_is_said_to_hold_a_promise_is_there():
    table = PAGE.read_text(encoding="utf-8").partition("## Which test holds which promise")[2]
    folder = ROOT
    for path, name in re.findall(r"`([\w/-]*test_\w+\.py)(?:::(\w+))?`", table):
        file = ROOT / path if "/" in path else folder / path
        assert file.is_file(), path
        assert not name or f"def {name}(" in file.read_text(encoding="utf-8"), name
        folder = file.parent
    named = re.findall(r"campaigns? `([\w-]+)`(?: and `([\w-]+)`)?", table)
    assert {name for pair in named for name in pair if name} <= set(CAMPAIGNS)
    assert len(named) > 5
