"""What plugins say in blocks (`docs/reference/page.md`), drawn. One that cannot be drawn is named, never fatal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agentm_view.diff import lines_changed, side_by_side
from agentm_view.html import Html, exact, join, tag

if TYPE_CHECKING:
    from agentm_view.links import Links

    Block = Mapping[str, Any]

STATUSES = {"ok": "fine", "warn": "look at it", "fail": "not working", "info": "to know"}


class Drawing:
    """Draws the blocks of one panel."""

    def __init__(self, links: Links, panel: str, *, may_act: bool, render: Callable[[str], Html]) -> None:
        self._links = links
        self._panel = panel
        self._may_act = may_act
        self._render = render
        self._kinds: dict[str, Callable[[Any], Html]] = {
            "text": self._text,
            "heading": lambda block: tag("h3", _words(block, "text"), dir="auto"),
            "markdown": lambda block: tag("div", render(_words(block, "text")), class_="prose"),
            "figures": self._figures,
            "rows": self._rows,
            "table": self._table,
            "timeline": self._timeline,
            "sides": self._sides,
            "card": self._card,
            "diff": lambda block: lines_changed(_words(block, "before"), _words(block, "after")),
            "action": lambda block: tag("div", self._action(block), class_="actions"),
        }

    def draw(self, blocks: Sequence[Block]) -> Html:
        return join(*(self._one(block) for block in blocks))

    def _one(self, block: Block) -> Html:
        draw = self._kinds.get(str(block.get("type"))) if isinstance(block, Mapping) else None
        if draw is None:
            return tag("p", f"a block of no known type: {str(block)[:80]}", class_="quiet")
        try:
            return draw(block)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return tag("p", f"a block of type {block['type']} cannot be drawn: {error}", class_="quiet")

    # -- kinds of blocks --------------------------------------------------------------------------------------

    def _text(self, block: Block) -> Html:
        return tag("p", _words(block, "text"), class_="quiet" if block.get("quiet") else None, dir="auto")

    def _figures(self, block: Block) -> Html:
        figures = [
            tag("div", tag("dt", _words(item, "label")), tag("dd", _words(item, "value")))
            for item in block.get("items", ())
        ]
        return tag("dl", *figures, class_="figures")

    def _rows(self, block: Block) -> Html:
        return tag("ul", *(self._row(row) for row in block.get("rows", ())), class_="rows")

    def _row(self, row: Block) -> Html:
        return tag(
            "li",
            _badge(row),
            tag(
                "div",
                tag("strong", self._linked(row, _words(row, "label"))),
                tag("span", _words(row, "text"), class_="said", dir="auto"),
                row.get("hint") and tag("span", hint(str(row["hint"])), class_="hint"),
            ),
            _when(row),
            self._actions(row),
        )

    def _table(self, block: Block) -> Html:
        head = tag("tr", *(tag("th", str(name), scope="col") for name in block.get("columns", ())))
        body = [tag("tr", *(tag("td", self._cell(cell)) for cell in row)) for row in block.get("rows", ())]
        table = tag("table", tag("thead", head), tag("tbody", *body))
        return tag("div", table, class_="table", tabindex="0", role="group", aria_label="Table")

    def _cell(self, cell: Any) -> Html:
        if isinstance(cell, Mapping):
            return join(self._linked(cell, _words(cell, "text")), _when(cell))
        return join(str(cell))

    def _timeline(self, block: Block) -> Html:
        return tag("ol", *(self._moment(item) for item in block.get("items", ())), class_="timeline")

    def _moment(self, item: Block) -> Html:
        return tag(
            "li",
            _when(item),
            tag(
                "div",
                tag("strong", self._linked(item, _words(item, "title"))),
                item.get("status") and join(" ", _badge(item)),
                class_="what",
            ),
            item.get("text") and tag("p", _words(item, "text"), dir="auto"),
            self._notes(item),
            self._actions(item),
        )

    def _sides(self, block: Block) -> Html:
        left, right = block["left"], block["right"]
        both = side_by_side(
            _words(left, "text"), _words(right, "text"), _words(left, "title"), _words(right, "title")
        )
        return tag("article", self._head(block), both, self._actions(block), class_="choice")

    def _card(self, block: Block) -> Html:
        """Something to decide about: what it is, its text, and what can be done."""
        prose = block.get("markdown") and tag(
            "div", self._render(_words(block, "markdown")), class_="prose", dir="auto"
        )
        return tag("article", self._head(block), prose, self._actions(block), class_="choice")

    def _head(self, block: Block) -> Html:
        title = block.get("title") and tag("h3", self._linked(block, _words(block, "title")), dir="auto")
        when = _when(block)
        words = [_words(block, "text"), when and Html(" "), when]
        return join(title, (block.get("text") or when) and tag("p", *words, class_="quiet"))

    def _notes(self, item: Block) -> Html | None:
        """Links to several notes, by their names."""
        keys = [str(key) for key in item.get("notes", ())]
        links = [tag("a", _name(key), href=self._links.note(key), title=key) for key in keys]
        return tag("ul", *(tag("li", link) for link in links), class_="names") if links else None

    # -- links and actions ------------------------------------------------------------------------------------

    def _linked(self, item: Block, words: str) -> Html:
        """The words, as a link where the item says which note they are about, or what to ask this panel for."""
        place = None
        if item.get("note"):
            place = self._links.note(str(item["note"]))
        elif isinstance(item.get("open"), Mapping):
            place = self._links.panel(self._panel, {str(key): str(value) for key, value in item["open"].items()})
        return tag("a", words, href=place) if place else join(words)

    def _actions(self, item: Block) -> Html | None:
        actions = [action for action in item.get("actions", ()) if isinstance(action, Mapping)]
        drawn = [self._action(action) for action in actions]
        return tag("div", *drawn, class_="actions") if actions and self._may_act else None

    def _action(self, action: Block) -> Html:
        """A form of its own: what it sends is what the block says, and what the person wrote where it asks."""
        if not self._may_act:
            return Html()
        fields = {str(key): str(value) for key, value in action.get("fields", {}).items()}
        hidden = [tag("input", type="hidden", name=key, value=value) for key, value in fields.items()]
        asked = [_asked(field) for field in action.get("ask", ())]
        danger = bool(action.get("danger"))
        button = tag(
            "button",
            _words(action, "label"),
            type="submit",
            class_="danger" if danger else "first" if action.get("first") else None,
            data_confirm=str(action.get("confirm", "")) or None,
        )
        return tag(
            "form",
            *hidden,
            *asked,
            button,
            data_do="panel",
            data_panel=self._panel,
            data_action=str(action["action"]),
        )


def _badge(item: Block) -> Html:
    """How it is, in a word: the item's own, or the usual one."""
    status = str(item.get("status", "info"))
    known = status if status in STATUSES else "info"
    return tag("span", str(item.get("badge") or STATUSES.get(status, status)), class_=f"badge {known}")


def _name(key: str) -> str:
    return key.rpartition("/")[2].removesuffix(".md")


def _asked(field: Block) -> Html:
    name, label = str(field["name"]), str(field.get("label", field["name"]))
    text = str(field.get("text", ""))
    area = tag("textarea", Html("\n" + exact(text)), name=name, rows="12", spellcheck="false")
    one_line = tag("input", type="text", name=name, value=text)
    return tag("label", tag("span", label), area if field.get("long") else one_line)


def hint(text: str) -> Html:
    """A hint, with the commands in it as code."""
    parts = text.split("`")
    return join(*(tag("code", part) if number % 2 else part for number, part in enumerate(parts)))


def _words(item: Block, name: str) -> str:
    return str(item.get(name, ""))


def _when(item: Block) -> Html | None:
    return moment(item["time"]) if isinstance(item.get("time"), int | float) else None


def moment(seconds: float) -> Html:
    """A time, in words that the page makes relative; the exact one is there to be pointed at."""
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return join("at an unknown time")
    return tag(
        "time", ago(seconds), datetime=at.isoformat(timespec="seconds"), title=at.strftime("%Y-%m-%d %H:%M:%S UTC")
    )


def ago(seconds: float, now: float | None = None) -> str:
    """How long ago, as people say it."""
    gone = (time.time() if now is None else now) - seconds
    if gone < 0:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    for limit, size, word in (
        (90, 1, "just now"),
        (5400, 60, "min"),
        (129_600, 3600, "h"),
        (5_184_000, 86_400, "days"),
    ):
        if gone < limit:
            return word if size == 1 else f"{round(gone / size)} {word} ago"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
