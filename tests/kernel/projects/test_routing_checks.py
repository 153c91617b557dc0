"""The conformance kit's checks of what the kernel keeps in a store: good backends pass, each broken one is caught."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from agentm_devkit.conformance import ConformanceFailure, all_checks
from agentm_devkit.conformance.stubs import SyncedStub

if TYPE_CHECKING:
    from agentm_kernel import Locator

CHECKS = {check.name: check for check in all_checks() if check.group == "routing"}


class Forgetful(SyncedStub):
    """Acknowledges every write and keeps only the first."""

    def write(self, locator: Locator, content: str, **condition: object) -> Locator:
        return locator if self.exists(locator) else super().write(locator, content)


class Repairing(SyncedStub):
    """Reads what it cannot understand as empty."""

    def read(self, locator: Locator) -> str:
        text = super().read(locator)
        return text if text.endswith("}\n") else '{"repos": []}'


class Nameless(SyncedStub):
    """Loses whatever lies below projects/."""

    def write(self, locator: Locator, content: str, **condition: object) -> Locator:
        return locator if locator.parts[0] == "projects" else super().write(locator, content)


class Careless(SyncedStub):
    """Ignores the condition of a write, and takes its time."""

    def write(self, locator: Locator, content: str, **condition: object) -> Locator:
        time.sleep(0.005)
        return super().write(locator, content)


@pytest.mark.parametrize("name", CHECKS)
def test_a_good_backend_passes(name: str) -> None:
    CHECKS[name](SyncedStub)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("routing_repo_registry", Forgetful),
        ("routing_broken_registry", Repairing),
        ("routing_ownership", Nameless),
        ("routing_registry_race", Careless),
    ],
)
def test_a_broken_backend_is_caught(name: str, broken: type[SyncedStub]) -> None:
    with pytest.raises(ConformanceFailure, match=name):
        CHECKS[name](broken)
