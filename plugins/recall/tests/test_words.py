"""Identifiers fall into their words, and words find identifiers."""

from __future__ import annotations

import pytest

from agentm_recall.index.words import _is_cjk, bigrams, compounds, hidden_words, pieces, says_little, spelled


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("maxRetryCount", ["max", "retry", "count"]),
        ("max_retry_count", ["max", "retry", "count"]),
        ("MAX_RETRY_COUNT", ["max", "retry", "count"]),
        ("HTTPServer2", ["http", "server2"]),
        ("parseURLFast", ["parse", "url", "fast"]),
        ("__init__", ["init"]),
        ("sha256", ["sha256"]),
        ("word", ["word"]),
        ("größe_max", ["größe", "max"]),
    ],
)
def test_an_identifier_falls_into_its_words(identifier, words):
    assert pieces(identifier) == words


def test_what_the_tokenizer_does_not_see_is_added():
    hidden = hidden_words("the maxRetryCount of max_wait_time in plain words").split("\n")

    assert hidden == ["max retry count", "maxwaittime"]


@pytest.mark.parametrize("written", ["maxRetryCount", "max_retry_count", "max-retry-count", "max.retry/count"])
def test_every_spelling_of_an_identifier_is_the_same_compound(written):
    assert compounds(written) == ["max retry count", "maxretrycount"]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        *(("\u1100", "\u11ff"), ("\u3040", "\u30ff"), ("\u3130", "\u318f"), ("\u31f0", "\u31ff")),
        *(("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uac00", "\ud7af"), ("\uf900", "\ufaff")),
        *(("\uff66", "\uff9f"), ("\U00020000", "\U0003ffff")),
    ],
)
def test_a_script_without_spaces_is_known_from_its_first_letter_to_its_last(first, last):
    assert _is_cjk(first)
    assert _is_cjk(last)
    assert not _is_cjk(chr(ord(first) - 1))
    assert not _is_cjk(chr(ord(last) + 1))


def test_scripts_without_spaces_are_pairs_of_neighbours():
    assert bigrams("CSVの文字化け") == ["の文", "文字", "字化", "化け"]
    assert bigrams("木") == ["木"]
    assert bigrams("plain") == []
    assert spelled("PostgreSQLを使う") == ["を使", "使う", "postgresql"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("isn't it Anna's?", ["is", "it", "anna"]),
        ("the plugin's JOHN'S n't ''s x's'", ["the", "plugin", "john", "n", "s", "x"]),
        ("we don’t know what they'll do", ["we", "do", "know", "what", "they", "do"]),
        ("l'équipe sécurité", ["l", "équipe", "sécurité"]),
    ],
)
def test_what_is_glued_to_a_word_is_taken_off(text, words):
    assert spelled(text) == words


@pytest.mark.parametrize("word", ["write", "writes", "writing", "tested", "stopping", "branches", "stories"])
def test_words_of_asking_are_known_in_their_forms(word):
    assert says_little(word)


@pytest.mark.parametrize("word", ["retry", "sting", "kafka", "bed"])
def test_words_of_a_subject_are_not(word):
    assert not says_little(word)
