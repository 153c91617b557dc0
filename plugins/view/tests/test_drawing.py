"""Markup from texts: nothing of a text becomes markup, nothing that is written back is changed."""

from __future__ import annotations

import pytest

from agentm_view.blocks import Drawing, ago
from agentm_view.diff import lines_changed, side_by_side, with_line_ends
from agentm_view.html import Html, escape, exact, join, tag
from agentm_view.links import ExportLinks, Links
from agentm_view.markdown import Renderer
from agentm_view.routes import split

LEVELS = {1: 3, 2: 4, 3: 5, 4: 6, 5: 6, 6: 6}
"""The headings of a note are below those of its screen."""


def rendered(text: str) -> str:
    return Renderer(lambda name: "/note/a.md" if name == "a" else None).render(text)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert join("<b>", Html("<b>"), None, False, ["&", 3]) == "&lt;b&gt;<b>&amp;3"
    assert tag("a", "x", href='"><script>', class_="c", data_key="k", hidden=True, title=None) == (
        '<a href="&quot;&gt;&lt;script&gt;" class="c" data-key="k" hidden>x</a>'
    )
    with pytest.raises(TypeError):
        join(object())


def test_what_cannot_be_seen_is_spelled_out_but_not_in_fields() -> None:
    assert escape("a\u202eb\x1b[0m\u200b") == "a[U+202E]b[U+001B][0m[U+200B]"
    assert escape("tab\tand\nline") == "tab\tand\nline"
    assert exact("a\u202eb\r\n") == "a\u202eb\r\n"


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("<script>1</script>", "<script"),
        ("<img src=x onerror=1>", "<img"),
        ("![a](http://e/x.png)", "<img"),
        ("[a](javascript:1)", "href"),
        ("[a](JaVaScRiPt:1)", "href"),
        ("[a](data:text/html,x)", "href"),
        ("[a](vbscript:x)", "href"),
        ("[a](file:///etc/passwd)", "href"),
        ("[a](//evil.example/)", "href"),
        ("[a](/api/do)", "href"),
        ("<javascript:alert(1)>", "href"),
        ("[[<b>]]", "<b>"),
        ("[x]: javascript:1\n\n[x]", "href"),
        ("```<script>\n</code><script>\n```", "<script"),
    ],
)
def test_a_note_cannot_bring_markup(text: str, never: str) -> None:
    assert never not in rendered(text).lower()


def test_a_list_of_tasks_shows_what_is_done() -> None:
    shown = rendered("- [x] retries\n- [ ] settlement [x] later\n\n1. [X] one\n\n[x] no task\n\n    - [x] code\n")
    assert "☑ retries" in shown
    assert "☐ settlement [x] later" in shown
    assert "☑ one" in shown
    assert "[x] no task" in shown
    assert "- [x] code" in shown


def test_what_a_note_can_be() -> None:
    for level, shown in LEVELS.items():
        assert f'<h{shown} dir="auto">' in rendered(f"{'#' * level} one")
    assert 'href="/note/a.md"' in rendered("[[a]]")
    assert ">words<" in rendered("[[a|words]]")
    assert "<a" not in rendered("[[b]]")
    for none in ("[[]]", "[[a[b]]", "[[a\nb]]", "[[a"):
        assert none.replace("\n", "") in rendered(none).replace("\n", ""), "no name of a note"
    assert 'rel="noopener noreferrer"' in rendered("[x](https://example.com/)")
    assert "<table>" in rendered("| a |\n|---|\n| b |")
    assert "image: alt" in rendered("![alt](https://e/x.png)")


def test_deep_and_huge_notes_are_drawn_in_time() -> None:
    assert rendered("> " * 5000 + "deep")
    assert rendered("[" * 5000)
    assert rendered("*a " * 20_000)
    assert "more characters" in rendered("word " * 100_000)


def test_lines_that_changed() -> None:
    drawn = lines_changed("one\ntwo\n", "one\n<three>\n")
    assert '<span class="unseen">removed: </span>two' in drawn
    assert "&lt;three&gt;" in drawn
    assert "the same" in lines_changed("a", "a")
    assert "too many" in lines_changed("a\n" * 5000, "b")
    assert side_by_side("a\nb", "a\nc", "left", "right").count("line gone") == 1


@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        ("a\nb\n", "a\nc\n", "a\nc\n"),
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\r\nb\nc", "a\nb\nc\nd", "a\r\nb\nc\r\nd"),
        ("a\rb", "a\nb", "a\rb"),
        ("a\r\nb\nc\n", "a\nb\nc\nd\n", "a\r\nb\nc\nd\n"),
        ("a\r\n" * 5000, "a\n" * 5000 + "b\n", "a\r\n" * 5000 + "b\r\n"),
        ("a\r\nb", "a\nb", "a\r\nb"),
        ("a\r\n\u2028b\r\n", "a\n\u2028b!\n", "a\r\n\u2028b!\r\n"),
        ("", "new\n", "new\n"),
    ],
)
def test_line_ends_stay_what_they_were(before: str, typed: str, after: str) -> None:
    assert with_line_ends(before, typed) == after


def drawing(*, may_act: bool = True, links: Links | None = None) -> Drawing:
    return Drawing(links or Links(), "p", may_act=may_act, render=lambda text: Html(f"<p>{escape(text)}</p>"))


def test_blocks() -> None:
    drawn = drawing().draw(
        [
            {"type": "text", "text": "<b>"},
            {"type": "figures", "items": [{"label": "delivered", "value": "41 of 41"}]},
            {
                "type": "rows",
                "rows": [{"status": "warn", "label": "x", "text": "y", "hint": "run `agentm x`", "note": "a b.md"}],
            },
            {"type": "table", "columns": ["c"], "rows": [["1"], [{"text": "n", "open": {"q": "a&b"}}]]},
            {"type": "timeline", "items": [{"time": 0, "title": "then"}]},
            {
                "type": "sides",
                "left": {"title": "l", "text": "1"},
                "right": {"title": "r", "text": "2"},
                "actions": [{"action": "go", "label": "Go", "fields": {"k": '"'}}],
            },
            {"type": "diff", "before": "1", "after": "2"},
            {"type": "markdown", "text": "m"},
        ]
    )
    assert "<b>" not in drawn
    assert "<code>agentm x</code>" in drawn
    assert 'href="/note/a%20b.md"' in drawn
    assert 'href="/panel/p?q=a%26b"' in drawn
    assert 'data-action="go"' in drawn
    assert 'value="&quot;"' in drawn
    assert "1970-01-01" in drawn


def test_blocks_that_cannot_be_drawn_are_named() -> None:
    drawn = drawing().draw([{"type": "riddle"}, {"type": "sides"}, "text", {"type": "text", "text": "after"}])  # type: ignore[list-item]
    assert "no known type" in drawn
    assert "sides cannot be drawn" in drawn
    assert "after" in drawn


def test_without_leave_there_is_nothing_to_press() -> None:
    row = {"label": "x", "actions": [{"action": "go", "label": "Go"}]}
    drawn = drawing(may_act=False).draw(
        [{"type": "rows", "rows": [row]}, {"type": "action", "action": "a", "label": "A"}]
    )
    assert "<form" not in drawn
    assert "<button" not in drawn


def test_export_links_are_relative_and_lead_only_to_files() -> None:
    links = ExportLinks(2)
    assert links.note("a b/c#.md") == "../../note/a%20b/c%23.md.html"
    assert links.screen("") == "../../index.html"
    assert links.screen("notes", {"kind": "x"}) is None
    assert links.panel("p", {"q": "1"}) is None


def test_an_address_is_a_screen_and_what_is_asked_of_it() -> None:
    assert split("/panel/a%20b?kind=&q=x%26y") == ("panel/a b", {"kind": "", "q": "x&y"})
    assert split("/") == ("", {})


def test_how_long_ago() -> None:
    assert [ago(1e9 - gone, 1e9) for gone in (5, 600, 7200, 3 * 86_400)] == [
        "just now",
        "10 min ago",
        "2 h ago",
        "3 days ago",
    ]
    assert ago(0, 1e9) == "1970-01-01"
    assert ago(2e9, 1e9) == "2033-05-18"


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "card", "text": "about"}, '<article class="choice"><p class="quiet">about</p></article>'),
        ({"type": "card"}, '<article class="choice"></article>'),
        ({"type": "card", "title": "T", "note": "a.md"}, '<h3 dir="auto"><a href="/note/a.md">T</a></h3>'),
        ({"type": "card", "time": 0}, '<p class="quiet"> <time datetime="1970-01-01T00:00:00+00:00"'),
        ({"type": "text", "text": "t"}, '<p dir="auto">t</p>'),
        ({"type": "rows", "rows": [{"label": "l"}]}, '<span class="badge info">to know</span>'),
        ({"type": "rows", "rows": [{"status": "odd"}]}, '<span class="badge info">odd</span>'),
        ({"type": "rows", "rows": [{"status": "ok", "badge": "new"}]}, '<span class="badge ok">new</span>'),
        ({"type": "rows", "rows": [{"label": "l", "open": "q"}]}, "<strong>l</strong>"),
        ({"type": "rows", "rows": [{"label": "l", "time": "late"}]}, "</div></li></ul>"),
        ({"type": "rows"}, '<ul class="rows"></ul>'),
        ({"type": "table"}, "<table><thead><tr></tr></thead><tbody></tbody></table>"),
        ({"type": "table", "rows": [[3]]}, "<td>3</td>"),
        ({"type": "figures"}, '<dl class="figures"></dl>'),
        ({"type": "timeline"}, '<ol class="timeline"></ol>'),
        ({"type": "timeline", "items": [{"title": "t"}]}, '<li><div class="what"><strong>t</strong></div></li>'),
        ({"type": "action", "action": "a", "label": "A"}, '<button type="submit">A</button>'),
        (
            {"type": "action", "action": "a", "ask": [{"name": "n"}]},
            '<span>n</span><input type="text" name="n" value="">',
        ),
        (
            {"type": "action", "action": "a", "danger": True, "first": True},
            '<button type="submit" class="danger"></button>',
        ),
        ({"type": "rows", "rows": [{"label": "l", "actions": ["go"]}]}, "</div></li></ul>"),
    ],
)
def test_what_a_block_leaves_out_is_left_out(block: dict[str, object], shown: str) -> None:
    assert shown in drawing().draw([block])
