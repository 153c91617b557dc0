"""Which distribution brings what."""

from __future__ import annotations

from agentm_kernel.plugins.published import how_to_install


def test_of_a_stranger_nothing_is_known() -> None:
    assert how_to_install("agentm.backends", "theirs") is None
    assert how_to_install("agentm.recall", "git") is None
