"""The bundle as people have it: installed, used, and removed without a trace but the store.

`make wheels` does the same with pip and with pipx, and upgrades from 0.1; here it is uv, which is the quickest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packaging.environment import Failed
from tests.packaging.installing import User, compare, install_use_and_remove

if TYPE_CHECKING:
    from pathlib import Path

    from tests.packaging.built import Wheel

pytestmark = pytest.mark.timeout(900)  # the first test builds every wheel


def test_what_was_installed_and_used_leaves_nothing_but_the_store(
    wheels: dict[str, Wheel], shared_folder: Path, tmp_path: Path
) -> None:
    assert "and nothing else" in install_use_and_remove("uv", tmp_path, shared_folder / "dist")


@pytest.mark.parametrize("name", [".bashrc", "widgets/CLAUDE.md", ".claude/settings.json"])
def test_the_comparison_can_fail(name: str, tmp_path: Path) -> None:
    user = User(tmp_path)
    before = user.files()
    (user.home / name).write_text("left behind\n")
    with pytest.raises(Failed, match=name):
        compare(before, user)
