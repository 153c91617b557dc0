"""A hook plugin (groups `agentm.plugins…`): it has the hooks that it is listed for, and they answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agentm_devkit.conformance.expect import NotApplicable, Violation, shown
from agentm_devkit.kinds.checking import plugin_check
from agentm_kernel.plugin import EVENTS, HookCaller, HookContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentm_devkit.kinds.checking import Specimen

_GROUP = "agentm.plugins"
_PATIENCE = 5.0


@plugin_check("hooks")
def check_hooks_have_their_names(specimen: Specimen) -> None:
    """A plugin that is listed for one hook implements it: `agentm.plugins.event` means `agentm_event`."""
    wanted = specimen.record.group.removeprefix(_GROUP).removeprefix(".")
    names = [name for name in dir(specimen.plugin) if name.startswith("agentm_")]
    if wanted and f"agentm_{wanted}" not in names:
        raise Violation(f"it has {', '.join(names) or 'no hook'}, and not agentm_{wanted}")
    if not names:
        raise Violation("it has no function that begins with agentm_")


def _caller(specimen: Specimen) -> HookCaller:
    return HookCaller(HookContext(specimen.device, specimen.home), records=[specimen.record], patience=_PATIENCE)


def _listens(specimen: Specimen, hook: str) -> None:
    if not hasattr(specimen.plugin, hook):
        raise NotApplicable(f"it has no {hook}")


@plugin_check("hooks")
def check_hooks_are_known(specimen: Specimen) -> None:
    """Every hook of a plugin is one that the kernel tells, and takes no argument that the kernel does not give."""
    caller = _caller(specimen)
    caller.load_all()
    if caller.failures:
        raise Violation(caller.failures[0].message)


@plugin_check("hooks")
def check_doctor_rows(specimen: Specimen) -> None:
    """`agentm_doctor_checks` answers on a device where nothing was set up, in time, with rows, and makes nothing."""
    _listens(specimen, "agentm_doctor_checks")
    _answers(specimen, lambda caller: caller.doctor_checks())


@plugin_check("hooks")
def check_session_sections(specimen: Specimen) -> None:
    """`agentm_session_start` answers where there is no project, in time, with sections, and makes nothing."""
    _listens(specimen, "agentm_session_start")
    _answers(specimen, lambda caller: caller.session_sections())


@plugin_check("hooks")
def check_every_event(specimen: Specimen) -> None:
    """`agentm_event` takes every event, those too that it does nothing about, with an empty payload."""
    _listens(specimen, "agentm_event")
    for event in EVENTS:
        _answers(specimen, partial(HookCaller.event, name=str(event), payload={}), event=str(event))


def _answers(specimen: Specimen, tell: Callable[[HookCaller], Iterable[object]], event: str = "") -> None:
    caller = _caller(specimen)
    before = specimen.files()
    list(tell(caller))
    if caller.failures:
        raise Violation(f"{f'at {event}, ' if event else ''}{caller.failures[0].message}")
    if made := sorted(specimen.files().keys() - before.keys()):
        raise Violation(f"it made {shown(made)}")
