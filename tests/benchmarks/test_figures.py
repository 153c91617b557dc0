"""The page of figures takes its tables from what was measured, and from nowhere else."""

from __future__ import annotations

from tests.benchmarks.__main__ import BENCHMARKS, as_json
from tests.benchmarks.figures import BLOCK, PAGE, fill
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


def test_the_page_asks_for_benchmarks_that_there_are() -> None:
    names = [found["name"] for found in BLOCK.finditer(PAGE.read_text())]
    assert set(names) <= set(BENCHMARKS)
    assert len(names) == len(set(names))
