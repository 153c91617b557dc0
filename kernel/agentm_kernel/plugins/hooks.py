"""`HookCaller`: hooks for the rest of the kernel, one typed method each, and a time of its own for each plugin.

There is no caller at module level. Whoever has something to tell makes one, tells it, and shows what failed; plugins
are imported by the first call. A module with plain functions is called without pluggy, which takes as long to import
as a whole session start may; pluggy judges and calls every other plugin, and a test holds the two equal.
"""

from __future__ import annotations

import sys

from agentm_kernel.device.installed import HOOKS, PluginRecord, is_hook_plugin, listens_to
from agentm_kernel.errors import AgentmError, ConfigError, one_line
from agentm_kernel.plugins import Call, hookspecs, in_time, reason_of, wrong_answer
from agentm_kernel.plugins.hookspecs import Alert, DoctorRow, HookContext, Panel, PluginFailure, Section
from agentm_kernel.plugins.table import load, refusal, unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from agentm_kernel.seam.locator import Locator

    T = TypeVar("T")
    Hook = tuple[int, Callable[..., list[object]]]
    """When it wants to be called, among the others (0 before them, 2 after them), and the call: its answers."""

PATIENCE = 1.5
"""Seconds for one plugin, its import included: with what the kernel itself needs, an answer comes within two."""


class HookCaller:
    """The hook plugins that the policy lets in, called in `context`. What they do wrong is kept in `failures`.

    A policy that cannot be read lets nothing in; that the configuration is broken is for its reader to say.
    """

    def __init__(
        self, context: HookContext, *, records: Iterable[PluginRecord] | None = None, patience: float = PATIENCE
    ) -> None:
        if records is None:
            try:
                config, found = context.device.config, context.device.plugins.records
                records = [record for record in found if is_hook_plugin(record) and refusal(record, config) is None]
            except ConfigError:
                records = ()
        self._records, self._context, self._patience = tuple(records), context, patience
        self._loaded: dict[PluginRecord, Mapping[str, Hook]] = {}
        self.failures: tuple[PluginFailure, ...] = ()  # every failure so far: to be shown by whoever called a hook

    def doctor_checks(self) -> Iterator[DoctorRow]:
        """The rows that plugins add to `agentm doctor`, as they come."""
        return self._gather("agentm_doctor_checks", DoctorRow)

    def session_sections(self) -> Iterator[Section]:
        """What plugins add to the start of a session, as it comes."""
        return self._gather("agentm_session_start", Section)

    def page_panels(self) -> Iterator[Panel]:
        """What plugins add to a person's page, as it comes."""
        return self._gather("agentm_page_panels", Panel)

    def event(self, name: str, payload: Mapping[str, object]) -> Iterator[str]:
        """Tell what happened; the lines that plugins have for the operator, as they come."""
        for record, answer in self._call("agentm_event", name=name, payload=payload):
            if isinstance(answer, str):
                yield answer
            else:
                self._keep(record, wrong_answer(str(record), "agentm_event", answer, "a line of text"))

    def alert(self, alert: Alert) -> None:
        """Tell what the operator has to see."""
        for _ in self._call("agentm_alert", alert=alert):
            pass

    def replaced(self, locator: Locator, old: str | None, new: str | None) -> None:
        """Tell what a write replaces. The writer has nobody to show failures to, so they are shown here, once.

        The write waits: what is told has to be kept before it is replaced, so there is no time limit and no thread.
        """
        reported = {failure.message for failure in self.failures}
        for _ in self._call("agentm_replaced", waits=True, locator=locator, old=old, new=new):
            pass
        for failure in self.failures:
            if failure.message not in reported:
                reported.add(failure.message)
                sys.stderr.write(f"agentm: {one_line(failure.message)}\n")

    def load_all(self) -> None:
        """Load every plugin without calling any: `failures` then says which ones cannot be used."""
        for record in self._records:
            self._hooks_of(record)

    def _gather(self, hook: str, kind: type[T]) -> Iterator[T]:
        """The items of every answer; an answer with anything else in it is a failure and counts for nothing."""
        for record, answer in self._call(hook):
            if isinstance(answer, list) and all(isinstance(item, kind) for item in answer):
                yield from answer
            else:
                self._keep(record, wrong_answer(str(record), hook, answer, f"a list of {kind.__name__}"))

    def _call(self, hook: str, *, waits: bool = False, **arguments: object) -> Iterator[tuple[PluginRecord, object]]:
        """The answers to `hook`, `None` left out. Each plugin is called by itself and left behind when it takes too
        long, unless the caller `waits`.
        """
        listening = [record for record in self._records if listens_to(record, hook)]
        told = [(record, *self._hooks_of(record)[hook]) for record in listening if hook in self._hooks_of(record)]
        for record, _, call in sorted(told, key=lambda one: one[1]):
            work = lambda call=call: call(**arguments, context=self._context)  # noqa: E731
            for answer in self._within(None if waits else self._patience, record, hook, work) or ():
                yield record, answer

    def _within(self, patience: float | None, record: PluginRecord, doing: str, work: Callable[[], T]) -> T | None:
        """The result of `work`, which is the plugin's code; `None`, and a failure kept, if it fails or is late."""

        def run() -> T:
            with Call(str(record), doing):
                return work()

        try:
            return run() if patience is None else in_time(run, patience)
        except AgentmError as error:
            self._keep(record, error)
            return None

    def _hooks_of(self, record: PluginRecord) -> Mapping[str, Hook]:
        """The hooks of a plugin, which is loaded once; none, and a failure kept, if it cannot be used."""
        if record not in self._loaded:
            found = self._within(self._patience, record, "its import", lambda: _load_hooks(record))
            self._loaded[record] = found or {}
        return self._loaded[record]

    def _keep(self, record: PluginRecord, error: AgentmError) -> None:
        self.failures += (PluginFailure(record, error.message, error.hint, error.code),)


def _load_hooks(record: PluginRecord) -> Mapping[str, Hook]:
    """Load a plugin and find its hooks; whatever is wrong with it raises."""
    plugin = load(record)
    if isinstance(plugin, type):
        raise unusable(record, "is a class: its entry point must name a module or an object")
    try:
        found = plain_hooks(plugin) or judged_hooks(plugin)
    except Exception as error:
        raise unusable(record, f"is not valid: {reason_of(error)}") from error
    if not found:
        raise unusable(record, "has no hooks: they are marked with agentm_kernel.plugin.hookimpl")
    return found


def plain_hooks(plugin: object) -> dict[str, Hook] | None:
    """The hooks of a module in which each is a plain function that asks for nothing special; `None` for any other."""
    found: dict[str, Hook] = {}
    for name, function in vars(plugin).items() if isinstance(plugin, type(sys)) else ():
        options = getattr(function, hookspecs.MARK, None)
        if options is None:
            continue
        wanted, given = _arguments(function), _arguments(getattr(hookspecs, name, None))
        if wanted is None or given is None or not {*wanted} <= {*given} or any(options.values()):
            return None
        found[name] = 1, _plain_call(function, wanted)
    return found or None


def _arguments(function: object) -> tuple[str, ...] | None:
    """The names of a function's arguments; `None` for anything but a function that takes them by position."""
    if not isinstance(function, type(_arguments)):
        return None
    code = function.__code__
    has_others = code.co_kwonlyargcount or code.co_flags & 0x0C or function.__defaults__  # *args, **kwargs
    return None if has_others else code.co_varnames[: code.co_argcount]


def _plain_call(function: Callable[..., object], wanted: tuple[str, ...]) -> Callable[..., list[object]]:
    def call(**arguments: object) -> list[object]:
        answer = function(*(arguments[name] for name in wanted))
        return [] if answer is None else [answer]

    return call


def judged_hooks(plugin: object) -> dict[str, Hook]:
    """The hooks of any plugin as pluggy finds them, each plugin in a table of its own; it raises what is wrong."""
    from pluggy import PluginManager

    for hook in HOOKS:  # by this mark pluggy knows that the function says what a hook looks like
        setattr(getattr(hookspecs, f"agentm_{hook}"), f"{hookspecs.PROJECT}_spec", {})
    manager = PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin)
    manager.check_pending()
    found: dict[str, Hook] = {}
    for caller in manager.get_hookcallers(plugin) or ():
        ways = caller.get_hookimpls()
        place = 0 if any(way.tryfirst for way in ways) else 2 if any(way.trylast for way in ways) else 1
        found[caller.name] = place, caller
    return found
