"""A check of a plugin that is no store: a function of the loaded object, with one reason to fail."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentm_devkit.conformance.expect import NotApplicable, Violation, surprise
from agentm_devkit.conformance.runner import Report, Result
from agentm_devkit.conformance.within import place_of, within
from agentm_kernel.plugin import Device, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentm_devkit.conformance.runner import Outcome
    from agentm_kernel.plugin import PluginRecord

LIMIT = 20.0
"""Seconds for one check."""


class Specimen:
    """A plugin under test, with a home of its own. What it makes there is thrown away."""

    def __init__(self, record: PluginRecord, environ: dict[str, str]) -> None:
        self.record = record
        self._environ = environ
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="agentm-check-"))

    @cached_property
    def plugin(self) -> Any:
        return load(self.record)

    @property
    def device(self) -> Device:
        """A device that has only this home, and the variables that were passed on."""
        folders = {
            f"XDG_{name}_HOME": f"{self.home}/.{name.lower()}" for name in ("STATE", "CACHE", "CONFIG", "DATA")
        }
        return Device({**self._environ, **folders, "HOME": self.home, "PATH": os.environ.get("PATH", "")})

    def files(self) -> dict[str, tuple[int, int]]:
        """Everything below the home, to see what was made or changed."""
        found = {}
        for parent, folders, files in os.walk(self.home):
            for name in (*folders, *files):
                status = os.lstat(os.path.join(parent, name))
                found[os.path.relpath(os.path.join(parent, name), self.home)] = (status.st_mtime_ns, status.st_size)
        return found

    def close(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)


@dataclass(frozen=True)
class PluginCheck:
    """Like a check of the conformance kit, for another kind of plugin."""

    name: str
    group: str
    contract: str
    body: Callable[[Specimen], None] = field(repr=False)


def plugin_check(group: str) -> Callable[[Callable[[Specimen], None]], PluginCheck]:
    """Make a check of a function called `check_<name>` whose docstring says what the contract wants."""

    def made(body: Callable[[Specimen], None]) -> PluginCheck:
        contract = " ".join((body.__doc__ or "").split()).removesuffix(".")
        return PluginCheck(body.__name__.removeprefix("check_"), group, contract, body)

    return made


def checks_of(kind: str) -> tuple[PluginCheck, ...]:
    """Of hosts, importers, tools, commands or hooks: each kind has a module of its own here."""
    module = import_module(f"agentm_devkit.kinds.{kind.removesuffix('s')}s")
    return tuple(found for found in vars(module).values() if isinstance(found, PluginCheck))


def run_checks(
    checks: Sequence[PluginCheck],
    record: PluginRecord,
    environ: dict[str, str],
    *,
    on_start: Callable[[PluginCheck], None] = lambda _: None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> Report:
    """Each check on a specimen of its own."""
    results = []
    for check in checks:
        on_start(check)
        result = _result(check, Specimen(record, environ))
        results.append(result)
        on_result(result)
    return Report(tuple(results))


def _result(check: PluginCheck, specimen: Specimen) -> Result:
    began = time.monotonic()
    outcome: Outcome = "passed"
    detail = where = ""
    try:
        within(LIMIT, lambda: check.body(specimen))
    except NotApplicable as reason:
        outcome, detail = "skipped", str(reason)
    except Exception as error:  # noqa: BLE001 - whatever the plugin does wrong is a finding
        seen = str(error) if isinstance(error, Violation) else surprise(error).replace("the backend", "the plugin", 1)
        outcome, detail, where = "failed", f"{check.contract}; but {seen}", place_of(error)
    finally:
        specimen.close()
    return Result(check, outcome, detail, where, time.monotonic() - began)
