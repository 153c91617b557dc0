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


def test_of_a_very_long_text_the_beginning_and_the_end_are_read():
    def read(before: int, after: int) -> set[str]:
        return set(read_question(f"{'a ' * (before // 2)}wanted {'b ' * (after // 2)}").words)

    assert "wanted" in read(9_990, 30_000)
    assert "wanted" in read(30_000, 9_990)
    assert "wanted" not in read(10_002, 30_000)
    assert "wanted" not in read(30_000, 10_002)
    assert "wanted" in read(10_002, 9_980), "all of a text of 20,000 characters is read"


def test_a_letter_alone_says_nothing_and_a_character_of_another_script_does():
    assert list(read_question("x plan y").words) == ["plan"]
    assert "é" in read_question("é plan").words


def test_a_number_says_half_as_much_as_a_word():
    assert read_question("port 8443").words == {"port": 1.0, "8443": 0.5}


def test_what_the_lines_of_a_trace_say():
    question = read_question(TRACE)
    words = question.words
    assert question.is_pasted
    assert not question.is_short
    assert (words["starlette"], words["routing"]) == (0.25, 0.25)
    assert words["middleware"] == 0.5
    assert (words["twice"], words["duplicate"]) == (1.5, 1.5)
    assert words["raise"] == pytest.approx(0.5 * 0.3), "what every trace is made of"
    assert words["errors"] == pytest.approx(1.5 * 0.3)
    assert ("duplicate", "line") in question.pairs
    assert ("middleware", "stack") not in question.pairs, "of lines that say less than a sentence"
    assert question.compounds["merge carts"] == question.compounds["mergecarts"] == 0.25
    assert question.compounds["self middleware stack"] == 0.5


def test_a_word_says_what_it_says_in_the_best_of_its_lines():
    trace = TRACE.replace("cart has the line twice", "starlette merge_carts broke")
    words, compounds = read_question(trace).words, read_question(trace).compounds
    assert words["starlette"] == 1.5
    assert compounds["merge carts"] == 1.5


def test_a_line_behind_source_that_is_not_indented_ends_a_trace():
    frame = '  File "/srv/app/shop.py", line 3, in call\n    work()\n'
    assert read_question(f"{frame}Oops: quokka\nplain wallaby").words["quokka"] == 1.5
    assert read_question(f"{frame}Oops: quokka\nplain wallaby").words["wallaby"] == 1
    assert read_question(f"{frame}  Oops: quokka\nplain wallaby").words["quokka"] == 1
    assert read_question("one\nOops: quokka\nplain wallaby").words["quokka"] == 1


@pytest.mark.parametrize(("lines", "is_pasted"), [(2, False), (3, True)])
def test_three_lines_may_be_a_paste(lines, is_pasted):
    text = "\n".join(["it failed with an error", "\n", *["more of it"] * (lines - 1)])
    assert read_question(text).is_pasted is is_pasted


@pytest.mark.parametrize(("length", "is_read"), [(200, True), (201, False)])
def test_noise_is_left_out_of_a_long_line(length, is_read):
    line = "quokka 8f1c0c22aa ".ljust(length, "z")
    assert ("f1" in read_question(line).words) is is_read
    assert "quokka" in read_question(line).words


def test_the_words_that_say_most_are_kept_of_too_many():
    many = "\n".join(f"  at com.example.word{number} here" for number in range(MOST_WORDS))
    question = read_question(f"first\n{many}\nquokka failed with an error")
    assert len(question.words) == MOST_WORDS
    assert {"first", "quokka"} <= set(question.words)


@pytest.mark.parametrize(("count", "is_short"), [(12, True), (13, False)])
def test_up_to_twelve_words_a_question_is_short(count, is_short):
    question = read_question(" ".join(f"quokka{letter}" for letter in "abcdefghijklmnop"[:count]))
    assert len(question.words) == count
    assert question.is_short is is_short


def test_a_text_falls_into_passages_that_overlap():
    words = [f"w{letter}{other}" for letter in "abcdef" for other in "abcdef"]
    passages = read_question(" ".join(words)).passages
    assert passages == [words[start : start + 20] for start in (0, 10, 20, 30)]
    assert read_question(TRACE).passages[1] == ["file", "starlette", "routing", "py", "line", "656", "call"]


def test_a_word_twice_in_a_row_is_no_pair():
    question = read_question("retry retry policy")
    assert question.pairs == [("retry", "policy")]


def test_as_many_words_as_are_weighed_stay_in_their_order():
    letters = "abcdefghijklmnopqrstuvwxy"
    words = [f"{first}{second}q" for first in letters for second in letters][: MOST_WORDS - 1]
    assert list(read_question(" ".join(["8443", *words])).words) == ["8443", *words]
