"""Somebody writes into the vault while a conflict is settled: what they wrote is still there."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from agentm_kernel import Locator
from agentm_kernel.plugin import (
    AuthorizationError,
    ConcurrentModificationError,
    Device,
    content_hash,
    store_mutex,
)
from agentm_obsidian_vault import VaultBackend, page, resolve
from agentm_obsidian_vault.survey import Conflict, find_conflicts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE = Locator("p/progress.md")
COPY = Locator("p/progress (Ada's conflicted copy 2026-05-01).md")
MINE, THEIRS, LATE = "- start\n- mine\n", "- start\n- theirs\n", "- late\n"


@pytest.fixture
def conflict(vault: VaultBackend, root: Path) -> Conflict:
    vault.write(NOTE, MINE)
    (root / COPY.key).write_text(THEIRS)
    (found,) = find_conflicts(vault)
    return found


def after(monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[Any], object]) -> None:
    """Do `work` with what the function `name` of `resolve` returns, right after it did."""
    real = getattr(resolve, name)

    def hooked(*arguments: object) -> object:
        done = real(*arguments)
        work(done)
        return done

    monkeypatch.setattr(resolve, name, hooked)


def test_a_note_that_is_written_anew_is_not_replaced_by_its_copy(
    vault: VaultBackend, root: Path, conflict: Conflict, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.delete(NOTE)
    after(monkeypatch, "read_versions", lambda _: (root / NOTE.key).write_text(LATE))
    with pytest.raises(ConcurrentModificationError):
        resolve.settle(vault, vault, conflict, resolve.THEIRS)
    assert (root / NOTE.key).read_text() == LATE
    assert (root / COPY.key).read_text() == THEIRS


def test_a_note_that_comes_where_the_copy_would_go_is_not_replaced(
    vault: VaultBackend, root: Path, conflict: Conflict, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[Locator] = []

    def take(place: Locator) -> None:
        places.append(place)
        (root / place.key).write_text(LATE)

    after(monkeypatch, "_place_beside", take)
    with pytest.raises(ConcurrentModificationError):
        resolve.settle(vault, vault, conflict, resolve.BOTH)
    assert (root / places[0].key).read_text() == LATE
    assert (root / COPY.key).read_text() == THEIRS


@pytest.mark.parametrize("changed", [NOTE, COPY])
def test_what_a_person_put_together_replaces_only_what_they_saw(
    vault: VaultBackend, root: Path, conflict: Conflict, monkeypatch: pytest.MonkeyPatch, changed: Locator
) -> None:
    after(monkeypatch, "_keep", lambda _: (root / changed.key).write_text(LATE))
    with pytest.raises(ConcurrentModificationError):
        page._merge(vault, vault, conflict, "- both\n")
    assert (root / changed.key).read_text() == LATE


@pytest.mark.parametrize("where", ["the command", "the page"])
def test_nobody_else_writes_between_the_look_at_both_and_the_choice(
    vault: VaultBackend, conflict: Conflict, where: str
) -> None:
    def settle() -> None:
        if where == "the command":
            resolve.settle(vault, vault, conflict, resolve.MINE)
            return
        shown = {"copy": COPY.key, "mine": content_hash(MINE), "theirs": content_hash(THEIRS)}
        page._settle(cast("Device", SimpleNamespace(store=lambda **_: vault)), resolve.MINE, shown)

    has_looked = threading.Event()
    real = vault.read
    settling = threading.Thread(target=settle)
    with store_mutex(vault.describe()), pytest.MonkeyPatch.context() as patch:
        patch.setattr(vault, "read", lambda locator: (has_looked.set(), real(locator))[1])
        settling.start()
        assert not has_looked.wait(1.0)
    settling.join(10)
    assert find_conflicts(vault) == []


def test_a_note_is_deleted_only_on_the_condition_that_was_made(vault: VaultBackend) -> None:
    vault.write(NOTE, THEIRS)
    with pytest.raises(ConcurrentModificationError):
        vault.delete(NOTE, if_match=content_hash(MINE))
    assert vault.read(NOTE) == THEIRS
    vault.delete(NOTE, if_match=content_hash(THEIRS))
    assert not vault.exists(NOTE)


# ------------------------------------------------------------------------------------------------ on the page


def settle_on_the_page(vault: VaultBackend, choice: str, **shown: str) -> str:
    fields = {"copy": COPY.key, "mine": content_hash(MINE), "theirs": content_hash(THEIRS), **shown}
    return page._settle(cast("Device", SimpleNamespace(store=lambda **_: vault)), choice, fields)


@pytest.mark.parametrize("choice", ["theirs", "both", "union", "merge"])
@pytest.mark.usefixtures("conflict")
def test_the_page_puts_nothing_in_the_place_of_a_note_under_guard(
    vault: VaultBackend, root: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    monkeypatch.setattr("agentm_obsidian_vault.commands._is_guarded", lambda _store, key: key == NOTE.key)
    with pytest.raises(AuthorizationError, match="is under guard"):
        settle_on_the_page(vault, choice, text="- both\n")
    assert ((root / NOTE.key).read_text(), (root / COPY.key).read_text()) == (MINE, THEIRS)
    assert "stays as it is" in settle_on_the_page(vault, "mine")
    assert (root / NOTE.key).read_text() == MINE


@pytest.mark.parametrize("shown", ["mine", "theirs"])
@pytest.mark.usefixtures("conflict")
def test_the_page_settles_only_the_texts_that_it_showed(vault: VaultBackend, root: Path, shown: str) -> None:
    with pytest.raises(ConcurrentModificationError, match="nothing was settled"):
        settle_on_the_page(vault, "theirs", **{shown: content_hash(LATE)})
    assert ((root / NOTE.key).read_text(), (root / COPY.key).read_text()) == (MINE, THEIRS)
