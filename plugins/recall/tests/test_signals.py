"""What is weighed besides the text of a note: whose it is, how old it is, how sure its author was."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_kernel import Locator
from agentm_recall.index.coverage import ENOUGH
from agentm_recall.index.plan import MOST_NOTES
from agentm_recall.index.search import (
    Hit,
    Result,
    Scope,
    _newer_first,
    _signals,
    day_of,
    expression_of,
    scope_condition,
)
from agentm_recall.index.times import Times
from agentm_recall.index.words import scope_token
from agentm_recall.layout import is_below
from agentm_recall.note import ACTIVE, Note

TODAY = 20_000.0
ANYWHERE, ANY_TIME = Scope(), Times()


def note(key: str = "a.md", *, kind: str = "decision", age: float | None = None, **fields: Any) -> Note:
    if age is not None:
        fields["updated"] = str(dt.date(1970, 1, 1) + dt.timedelta(TODAY - age))
    return Note(key, kind, ACTIVE, "Title", **fields)


def signals(
    of: Note,
    scope: Scope = ANYWHERE,
    times: Times = ANY_TIME,
    *,
    is_pasted: bool = False,
) -> dict[str, float]:
    plan: Any = SimpleNamespace(question=SimpleNamespace(is_pasted=is_pasted))
    return _signals(of, plan, scope, times, TODAY)


@pytest.mark.parametrize("scope", [Scope(project="widgets"), Scope(near="widgets")], ids=["in", "near"])
def test_a_note_of_the_project_comes_before_a_personal_one_and_that_before_another_projects(scope: Scope) -> None:
    assert signals(note(project="widgets"), scope) == {}
    assert signals(note(), scope) == {"personal": 0.9}
    assert signals(note(project="gadgets"), scope) == {"another project": 0.5}


def test_outside_of_projects_nobody_comes_first() -> None:
    assert signals(note(project="widgets")) == signals(note()) == {}


def test_the_project_asked_for_counts_and_not_the_one_nearby() -> None:
    assert signals(note(project="a"), Scope(project="a", near="b")) == {}


@pytest.mark.parametrize(("age", "gain"), [(0, 0.15), (90, 0.075), (180, 0.0375), (-5, 0.15)])
def test_a_new_note_gains_and_half_of_that_is_lost_every_ninety_days(age: float, gain: float) -> None:
    assert signals(note(age=age)) == {"recency": pytest.approx(1 + gain)}
    assert signals(note(age=age), times=Times(wants_latest=True)) == {"recency": pytest.approx(1 + gain / 0.15)}


@pytest.mark.parametrize(("age", "is_other"), [(11, True), (10, False), (5, False), (4, True)])
def test_a_note_of_another_time_than_the_one_asked_about_counts_less(age: float, is_other: bool) -> None:
    asked = Times(since=TODAY - 10, until=TODAY - 4)
    assert signals(note(age=age), times=asked).get("another time") == (0.4 if is_other else None)
    assert "another time" not in signals(note(age=age))


def test_a_time_has_one_end_two_or_none() -> None:
    assert not Times().is_bounded
    assert Times(since=1.0).is_bounded
    assert Times(until=1.0).is_bounded
    assert [Times(since=1.0).includes(day) for day in (0.5, 1.0, 9.0)] == [False, True, True]
    assert [Times(until=1.0).includes(day) for day in (0.5, 1.0, 9.0)] == [True, False, False]


@pytest.mark.parametrize(("confidence", "factor"), [(1.0, 1.0), (0.5, 0.85), (0.0, 0.7)])
def test_doubt_costs_up_to_three_tenths(confidence: float, factor: float) -> None:
    assert signals(note(confidence=confidence)) == {"confidence": pytest.approx(factor)}


def test_a_note_whose_time_is_over_counts_less() -> None:
    assert signals(note(stale_after="2001-01-01")) == {"stale": 0.7}
    assert signals(note(stale_after="2999-01-01")) == {}


def test_whoever_pastes_an_error_asks_whether_it_is_known() -> None:
    assert signals(note(kind="known-issue"), is_pasted=True) == {"known issue": 1.25}
    assert signals(note(kind="known-issue")) == signals(note(), is_pasted=True) == {}


def test_signals_multiply() -> None:
    assert Hit(note(), 1, 4.0, {"a": 0.5, "b": 3.0}).score == 6.0
    assert Hit(note(), 1, 4.0, {}).score == 4.0


# ------------------------------------------------------------------------------------------------ answers


def test_the_best_notes_answer_if_they_cover_enough_of_the_question() -> None:
    hits = [Hit(note(str(number)), number, 1.0, {}) for number in range(3)]
    assert Result(hits, confidence=ENOUGH).is_answer
    assert not Result(hits, confidence=ENOUGH - 0.01).is_answer
    assert not Result([], confidence=1.0).is_answer
    assert Result(hits, confidences=(ENOUGH, ENOUGH - 0.01, 1.0)).answers == [hits[0], hits[2]]


def test_a_fresh_hit_is_the_same_in_everything_else() -> None:
    hit = Hit(note(), 7, 2.0, {"a": 0.5}, is_current=False)
    fresh = hit.as_fresh()
    assert fresh.is_fresh
    assert not hit.is_fresh
    assert (fresh.note, fresh.number, fresh.score, fresh.is_current) == (hit.note, 7, 1.0, False)


class Alike:
    """Contents in which these pairs are nearly alike."""

    def __init__(self, *pairs: tuple[int, int]) -> None:
        self._pairs = {frozenset(pair) for pair in pairs}

    def are_alike(self, one: int, other: int) -> bool:
        return frozenset((one, other)) in self._pairs


def ordered(hits: list[Hit], *pairs: tuple[int, int]) -> list[int]:
    alike: Any = Alike(*pairs)
    return [hit.number for hit in _newer_first(hits, alike)]


def test_of_notes_that_are_alike_the_newest_takes_the_best_place() -> None:
    hits = [Hit(note(str(number), age=9 - number, project="a"), number, 1.0, {}) for number in range(4)]
    assert ordered(hits) == [0, 1, 2, 3]
    assert ordered(hits, (0, 2)) == [2, 1, 0, 3]
    assert ordered(hits[::-1], (0, 2)) == [3, 2, 1, 0], "it has it already"


def test_only_notes_of_one_project_that_are_both_current_or_both_past_change_places() -> None:
    def pair(**second: Any) -> list[Hit]:
        is_current = second.pop("is_current", True)
        newer = note("1", age=1, **{"project": "a", **second})
        return [Hit(note("0", age=9, project="a"), 0, 1.0, {}), Hit(newer, 1, 1.0, {}, is_current)]

    assert ordered(pair(), (0, 1)) == [1, 0]
    assert ordered(pair(project="b"), (0, 1)) == [0, 1]
    assert ordered(pair(is_current=False), (0, 1)) == [0, 1]


def test_the_first_ten_are_compared() -> None:
    hits = [Hit(note(str(number), age=99 - number), number, 1.0, {}) for number in range(12)]
    assert ordered(hits, (0, 9))[0] == 9
    assert ordered(hits, (0, 10))[0] == 0


# ------------------------------------------------------------------------------------------------ small ones


@pytest.mark.parametrize("text", ["1970-01-01", "1970-03-01", "2000-02-29", "2023-12-31", "2024-02-29", "1900-03-01"])
def test_days_are_counted_as_the_calendar_counts_them(text: str) -> None:
    expected = (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days
    assert day_of(text) == day_of(f"{text}T12:00:00Z") == expected


@pytest.mark.parametrize(
    "text", ["", "2024", "2024-13-01", "2024-00-01", "2024-01-00", "2024-01-32", "0-01-01", "a-b-c"]
)
def test_what_is_no_date_has_no_day(text: str) -> None:
    assert day_of(text) is None


def test_a_scope_demands_a_project_or_no_project_and_a_kind() -> None:
    both = f"scope : ({scope_token('project', 'a')} OR {scope_token('project', None)})"
    kind = f"scope : {scope_token('kind', 'decision')}"
    assert scope_condition(Scope()) == scope_condition(Scope(near="a", with_dead=True)) == ""
    assert scope_condition(Scope(project="a")) == both
    assert scope_condition(Scope(kind="decision")) == kind
    assert scope_condition(Scope(project="a", kind="decision")) == f"{both} AND {kind}"


@pytest.mark.parametrize(
    ("folders", "is_one"),
    [
        ([], False),
        (["a"], True),
        (["a/b"], True),
        (["a/b.md"], False),
        (["x", "a"], True),
        (["aa"], False),
        ([""], True),
    ],
)
def test_a_note_is_below_a_folder_and_everything_is_below_the_top(folders: list[str], is_one: bool) -> None:
    places = [Locator(folder) if folder else Locator() for folder in folders]
    assert is_below("a/b/c.md" if folders != ["a/b.md"] else "a/b.mdx", places) is is_one


@pytest.mark.parametrize(("count", "most"), [(MOST_NOTES, {"most": None}), (MOST_NOTES + 1, {})])
def test_in_a_small_project_no_word_is_too_common_to_be_looked_for(count: int, most: dict[str, None]) -> None:
    plan: Any = SimpleNamespace(
        lexicon=SimpleNamespace(counts=lambda tokens: {tokens[0]: count - 1, tokens[1]: 1}),
        expression=lambda condition, **more: (condition, more),
    )
    scope = Scope(project="widgets")
    assert expression_of(plan, scope) == (scope_condition(scope), most)
    assert expression_of(plan, Scope()) == ("", {})
