"""What makes an answer sure, one note better than another, and two of them alike: in numbers."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import pytest

from agentm_recall.index.contents import Contents
from agentm_recall.index.coverage import confidence
from agentm_recall.index.database import Database
from agentm_recall.index.lexicon import Lexicon
from agentm_recall.index.long_questions import rescored
from agentm_recall.index.plan import Plan, plan_of


def sure(
    told: dict[str, float],
    found: str,
    *,
    title: str = "",
    whole: float = 0.0,
    passages: list[str] | None = None,
) -> float:
    """How sure it is that a note with the words `found` answers; a long question has `passages`."""
    words = list(told)
    question = SimpleNamespace(
        is_short=passages is None, words=words, passages=[passage.split() for passage in passages or ()]
    )
    plan: Any = SimpleNamespace(
        question=question, told=told, stems_of={word: (word,) for word in words}, whole={"whole": whole}
    )
    has = {*found.split(), *(["whole"] if whole else [])}
    contents: Any = SimpleNamespace(
        heads={1: set(title.split()) | {"none"}}, has=lambda number, stem: number == 1 and stem in has
    )
    return confidence(plan, contents, 1)


def odds(share: float) -> float:
    return log(share / (1 - share))


@pytest.mark.parametrize(
    ("told", "found", "more", "wanted"),
    [
        ({"a": 1.0, "b": 1.0}, "a", {}, 1.6 + 0.9 + 1.8 - 5.1),
        ({"a": 4.0, "b": 4.0}, "a b", {}, 3 * 1.6 + 1.8 + 2 * 1.8 - 5.1),
        (dict.fromkeys("abcde", 0.4), "a b c d e", {}, 2 * 1.6 + 1.8 + 3 * 1.8 - 5.1),
        ({"a": 1.0, "b": 1.0}, "a", {"whole": 0.5}, 1.6 + 0.9 + 1.8 + 0.7 - 5.1),
        ({"a": 1.0, "b": 1.0}, "a", {"whole": 9.0}, 1.6 + 0.9 + 1.8 + 1.4 - 5.1),
        ({"a": 1.0, "b": 1.0}, "a", {"title": "a"}, 1.6 + 0.9 + 1.8 + 1.5 - 5.1),
        ({"a": 5.0, "b": 5.0}, "a", {"title": "a"}, 3 * 1.6 + 0.9 + 1.8 + 2 * 1.5 - 5.1),
        ({"a": 1.0, "write": 1.0}, "a", {}, 1.6 + 1.8 / 1.5 + 1.8 - 5.1),
        ({"a": 0.3, "b": 0.3}, "a", {}, 0.3 * 1.6 + 0.9 - 5.1),
        ({"a": 0.31, "b": 0.31}, "a", {}, 0.31 * 1.6 + 0.9 + 1.8 - 5.1),
    ],
)
def test_a_short_question_is_answered_as_far_as_its_words_are_there(
    told: dict[str, float], found: str, more: dict[str, Any], wanted: float
) -> None:
    assert odds(sure(told, found, **more)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("told", "found", "passages", "more", "wanted"),
    [
        ({"a": 1.0, "b": 1.0}, "a", ["a b"], {}, 0.75 + 0.95 + 0.8 - 3.9),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, "a", ["b c", "a b"], {}, 0.75 + 0.95 + 0.8 - 3.9),
        ({"a": 9.0, "b": 9.0}, "a b", ["a b"], {}, 5 * 0.75 + 1.9 + 2 * 0.8 - 3.9),
        (dict.fromkeys("abcdefgh", 0.5), "a b c d e f g h", ["a b c d e f g h"], {}, 4 * 0.75 + 1.9 + 6 * 0.8 - 3.9),
        ({"a": 1.0, "b": 1.0}, "a", ["a b"], {"whole": 1.5}, 0.75 + 0.95 + 0.8 + 3.0 - 3.9),
        ({"a": 1.0, "b": 1.0}, "a", ["a b"], {"whole": 9.0}, 0.75 + 0.95 + 0.8 + 4.0 - 3.9),
        ({"a": 5.0, "b": 5.0}, "a", ["a b"], {"title": "a"}, 5 * 0.75 + 0.95 + 0.8 + 3.0 - 3.9),
        ({"a": 1.0, "write": 1.0}, "a", ["a write"], {}, 0.75 + 0.95 + 0.8 - 3.9),
    ],
)
def test_a_long_question_is_answered_as_far_as_its_best_passage_is(
    told: dict[str, float], found: str, passages: list[str], more: dict[str, Any], wanted: float
) -> None:
    assert odds(sure(told, found, passages=passages, **more)) == pytest.approx(wanted)


def test_a_note_with_no_word_of_the_question_is_no_answer() -> None:
    assert sure({"a": 1.0}, "") == 0.0
    assert sure({"a": 1.0}, "", passages=[]) == 0.0


def test_a_single_word_among_many_is_an_accident() -> None:
    few = {"a": 0.2, "b": 0.8}
    many = {"a": 0.19, "b": 0.81}
    assert odds(sure(few, "a")) == pytest.approx(0.2 * 1.6 + 0.2 * 1.8 - 5.1)
    assert odds(2 * sure(many, "a")) == pytest.approx(0.19 * 1.6 + 0.19 * 1.8 - 5.1)
    assert odds(sure(many, "a", whole=1.0)) == pytest.approx(0.19 * 1.6 + 0.19 * 1.8 + 1.4 - 5.1)
    two = {"a": 0.5, "b": 0.5, "c": 9.0}
    assert odds(sure(two, "a b")) == pytest.approx(1.6 + 0.1 * 1.8 + 2 * 1.8 - 5.1)


def test_a_short_form_of_a_word_is_the_word_in_a_short_question_only() -> None:
    stems = {"db": ("db",), "database": ("databas",)}
    contents: Any = SimpleNamespace(heads={}, has=lambda _, stem: stem == "databas")
    for is_short in (True, False):
        question = SimpleNamespace(is_short=is_short, words=["db"], passages=[["db"]])
        plan: Any = SimpleNamespace(question=question, told={"db": 1.0}, stems_of=stems, whole={})
        assert (confidence(plan, contents, 1) > 0) is is_short


# ------------------------------------------------------------------------------------------------ long questions


@pytest.mark.parametrize(
    ("is_pasted", "pairs", "whole", "wanted"),
    [
        (False, [], {}, 0.6 * 6.2 + 4 + 0.2 * 2.2),
        (True, [], {}, 0.6 * 5.4 + 4 + 0.2 * 1.4),
        (False, [("cache", "port")], {}, 0.6 * 6.2 + 4 + 0.2 * 2.2 + 2.2),
        (False, [("cache", "none")], {}, 0.6 * 6.2 + 4 + 0.2 * 2.2),
        (False, [], {"cacheport": 1.5, "other": 9.0}, 0.6 * 6.2 + 4 + 0.2 * 2.2 + 3.0),
    ],
)
def test_a_note_counts_by_its_best_passage_and_a_little_by_the_rest(
    is_pasted: bool, pairs: list[tuple[str, str]], whole: dict[str, float], wanted: float
) -> None:
    question = SimpleNamespace(is_pasted=is_pasted, pairs=pairs, passages=[["cache"], ["port"], ["none"]])
    plan: Any = SimpleNamespace(
        question=question,
        stems={"cache": 4.0, "port": 1.0, "none": 9.0},
        whole=whole,
        stems_of={"cache": ("cache",), "port": ("port",), "none": ("none",)},
    )
    contents: Any = SimpleNamespace(heads={1: {"port"}}, bodies={1: {"cache", "port", "cacheport"}})
    ranked = rescored(plan, contents, [(2, -9.0), (1, -1.0)])
    assert ranked == [(1, pytest.approx(-wanted)), (2, 0.0)]


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("abcdefghij", "abcdefghij", True),
        ("abcdefghij", "abcdefxy", True),
        ("abcdefghij", "abcdefwxyz", True),
        ("abcdefghij", "abcdevwxyz", False),
        ("abcd", "abcdefghij", True),
        ("abc", "abcdefghij", False),
        ("", "", False),
        ("", "abc", False),
    ],
)
def test_notes_are_alike_that_share_most_of_the_shorter_and_enough_of_both(
    one: str, other: str, is_alike: bool
) -> None:
    contents = object.__new__(Contents)
    contents._texts = {1: set(one), 2: set(other)}
    assert contents.are_alike(1, 2) is is_alike
    assert contents.are_alike(2, 1) is is_alike
    assert contents.are_alike(1, 9) is False


# ------------------------------------------------------------------------------------------------ plans


def planned(terms: dict[str, int]) -> Plan:
    stems = {term: (term,) for term in terms}
    return Plan(None, None, tuple(terms), stems, {}, {}, {}, terms)  # type: ignore[arg-type]


def test_the_commonest_words_are_left_out_where_all_are_in_too_many_notes() -> None:
    plan = planned({"common": 70, "rare": 10, "usual": 30})
    assert plan.expression() == '"common" OR "rare" OR "usual"'
    assert plan.expression(most=110) == '"common" OR "rare" OR "usual"'
    assert plan.expression(most=109) == '"rare" OR "usual"'
    assert plan.expression(most=40) == '"rare" OR "usual"'
    assert plan.expression(most=39) == '"rare"'
    assert plan.expression(most=1) == '"rare"', "one is always asked for"
    assert plan.expression("scope : x", most=1) == 'scope : x AND ("rare")'
    assert planned({}).expression() is None


def test_a_phrase_is_in_no_more_notes_than_its_rarest_word() -> None:
    plan = Plan(
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        ("big small", "big"),
        {"big": ("big",), "small": ("small",)},
        {},
        {},
        {},
        {"big": 50, "small": 2},
    )
    assert plan.expression(most=51) == '"big small"'


def test_so_many_words_are_looked_for_and_a_text_without_one_has_no_plan() -> None:
    with Database.in_memory() as database:
        words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(60)]
        columns = "rowid, title, name, body, hidden, scope"
        query = f"INSERT INTO texts ({columns}) VALUES (1, '', '', ?, '', '')"
        database.connection.execute(query, (" ".join(words),))
        plan = plan_of(database, ". ".join(words))
        assert plan is not None
        assert len([term for term in plan.terms if " " not in term]) == 48
        assert plan_of(database, "?!") is None


@pytest.mark.parametrize(
    ("notes", "count", "tells"),
    [
        (0, 1, 1.0),
        (0, 10, log(1 + 40.5 / 10.5) / log(1 + 49.5 / 1.5)),
        (0, 50, log(1 + 0.5 / 50.5) / log(1 + 49.5 / 1.5)),
        (1000, 1, 1.0),
        (1000, 3, 1.0),
        (1000, 10, log(1 + 1040.5 / 10.5) / 5.41),
    ],
)
def test_a_word_tells_the_more_the_fewer_notes_have_it(
    monkeypatch: pytest.MonkeyPatch, notes: int, count: int, tells: float
) -> None:
    with Database.in_memory() as database:
        monkeypatch.setattr(database, "count", lambda: notes)
        assert Lexicon(database).rarity({"word": count}) == {"word": pytest.approx(tells)}
