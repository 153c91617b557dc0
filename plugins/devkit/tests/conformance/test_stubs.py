"""The stub for tests of routing: a real store that claims to be synced."""

from __future__ import annotations

from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_devkit.conformance.stubs import SyncedStub

test_conformance = conformance_tests(SyncedStub, only=("declaring", "writing", "device_files", "disk", "routing"))


def test_it_is_synced_and_its_files_are_here(tmp_path) -> None:
    stub = SyncedStub(tmp_path)
    assert stub.capabilities.sync
    assert stub.device_path(stub.resolve("a", "b.md")) == str(tmp_path / "a" / "b.md")
