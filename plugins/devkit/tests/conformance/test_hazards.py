"""Every row of the hostile corpus has a case in the kit, or a named place elsewhere in this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentm_devkit.conformance import all_checks
from agentm_devkit.conformance.hazards import HAZARDS

KEYS_AND_CONTENT, CONCURRENCY_AND_DISK = range(1, 26), range(32, 51)
TESTS = Path(__file__).parents[4] / "tests"

# What concerns the lock itself, or needs a disk that fails, cannot be asked of every backend through its verbs.
ELSEWHERE = {
    37: "faults/pauses.py::campaign",  # for fifteen seconds; the kit pauses for a moment
    38: "faults/clocks.py::campaign",
    39: "kernel/files/test_mutex.py::test_a_forked_child_holds_nothing_and_frees_nothing",
    40: "faults/interruptions.py::campaign",
    41: "kernel/files/test_mutex.py::test_nothing_is_written_into_the_store",  # nothing that had to be removed
    42: "kernel/files/test_store.py::test_a_verb_works_inside_the_store_s_own_mutex",
    43: "faults/one_lock.py::campaign",  # bind mounts and nested roots too
    44: "faults/io_errors.py::campaign",  # ENOSPC and EDQUOT at every call; the kit limits the size of a file
    45: "faults/io_errors.py::campaign",
    47: "kernel/files/test_store.py::test_writers_wait_for_the_mutex_and_readers_do_not",
    48: "faults/crash_states.py::campaign",
}


def test_the_table_has_the_rows_on_keys_content_concurrency_and_disk() -> None:
    assert list(HAZARDS) == [*KEYS_AND_CONTENT, *CONCURRENCY_AND_DISK]


def test_every_row_has_a_case() -> None:
    in_the_kit = {row for check in all_checks() for row in check.rows}
    assert in_the_kit <= set(HAZARDS)
    assert set(HAZARDS) - in_the_kit <= set(ELSEWHERE)


@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_the_places_elsewhere_exist(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"def {name}(" in (TESTS / file).read_text()
