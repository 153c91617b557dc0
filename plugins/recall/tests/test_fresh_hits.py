"""What has just changed takes its place among what the index knows, by how much of the question it covers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from agentm_kernel.plugin import BackendLayer, Locator, NotFoundError
from agentm_recall import RecallIndex
from agentm_recall.index.asked import _merged
from agentm_recall.index.database import Database
from agentm_recall.index.differences import compare_notes, find_changes, find_difference
from agentm_recall.index.refresh import apply_difference
from agentm_recall.index.search import Hit, Result, Scope
from agentm_recall.note import ACTIVE, Note

if TYPE_CHECKING:
    from conftest import Home

    from agentm_kernel.plugin import Info, StorageBackend


def hit(slug: str, *, is_current: bool = True) -> Hit:
    return Hit(Note(f"{slug}.md", "fact", ACTIVE, slug), 1, 1.0, {}, is_current)


def result(dead: int = 0, plan: Any = None, **sures: float) -> Result:
    return Result([hit(slug) for slug in sures], plan, 0.0, tuple(sures.values()), dead)


def slugs(found: Result) -> list[str]:
    return [one.note.slug + ("*" if one.is_fresh else "") for one in found.hits]


def test_a_fresh_note_stands_before_those_that_cover_less_and_behind_those_that_cover_as_much() -> None:
    both = _merged(result(a=0.9, b=0.5, c=0.1), result(x=0.5, y=0.95, z=0.0), set(), set(), 10)
    assert slugs(both) == ["y*", "a", "b", "x*", "c", "z*"]
    assert both.confidences == (0.95, 0.9, 0.5, 0.5, 0.1, 0.0)


def test_of_both_so_many_are_kept_and_the_best_three_decide() -> None:
    both = _merged(result(dead=2, a=0.2, b=0.1), result(dead=3, x=0.15), set(), set(), 2)
    assert (slugs(both), both.confidences, both.confidence, both.dead) == (["a", "x*"], (0.2, 0.15), 0.2, 5)
    assert _merged(result(a=0.1, b=0.2, c=0.3, d=0.4), result(), set(), set(), 9).confidence == 0.3
    assert _merged(result(), result(), set(), set(), 9).confidence == 0.0


def test_the_plan_is_that_of_the_index_or_else_of_what_is_fresh() -> None:
    one, other = object(), object()
    assert _merged(result(plan=one), result(plan=other), set(), set(), 1).plan is one
    assert _merged(result(), result(plan=other), set(), set(), 1).plan is other


def test_what_changed_is_not_shown_as_it_was_and_what_was_replaced_is_not_current() -> None:
    assert slugs(_merged(result(a=0.9, b=0.5), result(x=0.7), set(), {"a.md"}, 9)) == ["x*", "b"]
    assert slugs(_merged(result(a=0.9, b=0.5), result(x=0.7, y=0.6), {"a.md", "x.md"}, set(), 9)) == ["y*", "b"]
    past = Result([hit("old", is_current=False)], None, 0.0, (0.5,), 0)
    assert slugs(_merged(past, past, {"old.md"}, set(), 9)) == ["old", "old*"], "it says itself that it is past"


def test_hits_beyond_the_compared_ones_are_not_sure() -> None:
    many = Result([hit(slug) for slug in "abc"], None, 0.0, (0.5,), 0)
    assert _merged(many, result(x=0.1), set(), set(), 9).confidences == (0.5, 0.1, 0.0, 0.0)


# ------------------------------------------------------------------------------------------------ in a store


@pytest.fixture
def index(home: Home, store: StorageBackend) -> RecallIndex:
    for slug in ("heron", "crane"):
        home.note(f"projects/widgets/facts/{slug}.md", f"# {slug}\n\nThe {slug} wades.\n")
    made = RecallIndex(store)
    made.update()
    return made


def found(index: RecallIndex, question: str, limit: int = 10) -> list[str]:
    with index.opened(may_write=False) as opened:
        answer = opened.search(question, Scope("widgets"), limit=limit)
        assert all(
            opened.database_of(one) is (opened.fresh if one.is_fresh else opened.database) for one in answer.hits
        )
        return slugs(answer)


def test_what_is_new_changed_or_gone_since_is_known_without_writing(home: Home, index: RecallIndex) -> None:
    assert found(index, "wades") == ["crane", "heron"]
    before = home.index_file().read_bytes()
    home.note("projects/widgets/facts/stork.md", "# stork\n\nThe stork wades.\n")
    (home.root / "projects/widgets/facts/crane.md").unlink()
    assert sorted(found(index, "wades")) == ["heron", "stork*"]
    assert len(found(index, "wades", limit=1)) == 1
    home.note("projects/widgets/facts/egret.md", "---\nsupersedes: [heron]\n---\n\n# egret\n\nThe egret wades.\n")
    assert sorted(found(index, "wades")) == ["egret*", "stork*"]
    assert home.index_file().read_bytes() == before


def test_who_claims_to_replace_a_note_is_known_from_both(home: Home, index: RecallIndex) -> None:
    home.note("projects/widgets/facts/old.md", "---\nsupersedes: [heron]\n---\n\nIndexed.\n")
    index.update()
    home.note("projects/widgets/facts/new.md", "---\nsupersedes: [heron]\n---\n\nFresh.\n")
    with index.opened(may_write=False) as opened:
        assert sorted(note.slug for note in opened.claimants("heron")) == ["new", "old"]
    (home.root / "projects/widgets/facts/old.md").unlink()
    with index.opened(may_write=False) as opened:
        assert [note.slug for note in opened.claimants("heron")] == ["new"]


def test_a_folder_is_new_gone_or_has_too_many_notes_to_be_listed(
    home: Home, store: StorageBackend, index: RecallIndex
) -> None:
    home.note("projects/widgets/facts/stork.md", "The stork wades.\n")
    home.note("projects/gadgets/facts/deep/egret.md", "The egret wades.\n")
    with index.opened(may_write=False, look_only=True) as opened:
        every = [Locator()]
        changes = find_changes(opened.database, store, every, 100)
        assert changes is not None
        assert {key.rpartition("/")[2] for key in changes.keys} >= {"stork.md", "egret.md"}
        assert bool(changes)
        assert find_changes(opened.database, store, every, 1) is None, "two notes are in the folder that changed"
        whole = find_difference(opened.database, store, every)
        assert whole.is_whole
        assert not find_difference(opened.database, store, [Locator("projects")]).is_whole
        assert set(whole.hashes) == {"projects/widgets/facts/crane.md", "projects/widgets/facts/heron.md"}


class AwayOnce(BackendLayer):
    """A sync program has moved a folder aside, and brings it back after the first look at it."""

    def __init__(self, inner: StorageBackend, *away: str) -> None:
        super().__init__(inner)
        self.away = set(away)

    def info(self, locator: Locator) -> Info:
        if locator.key in self.away:
            self.away.remove(locator.key)
            raise NotFoundError(f"'{locator}' does not exist")
        return super().info(locator)


def test_what_is_written_into_a_folder_that_was_away_for_a_moment_is_noticed(
    home: Home, store: StorageBackend
) -> None:
    folder, every = "projects/widgets", [Locator()]
    home.note(f"{folder}/heron.md", "The heron wades.\n")
    for place in ("projects", folder):
        os.utime(home.root / place, (1_700_000_000, 1_700_000_000))  # long settled: the time shows the next change
    with Database.in_memory() as database:
        apply_difference(database, store, find_difference(database, store, [Locator(folder)]))

        changes = find_changes(database, AwayOnce(store, folder), every, 100)
        assert changes is not None
        apply_difference(database, store, changes)
        assert list(database.versions(every)) == [f"{folder}/heron.md"]

        (home.root / folder / "crane.md").write_text("The crane wades.\n")
        later = find_changes(database, store, every, 100)
        assert later is not None
        assert later.keys == [f"{folder}/crane.md"]


def test_notes_that_are_looked_at_are_changed_gone_or_as_they_were(
    home: Home, store: StorageBackend, index: RecallIndex
) -> None:
    keys = [f"projects/widgets/facts/{slug}.md" for slug in ("heron", "crane", "none")]
    with index.opened(may_write=False, look_only=True) as opened:
        assert not compare_notes(opened.database, store, keys)
        (home.root / keys[0]).write_text("Changed.\n")
        (home.root / keys[1]).unlink()
        difference = compare_notes(opened.database, store, keys)
        assert ([info.locator.key for info in difference.stale], difference.gone) == ([keys[0]], [keys[1]])
        assert difference.concerned == difference.keys == keys[:2]
