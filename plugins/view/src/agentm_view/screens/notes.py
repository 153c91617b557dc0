"""All notes as a list, and what a search found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_view.html import Html, join, tag
from agentm_view.screens import Screen, empty, heading, section
from agentm_view.screens.pieces import count_words, note_item, note_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_view.screens import Asked

_ON_ONE = 100


def notes(given: Asked) -> Screen:
    """Every note that fits what was chosen, a hundred at a time."""
    kind, state = given.query.get("kind", ""), given.query.get("status", "current")
    fitting = [note for note in given.listing.notes if _fits(note, kind, state)]
    first = max(0, _number(given.query.get("from", "0")))
    shown = fitting if not given.links.is_live else fitting[first : first + _ON_ONE]
    if not given.listing.notes:
        body = empty("No notes yet", "What agents and you save is listed here.")
    elif not shown:
        body = empty("No note fits", "Choose another kind or status.")
    else:
        body = note_list(given, shown)
    beside = given.may_write and tag("a", "New note", href=given.links.screen("new"), class_="button")
    problems = [tag("li", tag("code", key), ": ", why) for key, why in given.listing.problems]
    html = join(
        heading("Notes", beside, said=count_words(len(fitting), "note")),
        given.links.is_live and _choices(given, kind, state),
        problems and section("Cannot be read", tag("ul", *problems, class_="plain"), count=len(problems)),
        body,
        _pages(given, len(fitting), first) if given.links.is_live else None,
    )
    return Screen("Notes", html)


def _fits(note: Mapping[str, Any], kind: str, state: str) -> bool:
    if kind and note["kind"] != kind:
        return False
    return state == "all" or bool(note["current"]) == (state != "past")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _choices(given: Asked, kind: str, state: str) -> Html:
    kinds = sorted({note["kind"] for note in given.listing.notes})

    def choice(words: str, **change: str) -> Html:
        query = {"kind": kind, "status": state, **change}
        wanted = {name: value for name, value in query.items() if value and (name, value) != ("status", "current")}
        is_here = query == {"kind": kind, "status": state}
        return tag("a", words, href=given.links.screen("notes", wanted), aria_current="true" if is_here else None)

    return tag(
        "nav",
        tag("div", choice("every kind", kind=""), *(choice(name, kind=name) for name in kinds)),
        tag("div", choice("current", status="current"), choice("past", status="past"), choice("all", status="all")),
        class_="choices",
        aria_label="Which notes",
    )


def _pages(given: Asked, count: int, first: int) -> Html | None:
    if count <= _ON_ONE:
        return None
    query = {name: value for name, value in given.query.items() if name != "from"}
    before = first > 0 and given.links.screen("notes", {**query, "from": str(max(0, first - _ON_ONE))})
    after = first + _ON_ONE < count and given.links.screen("notes", {**query, "from": str(first + _ON_ONE)})
    return tag(
        "nav",
        before and tag("a", "← newer", href=before),
        tag("span", f"{first + 1:,} to {min(count, first + _ON_ONE):,} of {count:,}", class_="quiet"),
        after and tag("a", "older →", href=after),
        class_="pages",
        aria_label="More notes",
    )


# ------------------------------------------------------------------------------------------------ searching


def search(given: Asked) -> Screen:
    """What the notes say about the question, with the reason for each answer."""
    question = given.query.get("q", "")
    return Screen(
        "Search", join(heading("Search"), tag("div", found(given, question), id="found", aria_live="polite"))
    )


def found(given: Asked, question: str) -> Html:
    if not question.strip():
        return tag("p", "Type what you are looking for. The best answers come as you type.", class_="quiet")
    answers = given.memory.notes().search(question)["found"]
    if not answers:
        return empty("Nothing found", "No note has these words. Fewer or other words may find it.")
    said = tag("p", count_words(len(answers), "note"), class_="quiet")
    return join(said, tag("ul", *(_answer(given, answer) for answer in answers), class_="notes found"))


def _answer(given: Asked, answer: Mapping[str, Any]) -> Html:
    snippet = [tag("mark", text) if is_marked else text for text, is_marked in answer["snippet"]]
    why = tag("p", tag("span", "found by ", class_="unseen"), " · ".join(answer["why"]), class_="why")
    return note_item(given, answer, tag("p", *snippet, class_="snippet", dir="auto"), why)
