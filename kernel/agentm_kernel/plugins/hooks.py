"""`HookCaller`: hooks for the rest of the kernel, one typed method each, and a time of its own for each plugin.

There is no caller at module level. Whoever has something to tell makes one, tells it, and shows what failed; pluggy
and the plugins are imported by the first call, and not at all where no plugin listens.
"""

from __future__ import annotations

import sys

from agentm_kernel.device.installed import is_hook_plugin, listens_to
from agentm_kernel.errors import AgentmError, ConfigError, one_line
from agentm_kernel.plugins.calling import Call, in_time, reason_of, wrong_answer
from agentm_kernel.plugins.table import load, refusal, unusable
from agentm_kernel.plugins.values import DoctorRow, HookContext, Panel, PluginFailure, Section

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from pluggy import PluginManager

    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.plugins.values import Alert
    from agentm_kernel.seam.locator import Locator

    T = TypeVar("T")

PATIENCE = 1.5
"""Seconds for one plugin, its import included: with what the kernel itself needs, an answer comes within two."""


class HookCaller:
    """The hook plugins that the policy lets in, called in `context`. What they do wrong is kept in `failures`.

    A policy that cannot be read lets nothing in; that the configuration is broken is for its reader to say.
    """

    def __init__(
        self, context: HookContext, *, records: Iterable[PluginRecord] | None = None, patience: float = PATIENCE
    ) -> None:
        self._records = tuple(_permitted(context) if records is None else records)
        self._context = context
        self._patience = patience
        self._loaded: PluginManager | None = None
        self._tried: set[str] = set()
        self._failures: list[PluginFailure] = []

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """Every failure so far: to be shown by whoever called a hook."""
        return tuple(self._failures)

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

    def has_listeners(self, hook: str) -> bool:
        """Whether a plugin that the policy lets in would be loaded when `hook` is told."""
        return any(listens_to(record, hook) for record in self._records)

    def replaced(self, locator: Locator, old: str | None, new: str | None) -> None:
        """Tell what a write replaces. The writer has nobody to show failures to, so they are shown here, once.

        The write waits: what is told has to be kept before it is replaced, so there is no time limit and no thread.
        """
        reported = {failure.message for failure in self._failures}
        for _ in self._call("agentm_replaced", waits=True, locator=locator, old=old, new=new):
            pass
        for failure in self._failures:
            if failure.message not in reported:
                reported.add(failure.message)
                sys.stderr.write(f"agentm: {one_line(failure.message)}\n")

    def load_all(self) -> None:
        """Load every plugin without calling any: `failures` then says which ones cannot be used."""
        for record in self._records:
            self._registered(record)

    # -- calling ----------------------------------------------------------------------------------------------

    def _gather(self, hook: str, kind: type[T]) -> Iterator[T]:
        """The items of every answer; an answer with anything else in it is a failure and counts for nothing."""
        for record, answer in self._call(hook):
            if isinstance(answer, list) and all(isinstance(item, kind) for item in answer):
                yield from answer
            else:
                self._keep(record, wrong_answer(str(record), hook, answer, f"a list of {kind.__name__}"))

    def _call(self, hook: str, *, waits: bool = False, **arguments: object) -> Iterator[tuple[PluginRecord, object]]:
        """The answers to `hook`, `None` left out. Each plugin is called by itself, in a thread that is left behind
        when it takes too long: pluggy's own call of them all ends with the first that raises or hangs. `waits`: the
        caller needs the work done, however long it takes.
        """
        by_name = {plugin_name(record): record for record in self._records if listens_to(record, hook)}
        for record in reversed(by_name.values()):  # pluggy calls the last registered first
            self._registered(record)
        manager = self._loaded
        if manager is None:
            return
        implementations = reversed(getattr(manager.hook, hook).get_hookimpls())
        for name in dict.fromkeys(implementation.plugin_name for implementation in implementations):
            if name not in by_name:
                continue
            others = [plugin for other, plugin in manager.list_name_plugin() if other != name]
            caller = manager.subset_hook_caller(hook, others)
            work = lambda caller=caller: caller(**arguments, context=self._context)  # noqa: E731
            for answer in self._within(None if waits else self._patience, by_name[name], hook, work) or ():
                yield by_name[name], answer

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

    # -- loading ----------------------------------------------------------------------------------------------

    def _registered(self, record: PluginRecord) -> None:
        """Load the plugin and register it, once."""
        name = plugin_name(record)
        if name in self._tried:
            return
        self._tried.add(name)
        self._loaded = manager = self._loaded or _new_manager()
        # In a table of its own first: a plugin that is late must not come in while others are called.
        if self._within(self._patience, record, "its import", lambda: _checked(record)) is not None:
            manager.register(load(record), name)

    def _keep(self, record: PluginRecord, error: AgentmError) -> None:
        self._failures.append(PluginFailure(record, error.message, error.hint, error.code))


def _new_manager() -> PluginManager:
    from pluggy import PluginManager

    from agentm_kernel.plugins import hookspecs

    manager = PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _checked(record: PluginRecord) -> bool:
    """Load a plugin and let pluggy validate it by itself; whatever is wrong with it raises."""
    plugin = load(record)
    if isinstance(plugin, type):
        raise unusable(record, "is a class: its entry point must name a module or an object")
    manager = _new_manager()
    try:
        manager.register(plugin)
        manager.check_pending()
        has_hooks = bool(manager.get_hookcallers(plugin))
    except Exception as error:
        raise unusable(record, f"is not valid: {reason_of(error)}") from error
    if not has_hooks:
        raise unusable(record, "has no hooks: they are marked with agentm_kernel.plugin.hookimpl")
    return True


def _permitted(context: HookContext) -> list[PluginRecord]:
    try:
        config = context.device.config
    except ConfigError:
        return []
    return [r for r in context.device.plugins.records if is_hook_plugin(r) and refusal(r, config) is None]


def plugin_name(record: PluginRecord) -> str:
    """What pluggy knows it by: unique even where one distribution gives two plugins one name."""
    return f"{record.distribution}: {record.name} = {record.value}"
