"""A store under guard keeps the contract of the seam: the guard adds a rule and takes nothing away."""

from __future__ import annotations

import os

from agentm_checkpoint.guard import IntegrityGuard
from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_kernel.plugin import Device, FileStore, Opening


def open_guarded(scratch: str) -> IntegrityGuard:
    store = FileStore(os.path.join(scratch, "store"), create_root=True)
    return IntegrityGuard(store, None, Device({"HOME": scratch}), Opening(state_dir=os.path.join(scratch, "state")))


test_conformance = conformance_tests(open_guarded)
