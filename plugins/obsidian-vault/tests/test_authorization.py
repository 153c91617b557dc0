"""An authorization is one permission: one note, one text, once, and soon. Only the command that asks makes one."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import AuthorizationError
from agentm_obsidian_vault.authorization import Authorization

if TYPE_CHECKING:
    from collections.abc import Callable

NOTE = Locator("diary.md")


def test_it_is_good_for_its_note_and_text() -> None:
    Authorization(NOTE, "x").use(NOTE, "x")


@pytest.mark.parametrize(("locator", "content"), [(NOTE, "y"), (Locator("other.md"), "x"), (Locator(), "x")])
def test_it_is_good_for_nothing_else(locator: Locator, content: str) -> None:
    with pytest.raises(AuthorizationError) as refusal:
        Authorization(NOTE, "x").use(locator, content)
    assert "agentm personal write" in (refusal.value.hint or "")


def test_it_is_good_once() -> None:
    permission = Authorization(NOTE, "x")
    permission.use(NOTE, "x")
    with pytest.raises(AuthorizationError):
        permission.use(NOTE, "x")


def test_it_expires() -> None:
    with pytest.raises(AuthorizationError):
        Authorization(NOTE, "x", lifetime=-0.001).use(NOTE, "x")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_is_no_second_one_of_it(copied: Callable[[object], object]) -> None:
    with pytest.raises(TypeError):
        copied(Authorization(NOTE, "x"))
