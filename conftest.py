"""What holds in every test."""

from __future__ import annotations

import pytest

from agentm_kernel.files import displaced


@pytest.fixture(autouse=True)
def no_wait_for_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that a write displaced goes with that write, if nobody has it open; users wait two seconds for it.

    So tests can ask what a write left behind. `tests/kernel/files/test_held_files.py` has the real time.
    """
    monkeypatch.setattr(displaced, "LEASED_GRACE", 0.0)
