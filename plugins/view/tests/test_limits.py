"""How much is shown and where it ends: each limit from both sides, and what is said beyond it."""

from __future__ import annotations

import pytest

from agentm_view.blocks import Drawing, ago, moment
from agentm_view.diff import lines_changed, side_by_side, with_line_ends
from agentm_view.html import Html
from agentm_view.links import Links
from agentm_view.markdown import MOST, Renderer

FULL = 4000
"""Lines of a text that is compared."""


def numbered(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def text(lines: list[str], end: str = "\n") -> str:
    return "".join(f"{line}{end}" for line in lines)


def rendered(note: str) -> str:
    return Renderer(lambda name: f"/note/{name}").render(note)


# -- differences ----------------------------------------------------------------------------------------------


def test_three_lines_around_a_change_are_shown_and_the_others_are_skipped() -> None:
    lines = numbered(20)
    drawn = lines_changed(text(lines), text([*lines[:10], "new", *lines[11:]]))
    assert [line for line in lines if f">{line}</div>" in drawn] == [f"n{number}" for number in range(7, 14)]
    assert drawn.count('<div class="skip">⋯</div>') == 1


def test_what_is_skipped_is_marked_between_changes_and_not_before_the_first_line() -> None:
    lines = numbered(20)
    assert lines_changed(text(lines), text(["new", *lines[1:]])).count("⋯") == 0
    assert lines_changed(text(lines), text(["new", *lines[1:-1], "last"])).count("⋯") == 1


def test_a_text_of_four_thousand_lines_is_compared_and_a_longer_one_is_counted() -> None:
    lines = numbered(FULL)
    assert '<span class="unseen">added: </span>new' in lines_changed(text(lines), text(["new", *lines[1:]]))
    for before, after in ((text([*lines, "more"]), "one\n"), ("one\n", text([*lines, "more"]))):
        said = f"{len(before.splitlines()):,} lines before, {len(after.splitlines()):,} after"
        assert f'<p class="quiet">{said}: too many to compare here.</p>' == lines_changed(before, after)


def test_a_line_that_is_there_many_times_is_still_found_on_both_sides() -> None:
    same = ["the same"] * 300
    before, after = text(same), text([*same[:150], "new", *same[150:]])
    assert lines_changed(before, after).count("removed: ") == 0
    assert side_by_side(before, after, "left", "right").count("line gone") == 0
    mixed = text(same[1:], "\r\n") + "the same\n"
    assert with_line_ends(mixed, after) == text([*same[:150], "new", *same[151:]], "\r\n") + "the same\n"


def test_side_by_side_a_line_that_only_one_text_has_is_beside_an_empty_one() -> None:
    drawn = side_by_side("a\nb", "a\nc\nd", "left", "right")
    left, right = drawn.split("<section>")[1:]
    assert (left.count("line gone"), left.count("line none"), left.count('"line"')) == (1, 1, 1)
    assert (right.count("line added"), right.count("line none"), right.count('"line"')) == (2, 0, 1)


def test_side_by_side_up_to_four_thousand_lines_are_compared_and_longer_texts_stand_as_they_are() -> None:
    lines = numbered(FULL)
    drawn = side_by_side(text(lines), text(lines[1:]), "left", "right")
    assert (drawn.count("line gone"), drawn.count("line none")) == (1, 1)
    for one, other in ((text([*lines, "more"]), "one"), ("one", text([*lines, "more"]))):
        drawn = side_by_side(one, other, "left", "right")
        assert "line gone" not in drawn
        assert "line added" not in drawn
        assert drawn.count("line none") == FULL


def test_each_line_keeps_its_own_end_up_to_four_thousand_lines() -> None:
    lines = numbered(FULL - 1)
    mixed = "first\n" + text(lines[1:], "\r\n")
    typed = text(["first", *lines[1:], "new"])
    assert len(typed.splitlines()) == FULL
    assert with_line_ends(mixed, typed) == f"{mixed}new\r\n"
    assert with_line_ends(mixed, f"{typed}another\n") == text(["first", *lines[1:], "new", "another"], "\r\n")


@pytest.mark.parametrize(
    ("before", "typed", "after"),
    [
        ("a\r\nb\n", "a\nb\nc\n", "a\r\nb\nc\r\n"),
        ("a\r\nb\nc\n", "a\nb\nc\nd\n", "a\r\nb\nc\nd\n"),
        ("a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"),
        ("a\r\nb", "a\nb\n", "a\r\nb\r\n"),
        ("a\r\nb\r\n", "a\nb", "a\r\nb"),
        ("a\r\nb\r\n", "x\na\nb\n", "x\r\na\r\nb\r\n"),
    ],
)
def test_new_lines_end_as_at_least_half_of_the_others_do(before: str, typed: str, after: str) -> None:
    assert with_line_ends(before, typed) == after


# -- times ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (0, "just now"),
        (89, "just now"),
        (90, "2 min ago"),
        (5370, "90 min ago"),
        (5399, "90 min ago"),
        (5400, "2 h ago"),
        (127_800, "36 h ago"),
        (129_599, "36 h ago"),
        (129_600, "2 days ago"),
        (5_140_800, "60 days ago"),
        (5_183_999, "60 days ago"),
        (5_184_000, "2001-07-11"),
        (-1, "2001-09-09"),
    ],
)
def test_a_time_is_said_as_people_say_it(gone: int, said: str) -> None:
    assert ago(1e9 - gone, 1e9) == said


def test_a_time_has_the_exact_second_beside_it_and_one_that_cannot_be_is_said_to_be_unknown() -> None:
    assert 'datetime="1970-01-01T00:00:01+00:00" title="1970-01-01 00:00:01 UTC"' in moment(1.5)
    for never in (1e20, float("nan"), float("inf")):
        assert moment(never) == "at an unknown time"


# -- notes and blocks -----------------------------------------------------------------------------------------


def test_a_note_is_laid_out_up_to_its_limit_and_the_rest_is_counted() -> None:
    whole = "a" * MOST
    assert "goes on" not in rendered(whole)
    assert (
        '<p class="quiet">The note goes on for 1,234 more characters, which are not laid out here.</p>'
        in rendered(whole + "b" * 1234)
    )
    assert "b" not in rendered(whole + "b" * 1234).partition("<p class=")[0]


def test_a_name_in_brackets_ends_within_three_hundred_characters() -> None:
    assert "<a" in rendered(f"[[{'n' * 296}]]")
    assert "<a" not in rendered(f"[[{'n' * 297}]]")


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("[[a]]", '<p><a href="/note/a">a</a></p>'),
        ("x [[a|words]] y", '<p>x <a href="/note/a">words</a> y</p>'),
        ("[[ a #part]]", '<p><a href="/note/a"> a #part</a></p>'),
        ("[[a]][[b]]", '<p><a href="/note/a">a</a><a href="/note/b">b</a></p>'),
        ("*[[a]]*", '<p><em><a href="/note/a">a</a></em></p>'),
        ("[[]]", "<p>[[]]</p>"),
        (
            "![](https://e/x.png)",
            '<p><span class="image">image: without words <code>https://e/x.png</code></span></p>',
        ),
        ("    <code>", '<pre tabindex="0"><code>&lt;code&gt;\n</code></pre>'),
        ("~~gone~~", "<p><s>gone</s></p>"),
        ("<b>", "<p>&lt;b&gt;</p>"),
        (
            "[x](mailto:a@b)",
            '<p><a href="mailto:a@b" rel="noopener noreferrer" target="_blank" class="away">x</a></p>',
        ),
        ("- [x]done\n- [X] done", "<ul>\n<li>[x]done</li>\n<li>☑ done</li>\n</ul>"),
        ("- **[x] no**\n-", "<ul>\n<li><strong>[x] no</strong></li>\n<li></li>\n</ul>"),
        ("- # [x] no", '<ul>\n<li>\n<h3 dir="auto">[x] no</h3>\n</li>\n</ul>'),
    ],
)
def test_what_a_note_writes_is_shown_as(note: str, shown: str) -> None:
    assert rendered(note).strip() == shown


def test_of_an_image_the_first_three_hundred_characters_of_its_address_are_shown() -> None:
    address = "https://e/" + "x" * 400
    assert f"<code>{address[:300]}</code>" in rendered(f"![a]({address})")


def test_of_a_block_of_no_known_type_eighty_characters_are_shown() -> None:
    drawing = Drawing(Links(), "p", may_act=True, render=Html)
    block = {"type": "x" * 100}
    assert f'<p class="quiet">a block of no known type: {Html(str(block)[:80].replace(chr(39), "&#39;"))}</p>' == (
        drawing.draw([block])
    )
