"""The pages of figures take their tables from what was measured, and from nowhere else."""

from __future__ import annotations

import re

from tests.benchmarks.__main__ import BENCHMARKS, as_json
from tests.benchmarks.figures import BLOCK, PAGES, UNMEASURED, fill
from tests.benchmarks.tables import Table

TABLE = Table("writes", "Writing", "Against a bare loop.", [{"work": "overwrite", "speed (×)": 0.871}])
EMPTY = "before\n<!-- bench writes -->\nold\n<!-- end -->\nafter\n"


def test_a_table_comes_with_its_command_its_day_and_its_machine() -> None:
    page = fill(EMPTY, as_json([TABLE], quick=False))
    assert "`make bench ARGS=writes`, 2" in page
    assert "processors, Python 3." in page
    assert "| overwrite |      0.87 |" in page
    assert (page.startswith("before\n"), page.endswith("<!-- end -->\nafter\n"), "old" in page) == (True, True, False)


def test_a_first_impression_is_not_published() -> None:
    assert fill(EMPTY, as_json([TABLE], quick=True)) == EMPTY


def test_what_was_not_measured_stays() -> None:
    assert fill(EMPTY, {}) == EMPTY


BLOCKS = [found for page in PAGES for found in BLOCK.finditer(page.read_text())]


def test_the_pages_have_a_place_for_every_benchmark_that_needs_nothing_from_elsewhere() -> None:
    assert sorted(found["name"] for found in BLOCKS) == sorted({*BENCHMARKS} - {"locomo", "scale_large"})


def test_every_table_says_when_and_where_it_was_measured_or_that_it_was_not() -> None:
    measured = re.compile(r"`make bench ARGS=\w+`, \d{4}-\d\d-\d\d, .+ processors, Python 3\.\d+.*:\n\n\|")
    for found in BLOCKS:
        assert found["table"] == UNMEASURED.format(found["name"]) or measured.match(found["table"]), found["name"]


def test_no_other_table_of_these_pages_is_of_a_benchmark() -> None:
    for page in PAGES:
        by_hand = BLOCK.sub("", page.read_text())
        assert by_hand.count("|---|") == by_hand.partition("## Faults")[2].count("|---|")
