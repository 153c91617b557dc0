from __future__ import annotations

import pytest

from tests.view.browsing import Browsing
from tests.view.memory import Home
from tests.view.race import run


@pytest.mark.timeout(300)
def test_two_browsers_and_an_agent_lose_nothing(home: Home, browsing: Browsing) -> None:
    """The short form of what `make e2e` does 200 times."""
    refusals, lines = run(home, browsing, 4)
    assert lines == 12
    assert refusals >= 4, "of two that write on one text, one is refused"
