"""Every error that agentm raises, in one tree.

An error says what happened (`message`) and, where there is one, what to do about it (`hint`). The command line
prints both, one line each, and exits with the class's `exit_code`. The builtin that fits is a base as well, so
callers who have never heard of agentm can still write `except FileNotFoundError`.

Here is the root. The others are had from here too, and loaded when they are first used: making a class takes as long
as a dozen functions, and a hook needs none of them as long as all is well. So a module that hooks import writes
`errors.NotFoundError` where it is raised or caught, and does not import the name.
"""

from __future__ import annotations

TYPE_CHECKING = False  # mypy reads this name as true; importing `typing` for it costs more than this whole module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agentm_kernel.errors.reading import *
    from agentm_kernel.errors.refusals import *


class AgentmError(Exception):
    """The root of the tree: an expected failure, shown to people as one line and a hint."""

    exit_code = 1
    code: str | None = None  # a stable machine name, where a specification fixes one
    details: Mapping[str, object] = {}
    """What was done before it failed, for programs: JSON answers carry it beside the error."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """What happened and what to run: all that a caller who only prints the error will ever see."""
        return self.message if self.hint is None else f"{self.message} (hint: {self.hint})"

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError's own pickling drops attributes, and keyword arguments need a helper in any case.
        elsewhere = {"errno": self.errno} if isinstance(self, OSError) else {}
        return _rebuild, (type(self), self.message, {**self.__dict__, **elsewhere})


def _rebuild(cls: type[AgentmError], message: str, state: dict[str, Any]) -> AgentmError:
    error = cls.__new__(cls, message)
    error.args = (message,)
    for name, value in state.items():
        setattr(error, name, value)  # not into __dict__: OSError keeps errno elsewhere
    return error


def one_line(text: str) -> str:
    """A message for a screen: names in it come from outside, so no line break or terminal control may get there."""
    return "".join(c if c.isprintable() else " " if c.isspace() else ascii(c)[1:-1] for c in text)


_IN_READING = frozenset(
    ("StorageError", "NotFoundError", "StorageIOError", "InvalidLocatorError", "StorageSelectionError", "ConfigError")
)

if not TYPE_CHECKING:  # hidden from type checkers: for them, a misspelt name must stay an error

    def __getattr__(name: str) -> object:
        home = "reading" if name in _IN_READING else "refusals"
        value: object = getattr(__import__(f"{__name__}.{home}", fromlist=[home]), name)
        globals()[name] = value
        return value
