"""A version that somebody else puts under a note's name in the middle of its deletion is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.faults.wrong_moment import as_client
from tests.kernel.files.shared_store import (
    ARRIVALS,
    NOTE,
    Beside,
    Shared,
    happens_before_rename,
    kept,
    leftovers,
    when_looked_at,
)

from agentm_kernel import Locator
from agentm_kernel.files import swap
from agentm_kernel.files.displaced import DisplacedVersions
from agentm_kernel.plugin import ConcurrentModificationError, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(root: Path) -> Shared:
    return Shared(root)


def test_a_note_that_is_as_expected_is_deleted(store: Shared, root: Path) -> None:
    store.write(NOTE, "seen")
    store.delete(NOTE, if_match=content_hash("seen"))
    assert not store.exists(NOTE)
    assert kept(root) == leftovers(root) == []


@pytest.mark.parametrize("arrive", ARRIVALS.values(), ids=ARRIVALS)
def test_a_version_that_arrives_in_the_middle_of_a_deletion_stays(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch, arrive: Callable[[Path, str], None]
) -> None:
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: arrive(root / "notes" / "a.md", "unseen"))
    with pytest.raises(ConcurrentModificationError, match="another program"):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert store.read(NOTE) == "unseen"
    assert kept(root) == leftovers(root) == []


def test_of_two_versions_that_arrive_in_the_middle_of_a_deletion_none_is_lost(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(path, "unseen"))
    when_looked_at(monkeypatch, lambda: as_client(path, "later"))
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert store.read(NOTE) == "later"
    assert kept(root) == ["unseen"]
    assert leftovers(root) == []


def test_a_note_that_vanishes_in_the_middle_of_its_deletion_is_not_there_any_more(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(NOTE, "seen")
    happens_before_rename(monkeypatch, (root / "notes" / "a.md").unlink)
    with pytest.raises(ConcurrentModificationError):
        store.delete(NOTE, if_match=content_hash("seen"))
    assert leftovers(root) == []


def test_a_deletion_by_a_new_process_that_is_refused_twice_over_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "notes" / "a.md"
    Beside(root).write(NOTE, "seen")
    happens_before_rename(monkeypatch, lambda: as_client(path, "unseen"))
    when_looked_at(monkeypatch, lambda: as_client(path, "later"))
    with pytest.raises(ConcurrentModificationError):
        Beside(root).delete(NOTE, if_match=content_hash("seen"))
    assert sorted(file.read_text() for file in path.parent.iterdir()) == ["later", "unseen"]


@pytest.mark.parametrize(("holds", "versions"), [("seen", []), ("unseen", ["unseen"])])
def test_what_a_killed_deletion_had_moved_is_settled_by_the_next_writer(
    store: Shared, root: Path, monkeypatch: pytest.MonkeyPatch, holds: str, versions: list[str]
) -> None:
    store.write(NOTE, "seen")
    (root / "notes" / "a.md").write_text("seen")
    killed = mock.patch.object(DisplacedVersions, "look_at", side_effect=KeyboardInterrupt)
    with killed, mock.patch.object(swap, "_give_back"), pytest.raises(KeyboardInterrupt):
        store.delete(NOTE, if_match=content_hash("seen"))
    (left,) = (path for path in root.rglob(".agentm-*.swap"))
    left.write_text(holds)
    Shared(root).write(Locator("notes/b.md"), "x")
    assert kept(root) == versions
    assert leftovers(root) == []
