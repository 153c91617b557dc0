"""An encrypted store keeps the contract of the seam: encryption adds a rule and takes nothing away."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))  # for the other processes too, which import this file

from encrypted_stores import WithoutKeys, encrypt, open_files

from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_kernel.plugin import StorageBackend
from agentm_obsidian_vault import VaultBackend


def open_vault(scratch: str) -> StorageBackend:
    root = os.path.join(scratch, "vault")
    os.makedirs(root, exist_ok=True)
    return WithoutKeys(encrypt(VaultBackend(root), os.path.join(scratch, "state")))


def open_folder(scratch: str) -> StorageBackend:
    return WithoutKeys(open_files(scratch))


def open_with_sealed_names(scratch: str) -> StorageBackend:
    return WithoutKeys(open_files(scratch, sealed_names=True))


test_files = conformance_tests(open_folder)
test_vault = conformance_tests(open_vault)
test_sealed_names = conformance_tests(open_with_sealed_names)
