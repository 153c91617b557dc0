"""The in-memory backend keeps every part of the contract that does not need a second process."""

from __future__ import annotations

from agentm_devkit.conformance import Subject, run
from agentm_devkit.conformance.memory import MemoryBackend
from agentm_devkit.conformance.pytest_suite import conformance_tests


def open_store(scratch: str) -> MemoryBackend:
    return MemoryBackend()


SUBJECT = Subject(open_store, in_memory=True)

test_conformance = conformance_tests(SUBJECT)


def test_only_what_needs_another_process_or_files_is_skipped() -> None:
    skipped = {result.detail for result in run(SUBJECT).having("skipped")}
    assert skipped == {
        "the store ends with its process",
        "the backend declares delete",
        "the backend does not declare device_files",
        "the backend does not declare concurrent_writers",
        "the author has not said how to break the medium (`Subject(…, break_medium=…)`)",
        "the store has no facet History",
        "this is not a layer",
    }


def test_it_claims_to_be_synced_only_when_asked_to() -> None:
    assert not MemoryBackend().capabilities.sync
    assert MemoryBackend(sync=True).capabilities.sync


def test_every_instance_is_a_store_of_its_own() -> None:
    one, other = MemoryBackend(), MemoryBackend()
    one.write(one.resolve("note.md"), "text")
    assert not other.exists(other.resolve("note.md"))
