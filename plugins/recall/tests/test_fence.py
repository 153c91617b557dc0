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
from agentm_recall.fence import bounded_runs, fenced, longest_run, visible, visible_line

# Default-ignorable by Unicode although their category says letter or mark.
IGNORABLE = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0, 0x2065]
IGNORABLE += [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
SHOWN_MARKS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that have a shape of their own: Arabic number signs and the like."""


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


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u2009", "\u202f", "\u205f", "\u2800"])
def test_a_space_is_a_space(space):
    assert visible(f"a{space}b") == "a b"


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "🏳\u200d🌈"])
def test_a_joiner_stays_where_it_joins(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    "text", ["a\u200db", "\u200d👍", "👍\u200d", "👍\u200d\u200d👍", "x\u200cy", "👍\u200c👍", "\u200d"]
)
def test_a_joiner_that_joins_nothing_is_removed(text):
    assert visible(text) == text.replace("\u200d", "").replace("\u200c", "")


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
