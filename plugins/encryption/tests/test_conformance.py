"""An encrypted store keeps the contract of the seam: encryption adds a rule and takes nothing away.

The kit runs on a folder; on the other stores what depends on them. AGENTM_WHOLE_KIT runs all of it on each, as
`make e2e` does. Sealed names make keys longer, so there the checks of the longest keys are left out.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.dirname(__file__))  # for the other processes too, which import this file
sys.path.insert(1, os.path.abspath(os.path.join(__file__, "..", "..", "..", "bucket", "tests")))
sys.path.insert(2, os.path.abspath(os.path.join(__file__, "..", "..", "..", "..")))

import pytest
from bucket_servers import Server, ServerMissingError, running
from tests.faults.stores import encrypt

from agentm_devkit.conformance import Subject
from agentm_devkit.conformance.pytest_suite import conformance_tests
from agentm_devkit.conformance.worker import is_child
from agentm_git.backend import GitStore
from agentm_git.setup import make_clone
from agentm_kernel.plugin import FileStore, StorageBackend
from agentm_obsidian_vault import VaultBackend

VERBS = ("reading", "writing", "conditions", "content", "deleting", "listing")
QUICK = (*VERBS, "declaring", "directories", "errors", "spelling")


def unless_all_is_asked_for(*groups):
    return None if is_child() or os.environ.get("AGENTM_WHOLE_KIT") else groups


def open_folder(scratch: str) -> StorageBackend:
    return encrypt(FileStore(os.path.join(scratch, "store"), create_root=True), os.path.join(scratch, "state"))


def open_vault(scratch: str) -> StorageBackend:
    root = os.path.join(scratch, "vault")
    os.makedirs(root, exist_ok=True)
    return encrypt(VaultBackend(root), os.path.join(scratch, "state"))


def open_clone(scratch: str) -> StorageBackend:
    root = os.path.join(scratch, "clone")
    store = GitStore(root)
    if not os.path.isdir(os.path.join(root, ".git")):
        make_clone(root, store.settings, os.environ)
    return encrypt(store, os.path.join(scratch, "state"))


def open_with_sealed_names(scratch: str) -> StorageBackend:
    return encrypt(
        FileStore(os.path.join(scratch, "store"), create_root=True),
        os.path.join(scratch, "state"),
        sealed_names=True,
    )


@dataclass(frozen=True)
class OpenBucket:
    server: Server

    def __call__(self, scratch: str) -> StorageBackend:
        bucket = self.server.open("kit/" + hashlib.sha256(scratch.encode()).hexdigest()[:16])
        return encrypt(bucket, os.path.join(scratch, "state"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Not the emulator moto: it compares an ETag and stores the bytes in two steps, so racing PUTs can both win."""
    try:
        with running("seaweedfs", str(tmp_path_factory.mktemp("seaweedfs"))) as started:
            yield started.server
    except ServerMissingError as reason:
        if os.environ.get("AGENTM_REQUIRE_SERVERS"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


@pytest.fixture
def bucket(server):
    return preparing(OpenBucket(server))


def preparing(open_store):
    """Opened with keys made at first: what opening alone touches is checked in `test_one_device`."""
    return Subject(open_store, prepares=True)


test_files = conformance_tests(preparing(open_folder), only=unless_all_is_asked_for(*QUICK, "keys", "importing"))
test_vault = conformance_tests(
    preparing(open_vault), only=unless_all_is_asked_for("declaring", "conditions", "deleting")
)
test_git = conformance_tests(
    preparing(open_clone), only=unless_all_is_asked_for("declaring", "conditions", "deleting")
)
test_bucket = conformance_tests("bucket", only=unless_all_is_asked_for("conditions", "deleting"))
test_sealed_names = conformance_tests(preparing(open_with_sealed_names), only=QUICK)
