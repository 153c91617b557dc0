"""The list of writers that an object carries: what it can tell, and when it cannot."""

from __future__ import annotations

import os

import pytest

from agentm_bucket.history import LIMIT, History, new_write


def of(*writes):
    return History(writes)


def test_it_survives_its_text():
    history = of("a.1", "b.2f")
    assert History.parse(str(history)) == history
    assert History.parse(None) == of()


def test_each_writer_is_in_it_once_the_latest_last():
    assert of("a.1", "b.1").then("a.2") == of("b.1", "a.2")


def test_however_often_one_rival_writes_the_others_stay_in_it():
    history = of("mine.1")
    for number in range(1000):
        history = history.then(f"rival.{number}")
    assert "mine.1" in history


def test_it_fits_into_the_metadata_of_every_object_store():
    history = of()
    for number in range(2 * LIMIT):
        history = history.then(f"AAAAAA{number:02}.{10**9:x}")
    assert len(history) == LIMIT
    assert len(str(history)) < 1800


def test_a_write_that_is_missing_did_not_happen_as_long_as_nothing_dropped_out():
    assert of("a.1", "b.1").reaches_back_to(of("a.1"))
    assert of("a.2", "b.1").reaches_back_to(of("a.1"))
    assert of("a.1").reaches_back_to(of())


def test_a_full_list_tells_only_while_something_older_is_in_it():
    full = History(f"w{number}.1" for number in range(LIMIT))
    assert full.reaches_back_to(of("w0.1"))
    assert not full.reaches_back_to(of("gone.1"))
    assert not full.reaches_back_to(of())


def test_an_object_that_another_program_replaced_tells_nothing():
    assert not of().reaches_back_to(of("a.1"))
    assert not of("b.1").reaches_back_to(of("a.1"))


def test_no_two_writes_have_one_id():
    assert len({new_write() for _ in range(1000)}) == 1000


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of any fork beside threads
def test_a_forked_process_is_another_writer():
    mine = new_write()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_write().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    os.close(writing)
    assert theirs.partition(".")[0] != mine.partition(".")[0]
