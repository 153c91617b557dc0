"""`agentm plugins check` as pytest tests, one per check (needs the extra `agentm-devkit[testing]`).

from agentm_devkit.kinds.pytest_suite import plugin_tests

test_contract = plugin_tests("hooks", "my-plugin")

Stores and wrappers have the conformance kit: `agentm_devkit.conformance.pytest_suite`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentm_devkit.kinds.checking import checks_of, run_checks
from agentm_devkit.plugins_check import records_of
from agentm_kernel.plugin import Device

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentm_devkit.kinds.checking import PluginCheck


def plugin_tests(kind: str, name: str) -> Callable[..., None]:
    """A test function that pytest runs once for each check of this kind. Assign it to a name that begins with `test`.

    `name`: of the entry point. The plugin has to be installed (`pip install -e .`).
    """

    @pytest.mark.parametrize("check", checks_of(kind), ids=lambda check: check.name)
    def test_contract(check: PluginCheck) -> None:
        reasons = []
        for record in records_of(Device.now(), kind, name):
            (result,) = run_checks((check,), record, {}).results
            assert result.outcome != "failed", f"{result.detail} ({result.where})"
            reasons += [result.detail] if result.outcome == "skipped" else []
        if reasons:
            pytest.skip(reasons[0])

    return test_contract
