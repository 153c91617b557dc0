"""The graph: which notes belong together, drawn and as a list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentm_view.blocks import Drawing
from agentm_view.html import Html, join, tag
from agentm_view.screens import Screen, empty, heading, section

if TYPE_CHECKING:
    from agentm_view.screens import Asked

_MOST_NODES = 150


def graph(given: Asked) -> Screen:
    """Which notes belong together: replaced, linked, about the same files."""
    service = given.memory.notes()
    project = given.query.get("project", "")
    edges = [
        edge
        for edge in service.links()
        if all(key in given.listing.by_key for key in edge[:2])
        and (
            not project
            or project in (given.listing.by_key[edge[0]]["project"], given.listing.by_key[edge[1]]["project"])
        )
    ]
    degree: dict[str, int] = {}
    for one, other, _, _ in edges:
        degree[one] = degree.get(one, 0) + 1
        degree[other] = degree.get(other, 0) + 1
    kept = {key for key, _ in sorted(degree.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_NODES]}
    shown = [edge for edge in edges if edge[0] in kept and edge[1] in kept]
    if not shown:
        body = empty(
            "No connections yet",
            "Notes are connected when one replaces another, names it in [[double brackets]], or is about one file.",
        )
        return Screen("Graph", join(heading("Graph"), body))
    data = {
        "nodes": [_node(given, key, degree[key]) for key in sorted(kept)],
        "edges": [[one, other, kind] for one, other, kind, _ in shown],
    }
    more = len(degree) - len(kept)
    said = f"{len(kept)} note{'s' * (len(kept) != 1)}, {len(shown)} connection{'s' * (len(shown) != 1)}"
    said += f"; not drawn: {more} more" if more else ""
    html = join(
        heading("Graph", said=said),
        tag(
            "div",
            tag("span", "replaces", class_="key supersedes"),
            tag("span", "links to", class_="key link"),
            tag("span", "speaks of the same file", class_="key file"),
            class_="keys",
        ),
        tag(
            "div",
            data_graph=json.dumps(data, ensure_ascii=False),
            class_="graph",
            aria_hidden="true",
        ),
        section("As a list", _table(given, shown)),
    )
    return Screen("Graph", html)


def _node(given: Asked, key: str, degree: int) -> dict[str, Any]:
    note = given.listing.by_key[key]
    return {
        "key": key,
        "title": note["title"][:60],
        "href": given.links.note(key),
        "current": bool(note["current"]),
        "degree": degree,
    }


def _table(given: Asked, edges: list[tuple[str, str, str, str]]) -> Html:
    words = {"supersedes": "replaces", "link": "links to", "file": "speaks of the same file as"}
    rows = [
        [
            {"note": one, "text": given.listing.by_key[one]["title"]},
            f"{words.get(kind, kind)}" + (f" ({about})" if about else ""),
            {"note": other, "text": given.listing.by_key[other]["title"]},
        ]
        for one, other, kind, about in edges
    ]
    drawing = Drawing(given.links, "graph", may_act=False, render=given.renderer.render)
    return drawing.draw([{"type": "table", "columns": ["note", "", "note"], "rows": rows}])
