"""Errors cross process borders and reach people: they are typed, picklable, and name the note."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from agentm_devkit.conformance.checking import check
from agentm_devkit.conformance.expect import Violation, refused, same, shown
from agentm_kernel.plugin import ABSENT, AgentmError, Locator

if TYPE_CHECKING:
    from agentm_devkit.conformance.bench import Bench

_NOTE = Locator("dir/note.md")


def _errors(bench: Bench) -> list[tuple[Locator, AgentmError]]:
    """One error of each kind that a backend raises by itself, with the locator that it is about."""
    store = bench.store
    store.write(_NOTE, "one\n")
    missing, clash = Locator("missing.md"), Locator("dir/NOTE.md")
    return [
        (missing, refused(AgentmError, store.read, missing)),
        (clash, refused(AgentmError, store.write, clash, "two\n")),
        (_NOTE, refused(AgentmError, store.write, _NOTE, "two\n", if_match=ABSENT)),
        (_NOTE, refused(AgentmError, store.write, _NOTE, "\ud800")),
    ]


@check("errors")
def check_errors_pickle(bench: Bench) -> None:
    """An error survives pickling with its type, message and hint."""
    for _, error in _errors(bench):
        try:
            copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception as failure:
            raise Violation(f"{type(error).__name__} does not: {type(failure).__name__}: {failure}") from failure
        same(f"the copy of {type(error).__name__}", type(copy).__name__, type(error).__name__)
        same("its message", str(copy), str(error))
        same("its hint", copy.hint, error.hint)


@check("errors")
def check_errors_name_the_key(bench: Bench) -> None:
    """The message of an error names the locator that it is about, on one line."""
    for locator, error in _errors(bench):
        message = str(error)
        if locator.key not in message or len(message.splitlines()) != 1:
            raise Violation(f"about {shown(locator)}, {type(error).__name__} says {shown(message)}")
