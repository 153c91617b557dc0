"""Questions of any length are read for what they are about."""

from __future__ import annotations

import time

import pytest

from agentm_recall.index.question import MOST_WORDS, read_question
from agentm_recall.index.words import STOP_WORDS

TRACE = """\
Traceback (most recent call last):
  File "/srv/app/.venv/lib/python3.12/site-packages/starlette/routing.py", line 656, in __call__
    await self.middleware_stack(scope, receive, send)
  File "/srv/app/shop/cart/merge.py", line 57, in merge_carts
    raise DuplicateLine(line.sku)
shop.cart.errors.DuplicateLine: cart has the line twice (0x7f3a2b, 2025-07-22T09:14:03Z, 8f1c0c22aa)
"""


def test_small_words_and_repetitions_are_dropped():
    question = read_question("Where is the retry policy? The retry policy of our workers, I mean.")

    assert list(question.words) == ["retry", "policy", "workers", "mean"]
    assert ("retry", "policy") in question.pairs
    assert STOP_WORDS.isdisjoint(question.words)


def test_a_question_of_nothing_but_small_words_is_asked_all_the_same():
    assert read_question("how do we").words


@pytest.mark.parametrize("text", ["", "???", " \n", "-- ; ''"])
def test_a_question_without_words_has_none(text):
    assert not read_question(text).words


def test_the_line_of_the_error_says_most_and_frames_say_little():
    words = read_question(TRACE).words

    assert words["twice"] > 1 > words["starlette"]
    assert words["twice"] > words["middleware"]
    assert not {"7f3a2b", "8f1c0c22aa", "0x7f3a2b", "2025"} & set(words)
    assert "site" not in words  # of a long path, only its end


def test_a_line_of_a_log_that_tells_of_a_failure_says_most():
    words = read_question("starting the workers\nconnection refused by broker\nwaiting for jobs").words

    assert words["broker"] > words["workers"] == words["jobs"] == 1


def test_what_ends_a_trace_says_most_whatever_it_is_called():
    words = read_question(TRACE.replace("shop.cart.errors.DuplicateLine", "shop.cart.Duplicate")).words

    assert words["twice"] > 1


def test_short_forms_are_spelled_out_in_short_questions_only():
    assert "database" in read_question("db choice").meanings
    assert "db" in read_question("database choice").meanings
    assert not read_question("db " + " ".join(f"word{number}" for number in range(30))).meanings


def test_words_of_asking_say_little_in_a_long_question():
    long = read_question("please write a test for the retry policy " + " ".join(f"thing{n}" for n in range(20)))

    assert long.words["write"] < long.words["policy"]
    assert read_question("write policy").words["write"] == read_question("write policy").words["policy"]


def test_a_paste_of_any_size_is_bounded_in_words_and_time():
    paste = "\n".join(f"word{number} at frame_{number} (file{number}.py:{number})" for number in range(200_000))
    start = time.perf_counter()

    question = read_question(paste)

    assert len(question.words) <= MOST_WORDS
    assert time.perf_counter() - start < 5  # a guard against what is not linear; it takes a tenth of a second


@pytest.mark.parametrize(
    "run", ["QUJDRA", "abcdef", "1234567890", "a", "-", ".", "/a", "a/", "a.b:", "1:", "0x", "'", "漢字", "错.误"]
)
@pytest.mark.parametrize("before", ["What is in this? ", "Look at\nthis line\n"])
def test_a_line_without_a_space_is_read_as_fast_as_any_other(run, before):
    """What people paste: a key in base64, a dump, a minified file, a page of Chinese."""
    start = time.process_time()

    read_question(before + run * (20_000 // len(run)))

    assert time.process_time() - start < 4  # a guard against what is not linear; it takes a tenth of a second


def test_of_paths_and_noise_the_same_is_kept_wherever_they_stand_in_a_line():
    words = read_question(
        "one\ntwo\nsee xC:/srv/deep/down/module.py, deadbeefcafe1, cafedeadbeef, ffff12345678g and 12:30:01.5 there"
    ).words

    assert {"down", "module", "cafedeadbeef"} <= set(words)
    assert not {"srv", "deep", "deadbeefcafe1", "30"} & set(words)
