"""One round of each real agent host with our tools; `make e2e` plays more of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools import rounds

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("name", rounds.HOSTS)
def test_a_host_finds_the_tools_and_its_model_can_use_them(name: str, tmp_path: Path) -> None:
    try:
        rounds.programs.program(name)
    except rounds.programs.Unavailable as reason:
        if os.environ.get(rounds.programs.REQUIRE) == "1":
            raise
        pytest.skip(str(reason))
    assert rounds.play(name, tmp_path / "round") == ""


def test_codex_shows_the_tools_at_once_to_models_without_a_tool_search(tmp_path: Path) -> None:
    try:
        rounds.programs.program("codex")
    except rounds.programs.Unavailable as reason:
        pytest.skip(str(reason))
    assert rounds.play("codex", tmp_path / "round", model="stub") == ""
