"""The screens of the page, one module each. A screen is made for the server and for an export by the same code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentm_view.html import Html, join, tag

if TYPE_CHECKING:
    from agentm_view.links import Links
    from agentm_view.markdown import Renderer
    from agentm_view.memory import Listing, Memory


@dataclass(frozen=True)
class Screen:
    """One screen: what the window's title says, what it shows, and what it is about."""

    title: str
    html: Html
    about: dict[str, str] = field(default_factory=dict)
    """What the page's script has to know: the note's key and hash."""


@dataclass
class Asked:
    """What a screen is made with."""

    memory: Memory
    links: Links
    listing: Listing
    renderer: Renderer
    may_write: bool
    query: dict[str, str] = field(default_factory=dict)


def heading(title: str, *beside: object, said: object = None) -> Html:
    """The head of a screen."""
    return tag(
        "header",
        tag("div", tag("h1", title, tabindex="-1", dir="auto"), tag("div", *beside, class_="beside")),
        said and tag("p", said, class_="said"),
        class_="head",
    )


def empty(title: str, said: object, *more: object) -> Html:
    """What stands where there is nothing yet, and what to do next."""
    return tag("div", tag("h2", title), tag("p", said), *more, class_="empty")


def section(title: str, *children: object, count: int | None = None) -> Html:
    number = tag("span", f"{count:,}", class_="count") if count is not None else None
    return tag("section", tag("h2", title, number), join(*children))
