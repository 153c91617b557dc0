"""What several screens draw: a note in a list, panels that are loaded by themselves, an error with its next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import AgentmError
from agentm_view.blocks import Drawing, ago, hint
from agentm_view.html import Html, join, tag
from agentm_view.memory import asked
from agentm_view.moments import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentm_kernel.plugin import Panel, PluginFailure
    from agentm_view.screens import Asked


def note_list(given: Asked, notes: Iterable[Mapping[str, Any]], **options: bool) -> Html:
    """`with_project` and `with_kind`: whether each note says so, where the list does not."""
    return tag("ul", *(note_item(given, note, **options) for note in notes), class_="notes")


def note_item(
    given: Asked, note: Mapping[str, Any], *more: object, with_project: bool = True, with_kind: bool = True
) -> Html:
    place = note["project"] if with_project and note["project"] else None
    return tag(
        "li",
        tag("a", note["title"], href=given.links.note(note["key"]), class_="title", dir="auto"),
        *more,
        tag(
            "span",
            with_kind and tag("span", note["kind"], class_="kind"),
            not note["current"] and tag("span", note["status"], class_="badge info"),
            note["problem"] and tag("span", "cannot be read", class_="badge fail"),
            place and tag("span", place, class_="place"),
            not place and with_project and tag("span", "personal", class_="place"),
            when(note["changed"]),
            class_="meta",
        ),
        class_=None if note["current"] else "past",
    )


def when(date: str) -> Html | None:
    """The date of a note as it wrote it, and how long ago that is."""
    if not date:
        return None
    seconds = seconds_of(date)
    return tag("time", ago(seconds) if seconds is not None else date[:10], datetime=date, title=date)


def panel_place(given: Asked, panel: Panel, query: Mapping[str, str]) -> Html:
    """A panel on a screen. Served, it is fetched by itself, so that a slow one keeps nobody waiting."""
    title = tag("h2", panel.title)
    if given.links.is_live:
        fields = {"panel": panel.name, **query}
        from urllib.parse import urlencode

        return tag(
            "section", title, tag("p", "loading", class_="quiet loading"), data_load=urlencode(fields), class_="panel"
        )
    drawn = draw_panel(given, panel, query)
    return tag("section", title, drawn, class_="panel") if drawn else Html()


def draw_panel(given: Asked, panel: Panel, query: Mapping[str, str]) -> Html:
    """The blocks of a panel; nothing if it has nothing to say. One that fails says so in its own place."""
    drawing = Drawing(given.links, panel.name, may_act=given.may_write, render=given.renderer.render)
    try:
        blocks = asked(panel, lambda: panel.show(query))
        if not isinstance(blocks, list):
            raise TypeError(f"it answered {type(blocks).__name__} instead of a list of blocks")
        return drawing.draw(blocks)
    except AgentmError as error:
        return failure(error)
    except TypeError as error:
        return failure(AgentmError(f"the panel '{panel.title}' cannot be shown: {error}"))


def failure(error: AgentmError) -> Html:
    """What happened, and what to do about it."""
    return tag(
        "div",
        tag("p", error.message),
        error.hint and tag("p", "Next: ", hint(error.hint), class_="hint"),
        class_="failure",
        role="alert",
    )


def count_words(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def pairs(*rows: tuple[str, object]) -> Html:
    """A list of what is known, without what is not."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in rows if value), class_="facts")


def failure_of(found: PluginFailure) -> Html:
    """What a plugin did wrong, on the page that it would have added to."""
    return failure(AgentmError(found.message, hint=found.hint))
