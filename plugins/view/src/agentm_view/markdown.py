"""Notes as HTML. A note may be anybody's text, so it can be headings, lists, tables and code, and nothing else.

HTML in it stays text, an image is shown as its words and loads nothing, and a link leads only where a person would
expect one to lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from agentm_view.html import Html, escape, tag, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    Find = Callable[[str], str | None]
    """The address of the note that a name in double brackets means."""

MOST = 200_000
"""Characters of a note that are laid out. The rest is shown as it is, by its editor."""
_BOXES = {"[ ] ": "☐", "[x] ": "☑"}
_SCHEMES = ("http://", "https://", "mailto:")


class Renderer:
    """Makes notes into HTML; `find` knows where other notes are."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._markdown = MarkdownIt("commonmark", {"html": False})
        self._markdown.enable(["table", "strikethrough"])
        self._markdown.validateLink = _is_link  # type: ignore[method-assign]
        self._markdown.inline.ruler.before("link", "note_link", self._note_link)
        for rule in (_heading_open, _heading_close, _image, _link_open, _table_open, _table_close, _fence):
            self._markdown.add_render_rule(rule.__name__[1:], rule)
        self._markdown.add_render_rule("code_block", _fence)
        self._markdown.core.ruler.push("tasks", _tasks)

    def render(self, text: str) -> Html:
        """The HTML of `text`, or of its beginning where it is huge."""
        shown = visible(text[:MOST])
        body = Html(self._markdown.render(shown))
        if len(text) <= MOST:
            return body
        rest = f"The note goes on for {len(text) - MOST:,} more characters, which are not laid out here."
        return Html(body + tag("p", rest, class_="quiet"))

    def _note_link(self, state: StateInline, silent: bool) -> bool:
        """`[[name]]` or `[[name|words]]`: a link to a note if there is one of that name, else the words."""
        if state.src[state.pos : state.pos + 2] != "[[":
            return False
        end = state.src.find("]]", state.pos + 2, state.pos + 300)
        if end < 0:
            return False
        name, _, words = state.src[state.pos + 2 : end].partition("|")
        if not name or "[" in name or "\n" in name:
            return False
        if not silent:
            place = self._find(name.partition("#")[0].strip())
            if place is not None:
                state.push("link_open", "a", 1).attrSet("href", place)
            state.push("text", "", 0).content = words or name
            if place is not None:
                state.push("link_close", "a", -1)
        state.pos = end + 2
        return True


def _is_link(url: str) -> bool:
    return url.lower().startswith(_SCHEMES)


def _tasks(state: StateCore) -> None:
    """`- [x]` and `- [ ]` as boxes: plans are lists of tasks."""
    for before, paragraph, line in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if before.type != "list_item_open" or paragraph.type != "paragraph_open" or not line.children:
            continue
        first = line.children[0]
        box = _BOXES.get(first.content[:4].lower()) if first.type == "text" else None
        if box is not None:
            first.content = f"{box} {first.content[4:]}"


def _heading_open(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<h{_level(tokens[index])} dir="auto">'


def _heading_close(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f"</h{_level(tokens[index])}>\n"


def _level(token: Token) -> int:
    """The page itself has the first two levels."""
    return min(6, int(token.tag[1]) + 2)


def _image(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    source = str(tokens[index].attrGet("src") or "")
    words = tokens[index].content
    return tag("span", f"image: {words or 'without words'}", Html(" "), tag("code", source[:300]), class_="image")


def _link_open(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    href = str(tokens[index].attrGet("href") or "")
    if not _is_link(href):
        return f'<a href="{escape(href)}">'  # one of ours: a note
    return f'<a href="{escape(href)}" rel="noopener noreferrer" target="_blank" class="away">'


# What may be wider than the window scrolls by itself, and whoever has no mouse must be able to reach it.


def _table_open(*_: Any) -> str:
    return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[index].content)}</code></pre>\n'
