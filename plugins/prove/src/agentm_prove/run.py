"""One run: which trials, where, and what has to be said about it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentm_kernel.plugin import BACKENDS, AgentmError, StorageIOError, find_plugin, load_backend
from agentm_prove.hosts import host_trials
from agentm_prove.laboratory import Laboratory, sweep
from agentm_prove.place import find_place, places_to_sweep
from agentm_prove.report import write_report
from agentm_prove.trial import Finding, NotTried, Trial, made
from agentm_prove.trials import HOOK_TRIAL, STORE_TRIALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentm_kernel.plugin import Device

_SECONDS = 45.0
"""After that no further trial is begun: the slowest one takes a few seconds."""
_ROOTS = {"device-local": {"root": "{scratch}"}}
"""The default store makes its own place, so it has no need to declare how a scratch one is opened."""


class Run:
    """Made for one command. `kind` and `remarks` are complete when `findings` is exhausted."""

    def __init__(self, device: Device, *, with_store: bool, with_hosts: bool) -> None:
        self._device = device
        self._trials = list(STORE_TRIALS) if with_store else []
        self._trials += [HOOK_TRIAL, *host_trials(device)] if with_hosts else []
        self.kind = "none"
        self.remarks: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [trial.name for trial in self._trials]

    def keep_only(self, names: Sequence[str]) -> str | None:
        """Leave out every trial but these, if any are named; a name that no trial has is returned."""
        if unknown := next((name for name in names if name not in self.names), None):
            return unknown
        self._trials = [trial for trial in self._trials if not names or trial.name in names]
        return None

    def findings(self) -> Iterator[tuple[Trial, Finding | None]]:
        """Each trial twice: when it begins, and with what came of it."""
        swept = sweep(places_to_sweep(self._device))
        if swept:
            self.remarks += (f"what {swept} earlier runs had left was removed",)
        place = find_place(self._device)
        if isinstance(place, str):
            yield from (
                (trial, Finding(trial.name, trial.promise, "not tried", place, 0.0)) for trial in self._trials
            )
            return
        self.remarks += place.remarks
        with Laboratory(place) as laboratory:
            try:
                self.remarks += laboratory.settle_protocol(self._scratch_options(place.protocol))
            except NotTried as reason:
                lost = [Finding(trial.name, trial.promise, "not tried", str(reason), 0.0) for trial in self._trials]
                yield from zip(self._trials, lost, strict=True)
                return
            self.kind = f"{laboratory.protocol} on {place.file_system}"
            until = time.monotonic() + _SECONDS
            for trial in self._trials:
                yield trial, None
                if time.monotonic() > until:
                    late = f"this device is slow, and the minute is over: `agentm prove --only {trial.name}` tries it"
                    yield trial, Finding(trial.name, trial.promise, "not tried", late, 0.0)
                    continue
                yield trial, made(trial, laboratory)
                laboratory.end_workers()

    def _scratch_options(self, protocol: str) -> dict[str, dict[str, str]]:
        try:
            declared = dict(load_backend(find_plugin(self._device, BACKENDS, protocol)).scratch_options)
        except AgentmError:
            declared = {}
        return {protocol: declared, **_ROOTS}

    def write_report(self, findings: Sequence[Finding], where: str | None) -> str | None:
        """The path of the report. One that nobody asked for and that cannot be written is a remark."""
        try:
            return write_report(self._device, findings, self.remarks, self.kind, where)
        except StorageIOError as error:
            if where is not None:
                raise
            self.remarks += (error.message,)
            return None
