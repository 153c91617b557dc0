"""`HookCaller`: hooks for the rest of the kernel, one typed method each.

There is no host at module level. Whoever has something to tell makes one, tells it, and shows what failed; pluggy and
the plugins are imported by the first call, and not at all where no plugin is installed.
"""

from __future__ import annotations

import os

from agentm_kernel.device.directories import home_directory, state_directory
from agentm_kernel.device.installed import is_hook_plugin, listens_to, scan
from agentm_kernel.errors import AgentmError, ConfigError, PluginError
from agentm_kernel.plugins.load import StdoutToStderr, load, reason_of, unusable
from agentm_kernel.plugins.policy import refusal
from agentm_kernel.plugins.values import DoctorRow, HookContext, PluginFailure, Section
from agentm_kernel.seam.values import OpenContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeVar

    from pluggy import PluginManager

    from agentm_kernel.device.installed import PluginRecord
    from agentm_kernel.plugins.values import Alert

    T = TypeVar("T")


class HookCaller:
    """The hook plugins `records`, called in `context`. What they do wrong is kept in `failures`."""

    def __init__(self, records: Iterable[PluginRecord], context: HookContext) -> None:
        self._records = tuple(records)
        self._context = context
        self._loaded: PluginManager | None = None
        self._tried: set[str] = set()
        self._failures: list[PluginFailure] = []

    @property
    def failures(self) -> tuple[PluginFailure, ...]:
        """Every failure so far: to be shown by whoever called a hook."""
        return tuple(self._failures)

    def doctor_checks(self) -> list[DoctorRow]:
        """The rows that plugins add to `agentm doctor`."""
        return self._gather("agentm_doctor_checks", DoctorRow)

    def session_sections(self) -> list[Section]:
        """What plugins add to the start of a session."""
        return self._gather("agentm_session_start", Section)

    def event(self, name: str, payload: Mapping[str, object]) -> list[str]:
        """Tell what happened; the lines that plugins have for the operator."""
        lines = []
        for record, answer in self._call("agentm_event", name=name, payload=payload):
            if isinstance(answer, str):
                lines.append(answer)
            else:
                self._fail(record, _wrong_answer("agentm_event", answer, "a line of text"))
        return lines

    def alert(self, alert: Alert) -> None:
        """Tell what the operator has to see."""
        for _ in self._call("agentm_alert", alert=alert):
            pass

    def load_all(self) -> None:
        """Load every plugin without calling any: `failures` then says which ones cannot be used."""
        self._manager(None)

    # -- calling ----------------------------------------------------------------------------------------------

    def _gather(self, hook: str, kind: type[T]) -> list[T]:
        """The items of every answer; an answer with anything else in it is a failure and counts for nothing."""
        gathered: list[T] = []
        for record, answer in self._call(hook):
            if isinstance(answer, list) and all(isinstance(item, kind) for item in answer):
                gathered += answer
            else:
                self._fail(record, _wrong_answer(hook, answer, f"a list of {kind.__name__}"))
        return gathered

    def _call(self, hook: str, **arguments: object) -> Iterator[tuple[PluginRecord, object]]:
        """The answers to `hook`, `None` left out. Each plugin is called by itself: pluggy's own call of them all
        ends with the first that raises.
        """
        manager = self._manager(hook)
        if manager is None:
            return
        by_name = {_plugin_name(record): record for record in self._records}
        implementations = reversed(getattr(manager.hook, hook).get_hookimpls())
        for name in dict.fromkeys(implementation.plugin_name for implementation in implementations):
            record = by_name[name]
            others = [plugin for other, plugin in manager.list_name_plugin() if other != name]
            try:
                with StdoutToStderr():
                    answers = manager.subset_hook_caller(hook, others)(**arguments, context=self._context)
            except AgentmError as error:  # an outcome, said by the plugin itself
                self._failures.append(PluginFailure(record, error.message, error.hint, error.code))
                continue
            except (Exception, SystemExit) as error:  # noqa: BLE001 - kept and shown; the others are called
                self._fail(record, f"failed in {hook}: {reason_of(error)}")
                continue
            for answer in answers:
                yield record, answer

    # -- loading ----------------------------------------------------------------------------------------------

    def _manager(self, hook: str | None) -> PluginManager | None:
        """The manager, with the plugins that listen to `hook` registered; all of them for `None`."""
        wanted = [record for record in self._records if hook is None or listens_to(record, hook)]
        if self._loaded is None and wanted:
            from pluggy import PluginManager

            from agentm_kernel.plugins import hookspecs

            self._loaded = PluginManager(hookspecs.PROJECT)
            self._loaded.add_hookspecs(hookspecs)
        for record in reversed(wanted):  # pluggy calls the last registered first
            if self._loaded is not None and _plugin_name(record) not in self._tried:
                self._tried.add(_plugin_name(record))
                self._register(self._loaded, record)
        return self._loaded

    def _register(self, manager: PluginManager, record: PluginRecord) -> None:
        name = _plugin_name(record)
        try:
            plugin = load(record)
            if isinstance(plugin, type):
                raise unusable(record, "is a class: its entry point must name a module or an object")
            with StdoutToStderr():
                manager.register(plugin, name)
                manager.check_pending()
                if not manager.get_hookcallers(plugin):
                    raise unusable(record, "has no hooks: they are marked with agentm_kernel.hookimpl")
        except PluginError as error:
            self._failures.append(PluginFailure(record, error.message, error.hint))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - kept and shown
            self._fail(record, f"is not valid: {reason_of(error)}")
        else:
            return
        if manager.has_plugin(name):
            manager.unregister(name=name)

    def _fail(self, record: PluginRecord, why: str) -> None:
        error = unusable(record, why)
        self._failures.append(PluginFailure(record, error.message, error.hint))


def installed_plugins(context: HookContext | None = None) -> HookCaller:
    """The host of every installed hook plugin that the policy lets in.

    A policy that cannot be read lets nothing in; that the configuration is broken is for its reader to say.
    """
    context = context or current_context()
    config = context.config
    records = (
        []
        if config is None
        else [
            record
            for record in scan()
            if is_hook_plugin(record) and refusal(record, config.disabled_plugins, config.allowed_plugins) is None
        ]
    )
    return HookCaller(records, context)


def current_context(environ: Mapping[str, str] | None = None) -> HookContext:
    """The surroundings of this process, without a store."""
    from agentm_kernel.device.config import load as load_config

    environ = os.environ if environ is None else environ
    surroundings = OpenContext(environ, home_directory(environ), state_directory(environ), read_only=True)
    try:
        config = load_config(environ)
    except ConfigError:
        config = None
    return HookContext(surroundings, os.getcwd(), config)


def _plugin_name(record: PluginRecord) -> str:
    """What pluggy knows it by: unique even where one distribution gives two plugins one name."""
    return f"{record.distribution}: {record.name} = {record.value}"


def _wrong_answer(hook: str, answer: object, wanted: str) -> str:
    given = "a list with something else in it" if isinstance(answer, list) else type(answer).__name__
    return f"failed in {hook}: it answered with {given}, not with {wanted}"
