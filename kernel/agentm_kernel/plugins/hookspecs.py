"""The hooks of group `agentm.plugins`: what is told to every plugin that wants to hear it.

A plugin is a module or an object with functions of these names, each marked with `agentm_kernel.hookimpl`. A function
may leave out arguments that it does not need. Hooks are called one plugin at a time: one that raises is reported and
the others are called all the same, and a wrapper around a hook wraps only its own plugin's. What a plugin prints
goes to standard error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from pluggy import HookimplMarker

    from agentm_kernel.plugins.values import Alert, DoctorRow, HookContext, Panel, Section
    from agentm_kernel.seam.locator import Locator

    T = TypeVar("T")

PROJECT = "agentm"
MARK = f"{PROJECT}_impl"
"""The attribute of a function that is a hook: pluggy reads what it wants to be from there, and so does `hooks`."""

if TYPE_CHECKING:
    hookimpl = HookimplMarker(PROJECT)
else:

    def hookimpl(function: Callable | None = None, **options: object) -> Callable:
        """Mark a function as the hook of its name, as pluggy's marker does; pluggy is not imported for that."""

        def mark(marked: Callable) -> Callable:
            setattr(marked, MARK, options)
            return marked

        return mark if function is None else mark(function)


def hookspec(function: T) -> T:
    """Mark a function here as what a hook looks like."""
    setattr(function, f"{PROJECT}_spec", {})
    return function


@hookspec
def agentm_doctor_checks(context: HookContext) -> list[DoctorRow] | None:
    """What `agentm doctor` should say about this plugin: where its data lies, what is wrong with it.

    Changes nothing and waits for nothing.
    """


@hookspec
def agentm_session_start(context: HookContext) -> list[Section] | None:
    """What the agent should read when a session starts in `context.cwd`.

    A hook of the agent's host waits for the answer: take milliseconds, and leave the network alone.
    """


@hookspec
def agentm_event(name: str, payload: Mapping[str, object], context: HookContext) -> str | None:
    """Something happened in an agent's life: `turn-start`, `turn-end`, … with what the host said about it.

    The answer is one line about what was done, for the operator; `None` if there is nothing to say.
    """


@hookspec
def agentm_page_panels(context: HookContext) -> list[Panel] | None:
    """What this plugin adds to the page that a person looks at. Making the list reads nothing: `show` does, later."""


@hookspec
def agentm_alert(alert: Alert, context: HookContext) -> None:
    """Something that the operator has to see was noticed. Carry it where it will be seen."""


@hookspec
def agentm_replaced(locator: Locator, old: str | None, new: str | None, context: HookContext) -> None:
    """A write or a deletion of ours through the selected store replaces `old` at `locator` by `new`.

    `old` is `None` for a new note, which is told once it is there. `new` is `None` for a deletion. A version is told
    before it is replaced, so that a crash in between loses nothing; if the write then fails, it is still there. A
    plugin that fails is reported, and the note is written all the same. Every write waits for the answer.
    """
