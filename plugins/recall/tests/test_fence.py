"""The fence holds whatever a note says, shows nothing that a reader would not see, and never takes long."""

from __future__ import annotations

import re
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings, strategies as st

from agentm_devkit.conformance.memory import MemoryBackend
from agentm_kernel import Locator
from agentm_kernel.plugin import BackendLayer
from agentm_recall import RecallIndex, phase_recall
from agentm_recall.fence import (
    bounded_runs,
    fenced,
    header_of,
    longest_run,
    shortened,
    tokens,
    visible,
    visible_line,
)
from agentm_recall.note import parse_note

# Default-ignorable by Unicode although their category says letter or mark.
IGNORABLE = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0, 0x2065]
IGNORABLE += [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
SHOWN_MARKS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that have a shape of their own: Arabic number signs and the like."""
IDEOGRAPHIC = "\u3000"
"""A space as wide as the characters around it, which is how a reader sees it."""


def invisible_characters():
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in ("Zl", "Zp") or (category in ("Cc", "Cf") and code not in (9, 10, *SHOWN_MARKS)):
            yield chr(code)
    yield from map(chr, IGNORABLE)


def test_every_invisible_character_is_removed():
    survivors = [f"U+{ord(c):04X}" for c in invisible_characters() if c in visible(f"do{c}ne")]
    assert survivors == []
    assert visible("two\nlines\tand é, 日本, 👍") == "two\nlines\tand é, 日本, 👍"


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x200B, 0x200B),
        (0xD800, 0xDFFF),
        (0xFDD0, 0xFDEF),
        (0xFFF0, 0xFFFB),
        (0xFFFE, 0xFFFF),
        (0x13430, 0x1345F),
        (0xE0000, 0xE0FFF),
    ],
    ids=hex,
)
def test_what_no_script_uses_leaves_nothing_behind(first, last):
    assert visible(f"do{''.join(map(chr, range(first, last + 1)))}ne") == "done"


def test_what_has_a_shape_is_shown():
    hidden = {*IGNORABLE, 0x2800, 0x1D159, *range(0x13430, 0x13460)}  # an empty cell, an empty head of a note
    codes = (code for code in range(sys.maxunicode + 1) if code not in hidden)
    shapes = {character for character in map(chr, codes) if unicodedata.category(character)[0] in "LMNPS"}
    shapes.update("\ue000\uf8ff\U00013460\U000e1000")  # what is for private use, or not in use yet
    assert shapes - set(visible("".join(shapes))) == set()


@pytest.mark.parametrize(
    "space",
    [*(chr(code) for code in range(0x1_0000) if unicodedata.category(chr(code)) == "Zs"), "\u2800"],
    ids=ascii,
)
def test_a_space_is_a_space(space):
    assert visible(f"a{space}é") == f"a{' ' if space != IDEOGRAPHIC else space}é"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_every_end_of_a_line_is_one(end):
    assert visible(f"a{end}b{end}{end}c") == "a\nb\n\nc"


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "🏳\u200d🌈"])
def test_a_joiner_stays_where_it_joins(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    "text", ["a\u200db", "\u200d👍", "👍\u200d", "👍\u200d\u200d👍", "x\u200cy", "👍\u200c👍", "\u200d"]
)
def test_a_joiner_that_joins_nothing_is_removed(text):
    assert visible(text) == text.replace("\u200d", "").replace("\u200c", "")


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x600, 0xDFF), (0xF00, 0x109F), (0x1780, 0x18AF), (0xFB50, 0xFDCF), (0xFE70, 0xFEFC)],
    ids=["India", "Tibet", "Khmer", "Arabic", "more Arabic"],
)
@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"], ids=ascii)
def test_both_joiners_stay_in_scripts_that_they_shape_and_in_no_other(first, last, joiner):
    for letter in map(chr, (first, last)):
        assert visible(f"{letter}{joiner}{letter}") == f"{letter}{joiner}{letter}"
    for other in map(chr, (first - 1, last + 1 if last != 0xFDCF else 0xE001)):
        assert visible(f"{other}{joiner}{other}") == f"{other}{other}"


@pytest.mark.parametrize(("first", "last"), [(0x2190, 0x2BFF), (0x1F000, 0x1FAFF)], ids=hex)
def test_a_joiner_stays_between_pictures_and_a_non_joiner_does_not(first, last):
    for picture in map(chr, (first, last)):
        assert visible(f"{picture}\u200d{picture}\u200c{picture}") == f"{picture}\u200d{picture}{picture}"
    for other in map(chr, (first - 1, last + 1)):
        assert visible(f"{other}\u200d{other}") == f"{other}{other}"


def test_a_joiner_joins_only_what_is_alike():
    assert visible("م\u200d👍") == "م👍"


@settings(max_examples=300)
@given(st.text("`ab\n~# ", max_size=200), st.text("`a(", max_size=30))
def test_neither_header_nor_text_can_end_the_fence(text, header):
    opening, *inside, closing, end = fenced(header, text).split("\n")

    assert end == ""
    assert opening == f"{closing}note"
    assert set(closing) == {"`"}
    assert not any(closing in line for line in inside)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["", "a", "\n"])), max_size=8))
def test_long_runs_are_shortened_and_short_ones_kept(runs):
    text = "".join("`" * count + between for count, between in runs)
    expected = re.sub("`{80,}", "`" * 80, text)

    assert bounded_runs(text) == expected
    assert longest_run(expected) == max(map(len, re.findall("`+", expected)), default=0)


def test_a_line_is_a_line():
    assert visible_line("a\n\u2028# b\x1b[31m") == "a # b[31m"
    assert len(visible_line("x" * 10_000)) == 300
    assert visible_line("x" * 301) == "x" * 300
    assert visible_line("\u200b" * 9 + "done", 3) == "don"
    assert visible_line("\u200b" * 12 + "done", 3) == ""  # no more is looked at than four times what is shown


@pytest.mark.parametrize("line", ["a  b", " a b", "a b ", "a\tb", "a\x7f b"])
def test_spaces_and_controls_say_nothing_in_a_line(line):
    assert visible_line(line) == "a b"


def test_the_line_above_a_note_says_what_is_known_of_it_and_no_more():
    fields = (
        "kind: fact\nupdated: 2020-02-03T04:05:06\nsource: web\nconfidence: 0.50\nstale_after: 2021-01-02T00:00\n"
    )
    note, _ = parse_note("projects/p/facts/port.md", f"---\n{fields}verified: 2020-05-06T01:02:03\n---\nIt is 80.\n")
    known = "fact, 2020-02-03, from web, confidence 0.5, verified 2020-05-06, stale since 2021-01-02: check it"
    assert header_of(note) == f"projects/p/facts/port ({known})"
    more = "cut, 1,234 more characters: `agentm notes show port`"
    assert header_of(note, 1234, remark="seen") == f"projects/p/facts/port ({known}, seen, {more})"
    named, _ = parse_note("projects/p/facts/a $(id) b.md", "It is 80.\n")
    assert "`agentm notes show 'a $(id) b'`" in header_of(named, 1)  # nobody's shell is to run the name of a file
    plain, _ = parse_note("personal/facts/a.md", "It is 80.\n")
    assert header_of(plain) == "personal/facts/a (fact)"


def test_a_fact_about_a_note_is_short_unless_it_says_how_to_see_the_rest():
    note, _ = parse_note("personal/facts/a.md", f"---\nsource: {'x' * 400}\n---\nText.\n")
    assert header_of(note) == f"personal/facts/a (fact, from {'x' * 75})"
    note, _ = parse_note(f"personal/facts/{'n' * 100}.md", "Text.\n")
    assert header_of(note, 1).endswith(f"`agentm notes show {'n' * 100}`)")


def test_a_problem_of_a_note_is_said_above_it():
    note, _ = parse_note("personal/facts/a.md", "---\nkind: [open\n---\nText.\n")
    assert note.problem
    assert visible_line(note.problem, 80) in header_of(note)


def test_a_fence_has_three_backticks_or_one_more_than_the_text():
    assert fenced("a", "") == "```note\na\n```\n"
    assert fenced("a", "`` b") == "```note\na\n\n`` b\n```\n"
    assert fenced("a", "``` b") == "````note\na\n\n``` b\n````\n"


@pytest.mark.parametrize(
    ("text", "count"), [("", 1), ("a", 1), ("abcd", 1), ("abcde", 2), ("a" * 8, 2), ("é" * 4, 2), ("日本", 2)]
)
def test_four_bytes_are_a_token(text, count):
    assert tokens(text) == count


@pytest.mark.parametrize(
    ("text", "length", "kept"),
    [
        ("short", 9, "short"),
        ("one line\nand more", 12, "one line"),
        ("123456\n89abcdef", 12, "123456\n89abc"),
        ("1234567\n9abcdef", 12, "1234567"),
        ("ééé", 3, "é"),
    ],
)
def test_what_is_shortened_ends_with_a_line_where_one_ends_near(text, length, kept):
    assert shortened(text, length) == kept


HOSTILE = {
    "backticks": "`" * 32_768,
    "a backtick every other character": "`a" * 16_384,
    "runs of every length": "".join("`" * length + "a" for length in range(1, 250)),
    "runs just too short": ("`" * 79 + "a") * 400,
    "joiners": "\u200d" * 32_768,
    "joiners between emoji": "👍\u200d" * 16_384,
    "selectors": "a" + "\U000e0100" * 32_768,
    "line separators": "\u2028" * 32_768,
    "fences": "```\n" * 8192,
    "one long line": "x" * 65_536,
    "carriage returns": "\r" * 32_768,
    "brackets in the front matter": "---\na: " + "[" * 16_000 + "\n---\ntext",
    "anchors in the front matter": "---\n" + "".join(f"k{n}: &a{n} [x]\n" for n in range(900)) + "---\ntext",
    "quotes in the front matter": "---\n" + "'" * 16_000 + "\n---\ntext",
    "a block scalar": "---\na: |\n" + "  x\n" * 4000 + "---\ntext",
    "keys without end": "---\n" + "? a\n" * 1000 + "---\ntext",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_note_takes_long_or_silences_the_others(name):
    memory = MemoryBackend()
    memory.write(Locator("projects/widgets/decisions/hostile.md"), HOSTILE[name])
    memory.write(Locator("projects/widgets/decisions/other.md"), "Use files.")

    start = time.process_time()
    text = phase_recall("work", "widgets", backend=memory, environ={}, budget=2000)

    assert time.process_time() - start < 1.0
    assert "Use files." in text


class Slow(BackendLayer):
    def read(self, locator):
        time.sleep(0.1)
        return super().read(locator)


def test_many_notes_that_take_long_cost_no_more_than_the_deadline(home, store):
    for number in range(60):
        home.note(f"projects/widgets/decisions/h{number:02}.md", "text")
    RecallIndex(store).update()

    start = time.monotonic()
    text = phase_recall("work", "widgets", backend=Slow(store), budget=6000)

    assert time.monotonic() - start < 4  # without a limit, six seconds
    assert re.search(r"\d+ for lack of time", text)


@pytest.mark.parametrize("unit", ["`", "`a", "\u200d", "👍\u200d", "\u2028", "```\n", "~", "\r\n"])
def test_a_long_text_takes_time_in_proportion(unit):
    text = unit * (1_600_000 // len(unit))

    start = time.process_time()
    fenced("header", bounded_runs(visible(text)))

    assert time.process_time() - start < 4.0  # it takes 0.4; quadratic work would take hours
