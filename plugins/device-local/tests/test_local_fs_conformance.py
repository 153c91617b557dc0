"""A watched folder keeps the contract of the seam, whatever its policy says about conflicts."""

from __future__ import annotations

import os

from agentm_device_local.local_fs import LocalFolder
from agentm_devkit.conformance import Subject
from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_kernel.plugin import Device, Opening, ProviderContext, SyncRules


def open_store(scratch: str) -> LocalFolder:
    folder, state = os.path.join(scratch, "notes"), os.path.join(scratch, "state")
    os.makedirs(folder, exist_ok=True)
    device = Device({**os.environ, "HOME": scratch})
    return LocalFolder(
        folder, ProviderContext(device, Opening(state_dir=state), "STORAGE.md", SyncRules("watch"), lambda _: False)
    )


test_conformance = conformance_tests(Subject(open_store, prepares=True))
