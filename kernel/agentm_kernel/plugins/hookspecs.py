"""The hooks of group `agentm.plugins`: what is told to every plugin that wants to hear it.

A plugin is a module or an object with functions of these names, each marked with `agentm_kernel.hookimpl`. A function
may leave out arguments that it does not need. Hooks are called one plugin at a time: one that raises is reported and
the others are called all the same, and a wrapper around a hook wraps only its own plugin's. What a plugin prints
goes to standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pluggy import HookimplMarker, HookspecMarker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_kernel.plugins.values import Alert, DoctorRow, HookContext, Panel, Section
    from agentm_kernel.seam.locator import Locator

PROJECT = "agentm"

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


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
