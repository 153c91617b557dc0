"""`AGENTM_TRACE_PLUGINS=1`: which plugin was asked what, and how long it took, on standard error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernel.conftest import Site

HOOKS = """
import time
from agentm_kernel.plugin import DoctorRow, hookimpl
@hookimpl
def agentm_doctor_checks(context):
    time.sleep(0.05)
    return [DoctorRow("ok", "slow", "done")]
"""
_LINE = re.compile(r"trace: +([\d.]+) ms +(.*)")


def traced(stderr: str) -> dict[str, float]:
    return {what: float(took) for took, what in _LINE.findall(stderr)}


def test_each_call_is_told_with_its_time(site: Site) -> None:
    site.install_plugin("slow", HOOKS, group="agentm.plugins", attribute="")

    done = site.agentm("doctor", AGENTM_TRACE_PLUGINS="1")

    calls = traced(done.stderr)
    hook = next(what for what in calls if what.endswith("agentm_doctor_checks"))
    assert hook == "hook plugin 'slow' of agentm-slow 1.0: agentm_doctor_checks"
    assert 50 <= calls[hook] < 1_500
    assert any("backend 'device-local'" in what for what in calls)
    assert "trace:" not in done.stdout


def test_a_failure_is_named_by_its_type(site: Site) -> None:
    site.install_plugin("bad", HOOKS.replace("time.sleep(0.05)", "1 / 0"), group="agentm.plugins", attribute="")

    done = site.agentm("doctor", AGENTM_TRACE_PLUGINS="1")

    assert "agentm_doctor_checks, ZeroDivisionError" in done.stderr


def test_without_the_variable_nothing_is_told(site: Site) -> None:
    assert "trace:" not in site.agentm("doctor").stderr
