"""The contract of the seam, on real servers: one that speaks S3, one that speaks Azure, and an emulator.

What depends on the backend alone is checked once, on SeaweedFS; the emulator only where it answers in its own way.
AGENTM_WHOLE_KIT runs all of it on each, as `make e2e` does, but for races on the emulator: moto compares an ETag and
stores the bytes in two steps, so two PUTs can both win.
"""

from __future__ import annotations

import os

from agentm_devkit.conformance import all_checks
from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_devkit.conformance.worker import is_child


def unless_all_is_asked_for(groups):
    return None if is_child() or os.environ.get("AGENTM_WHOLE_KIT") else groups


AZURE = (
    "declaring",
    "keys",
    "reading",
    "writing",
    "directories",
    "listing",
    "conditions",
    "content",
    "deleting",
    "lookalikes",
    "racing",
)
EMULATOR = ("conditions", "deleting", "listing", "reading")

test_seaweedfs = conformance_tests("on_seaweedfs")
test_azurite = conformance_tests("on_azurite", only=unless_all_is_asked_for(AZURE))
WITHOUT_RACES = sorted({check.group for check in all_checks()} - {"racing", "routing"})
test_moto = conformance_tests("on_moto", only=unless_all_is_asked_for(EMULATOR) or WITHOUT_RACES)
