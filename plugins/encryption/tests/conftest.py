"""A device of its own for every test."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator

sys.path.insert(0, os.path.dirname(__file__))  # for helpers, in other processes too

from encrypted_laptops import Laptop, let_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path / "home")


@pytest.fixture
def note() -> Locator:
    return Locator("notes/a.md")


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Laptop, Laptop]:
    """Two devices, of two people, with one vault folder, encrypted by the first."""
    one, other = (Laptop(tmp_path / name, tmp_path / "vault") for name in ("one", "other"))
    one.init("--name", "one")
    let_in(one, other, "other")
    return one, other
