"""The arithmetic of the benchmarks: no time is asserted anywhere."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.benchmarks.__main__ import BENCHMARKS, main
from tests.benchmarks.hook_start import _LeftRunning
from tests.benchmarks.measure import Samples, interleave, percentile
from tests.benchmarks.tables import Table


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100), (0.01, 1), (0.0, 1)]
)
def test_a_percentile_is_the_smallest_value_that_covers_the_share(share, expected):
    assert percentile([*range(100, 0, -1)], share) == expected


def test_a_percentile_of_one_value_is_that_value():
    assert percentile([7.0], 0.99) == 7.0


def test_ratios_compare_what_ran_side_by_side():
    # The machine slows down tenfold in the second round: the ratio of neighbours does not see it.
    samples = Samples({"bare": [1.0, 10.0, 1.0], "ours": [2.0, 20.0, 2.0]})

    assert samples.speed("ours", "bare") == 0.5
    assert samples.cost("ours", "bare") == 2.0
    assert samples.extra("ours", "bare") == 1.0
    assert samples.per_second("ours") == 0.5


def test_work_is_done_in_turn_after_a_first_call_that_does_not_count():
    calls: list[str] = []

    interleave({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=50, batch=2)

    rounds = ["".join(calls[start : start + 4]) for start in range(2, len(calls), 4)]
    assert calls[:2] == ["a", "b"]
    assert len(rounds) == 50
    assert {*rounds} == {"aabb", "bbaa"}


def test_what_work_leaves_running_is_waited_for_before_the_next():
    done: list[str] = []

    interleave({"a": lambda: done.append("a")}, rounds=2, batch=2, settle=lambda: done.append("settled"))

    assert done == ["a", "settled", "a", "a", "settled", "a", "a", "settled"]


def test_a_process_that_a_hook_leaves_behind_is_waited_for(tmp_path):
    left = _LeftRunning()
    left.run(["sh", "-c", f"(sleep 0.3; echo gone > {tmp_path}/gone) >/dev/null &"])
    assert not (tmp_path / "gone").exists()

    left.wait()

    assert (tmp_path / "gone").exists()


def test_a_table_shows_figures_by_their_unit():
    table = Table("t", "Title", "Note.", [{"work": "w", "rate (1/s)": 1234.5, "p99 (ms)": 1.234}, {"work": "longer"}])

    assert table.markdown().splitlines() == [
        "### Title",
        "",
        "| work   | rate (1/s) | p99 (ms) |",
        "| ------ | ---------: | -------: |",
        "| w      |      1,234 |     1.23 |",
        "| longer |            |          |",
        "",
        "Note.",
    ]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_in_the_table_can_be_run(name):
    assert callable(import_module(f"tests.benchmarks.{name}").run)


def test_a_name_that_is_not_in_the_table_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["nothing"])

    assert stopped.value.code == 2
    assert "no benchmark is called 'nothing'" in capsys.readouterr().err


def test_numbers_go_to_the_file_and_the_scratch_folder_is_gone(tmp_path, capsys):
    main(
        [
            "locators",
            "--quick",
            "--scratch",
            str(tmp_path / "scratch"),
            "--json",
            str(tmp_path / "out" / "numbers.json"),
        ]
    )

    assert '"Locator(key)"' in (tmp_path / "out" / "numbers.json").read_text(encoding="utf-8")
    assert "| Locator(key) " in capsys.readouterr().out
    assert [*(tmp_path / "scratch").iterdir()] == []
