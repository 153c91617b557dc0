"""Whose name a commit carries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentm_git.identity import message_with, operator_of, signature
from agentm_git.settings import Settings
from agentm_kernel.plugin import Author

if TYPE_CHECKING:
    from pathlib import Path

ANA, BOB = Author("Ana", "ana@example.com"), Author("Bob", "bob@example.com")
NOBODY = "@noreply.agentm.invalid"
OPERATOR = {"name": "Olga", "email": "olga@example.com"}


@pytest.mark.parametrize(
    ("authors", "configured", "operator", "who"),
    [
        ((ANA, BOB), {"name": "Notes", "email": "n@example.com"}, OPERATOR, "Ana <ana@example.com>"),
        ((), {"name": "Notes", "email": "n@example.com"}, OPERATOR, "Notes <n@example.com>"),
        ((), {"name": "Notes"}, OPERATOR, "Notes <olga@example.com>"),
        ((), {}, OPERATOR, "Olga <olga@example.com>"),
        ((), {}, {}, f"agentm <agentm{NOBODY}>"),
        ((), {}, {"name": "Olga"}, f"Olga <agentm{NOBODY}>"),
        ((Author("Ana", f"u7{NOBODY}"),), {"email": "n@example.com"}, OPERATOR, "Ana <n@example.com>"),
        ((Author("Ana", f"u7{NOBODY}"),), {}, OPERATOR, f"Ana <u7{NOBODY}>"),
        ((Author("Ana", ""),), {}, OPERATOR, f"Ana <agentm{NOBODY}>"),
        ((Author("<>", "a<b>@example.com\n"),), {}, {}, "agentm <ab@example.com>"),
        ((Author(" .Ana, Öz;", "ana@example.com"),), {}, {}, "Ana, Öz <ana@example.com>"),
    ],
)
def test_a_policys_first_author_beats_the_configuration_and_that_beats_the_operator(
    authors: tuple[Author, ...], configured: dict[str, str], operator: dict[str, str], who: str
) -> None:
    name, _, email = who.removesuffix(">").partition(" <")
    assert signature(authors, Settings(**configured), operator) == {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


@pytest.mark.parametrize(
    ("message", "authors", "text"),
    [
        ("Decide it", (), "Decide it\n"),
        ("  Decide\0 it\n\n", (ANA,), "Decide it\n"),
        ("\0 \n", (), "agentm: notes\n"),
        ("x", (ANA, BOB), "x\n\nCo-authored-by: Bob <bob@example.com>\n"),
        ("x", (ANA, Author("", "c@example.com"), BOB),
         "x\n\nCo-authored-by: agentm <c@example.com>\nCo-authored-by: Bob <bob@example.com>\n"),
    ],
)  # fmt: skip
def test_everybody_but_the_author_has_a_line_in_the_message(
    message: str, authors: tuple[Author, ...], text: str
) -> None:
    assert message_with(message, authors) == text


def test_the_operator_is_whom_the_environment_names_else_whom_git_knows(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Olga <x>\n\temail = olga@example.com\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    assert operator_of(environ, str(tmp_path)) == {"name": "Olga x", "email": "olga@example.com"}
    named = {**environ, "GIT_AUTHOR_NAME": "Pia", "GIT_AUTHOR_EMAIL": " "}
    assert operator_of(named, str(tmp_path)) == {"name": "Pia", "email": "olga@example.com"}
    assert operator_of({**environ, "HOME": str(tmp_path / "none")}, str(tmp_path)) == {}
