"""The projects, and one of them: its plans and progress, its notes by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel import read_state_file
from agentm_kernel.plugin import AgentmError, Locator, NotFoundError, layout, list_state_files
from agentm_view.html import Html, join, tag
from agentm_view.screens import Screen, empty, heading, section
from agentm_view.screens.pieces import count_words, note_list, when

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentm_view.screens import Asked

_MOST_PAST = 100


def projects(given: Asked) -> Screen:
    """Every project, with how many notes of which kinds it has."""
    found = given.listing.projects()
    if not found:
        body: object = empty(
            "No project has notes yet", "The first note that is saved in a checkout makes its project."
        )
    else:
        body = tag("ul", *(_project(given, slug, found[slug]) for slug in sorted(found)), class_="cards")
    return Screen("Projects", join(heading("Projects", said=count_words(len(found), "project")), body))


def _project(given: Asked, slug: str, notes: list[dict[str, Any]]) -> Html:
    current = [note for note in notes if note["current"]]
    kinds: dict[str, int] = {}
    for note in current:
        kinds[note["kind"]] = kinds.get(note["kind"], 0) + 1
    said = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1])[:4])
    return tag(
        "li",
        tag("a", slug, href=given.links.project(slug), class_="title"),
        tag("span", count_words(len(current), "note"), class_="said"),
        tag("span", said, class_="quiet"),
        tag("span", when(current[0]["changed"]) if current else None, class_="meta"),
    )


def project(given: Asked, slug: str) -> Screen:
    """One project: its plans and progress, then its notes by kind."""
    notes = given.listing.projects().get(slug, [])
    files = list(_state_files(given, slug))
    if not notes and not files:
        raise NotFoundError(f"there is no project '{slug}'", hint="look at the list of projects")
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for note in notes:
        if note["current"]:
            by_kind.setdefault(note["kind"], []).append(note)
    past = [note for note in notes if not note["current"]]
    html = join(
        heading(slug, said=count_words(sum(map(len, by_kind.values())), "note")),
        files and section("Plan and progress", *(_state_file(given, *file) for file in files)),
        *(
            section(
                _many(kind),
                note_list(given, by_kind[kind], with_project=False, with_kind=False),
                count=len(by_kind[kind]),
            )
            for kind in by_kind
        ),
        past and section("Past", note_list(given, past[:_MOST_PAST], with_project=False), count=len(past)),
    )
    return Screen(slug, html)


def _many(kind: str) -> str:
    """`known-issue` as a heading: Known issues."""
    words = kind.replace("-", " ").capitalize()
    return words if words.endswith("s") else f"{words}s"


def _state_file(given: Asked, name: str, text: str, where: str) -> Html:
    body = tag("div", given.renderer.render(text), class_="prose", dir="auto") if text.strip() else tag("p", "empty")
    is_plan = name.upper().startswith("PLAN")  # what a person comes for; progress is long
    head = tag("summary", tag("strong", name), Html(" "), tag("span", where, class_="quiet"))
    return tag("details", head, body, open=is_plan)


def _state_files(given: Asked, slug: str) -> Iterable[tuple[str, str, str]]:
    """Plans, progress and other state: from the store, and from the checkout in which the page was opened."""
    try:
        store = given.memory.store()
        for top in layout.PROJECT_TREES:
            for locator in store.list(Locator(f"{top}/{slug}/{layout.HARNESS}")):
                if locator.suffix == ".md":
                    yield locator.name, store.read(locator), "in the store"
        here = given.memory.device().project(given.memory.cwd)
        if here.backend is None or (here.slug == slug and not here.backend.capabilities.sync):
            for name in list_state_files(here) if here.slug == slug else ():
                if name.endswith(".md"):
                    yield name, read_state_file(here, name), f"in {_short(given, str(here.root))}"
    except AgentmError as error:
        yield "state", str(error), "cannot be read"


def _short(given: Asked, path: str) -> str:
    return path.replace(f"{given.memory.device().home}/", "~/")
