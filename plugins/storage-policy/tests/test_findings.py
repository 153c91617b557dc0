"""What is wrong with a document is said with its place, and with a command that a shell understands."""

from __future__ import annotations

import shlex
from types import SimpleNamespace

import pytest

from agentm_storage_policy.compiled import Document
from agentm_storage_policy.errors import AUTH_UNRESOLVABLE, refusal
from agentm_storage_policy.models.words import problems
from agentm_storage_policy.notes import dotted


def document(file: str = "STORAGE.md") -> Document:
    return Document("storage", {}, {"config": (3, 5)}, (), file)


@pytest.mark.parametrize(
    ("key", "place"), [("config", (3, 5)), ("config.auth.token", (3, 5)), ("provider", (1, 1)), ("", (1, 1))]
)
def test_a_field_that_is_not_there_stands_where_the_one_around_it_does(key, place):
    found = document().finding(AUTH_UNRESOLVABLE, key, "is missing")
    assert (found.key, found.line, found.column) == (key, *place)


@pytest.mark.parametrize("file", ["/srv/a-b_c+1@2%3=4:5,6.md", "/srv/my notes/S.md", "/srv/it's.md", "/srv/é.md", ""])
def test_the_file_in_a_command_is_one_word_of_a_shell(file):
    error = refusal([document(file).finding(AUTH_UNRESOLVABLE, "config", "is missing")])
    command = error.hint.split("`")[1]
    assert shlex.split(command) == ["agentm", "policy", "check", file]
    assert ("'" in command) == (file == "" or any(c in file for c in " 'é"))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("grants", 0, "principal"), "grants.0.principal"),
        (("a-b_c",), "a-b_c"),
        (("k" * 40,), "k" * 40),
        (("k" * 41,), "…"),
        (("sk-live key",), "…"),
        (("ключ",), "…"),
        (("",), "…"),
    ],
)
def test_a_key_that_is_not_a_plain_word_is_not_repeated(path, said):
    assert dotted(path) == said


def test_the_first_error_is_said_and_the_others_are_counted():
    wrong = [document().finding(AUTH_UNRESOLVABLE, key, f"{key} is wrong", "hint") for key in ("a", "b", "c")]
    questionable = document().finding("", "d", "d is odd")
    assert "(and" not in refusal(wrong[:1]).message
    error = refusal([questionable, *wrong])
    assert ("a is wrong" in error.message, "(and 2 more)" in error.message, error.hint) == (True, True, "hint")


def test_each_place_is_found_wrong_once_by_what_is_said_of_it_first():
    """A choice between forms fails once for each form."""
    said = [(("grants", "<one>", 0), "missing"), (("grants", "<other>", 0), "extra_forbidden"), (("id",), "missing")]
    errors = [{"loc": loc, "type": kind} for loc, kind in said]
    found = [*problems(SimpleNamespace(errors=lambda **_: errors), {"grants": [{}]})]
    assert [(problem.path, problem.on_key, problem.message) for problem in found] == [
        (("grants", 0), False, "is missing"),
        (("id",), False, "is missing"),
    ]
