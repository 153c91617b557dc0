"""The default store keeps the contract of the seam."""

from __future__ import annotations

import os

from agentm_device_local import DeviceLocalBackend
from agentm_devkit.conformance.pytest_suite import conformance_tests


def open_store(scratch: str) -> DeviceLocalBackend:
    return DeviceLocalBackend(os.path.join(scratch, "memory"))  # a root that the first write has to make


test_conformance = conformance_tests(open_store)
