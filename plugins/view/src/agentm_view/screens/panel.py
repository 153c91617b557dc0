"""A panel of a plugin on a screen of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_kernel.plugin import NotFoundError
from agentm_view.html import join
from agentm_view.screens import Screen, empty, heading
from agentm_view.screens.pieces import draw_panel

if TYPE_CHECKING:
    from agentm_kernel.plugin import Panel
    from agentm_view.screens import Asked


def panel(given: Asked, name: str) -> Screen:
    """The panel of that name, asked for what the address says."""
    found = named_panel(given, name)
    body = draw_panel(given, found, given.query)
    return Screen(
        found.title, join(heading(found.title), body or empty("Nothing here", "There is nothing to show yet."))
    )


def named_panel(given: Asked, name: str) -> Panel:
    panels, failures = given.memory.panels()
    for one in panels:
        if one.name == name:
            return one
    why = failures[0].message if failures else "the plugin that it belongs to is not installed"
    raise NotFoundError(f"there is no panel '{name}': {why}", hint="`agentm plugins list` shows what is installed")
