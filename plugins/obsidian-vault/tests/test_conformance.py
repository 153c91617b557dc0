"""The vault keeps the contract of the seam."""

from __future__ import annotations

from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_obsidian_vault import VaultBackend

test_conformance = conformance_tests(VaultBackend)
