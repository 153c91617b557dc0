"""Backends registered in this process: a miss is `None`, a bad registration is loud."""

from __future__ import annotations

import pytest

from agentm_kernel.plugin import BackendRegistry, FileStore, ProtocolError, StorageBackend, registry


class Other(FileStore):
    pass


@pytest.fixture
def names() -> BackendRegistry:
    return BackendRegistry()


def test_the_process_wide_registry_ships_empty() -> None:
    assert isinstance(registry, BackendRegistry)
    assert registry.protocols() == ()


def test_a_registered_class_is_found_by_name(names: BackendRegistry) -> None:
    names.register("files", FileStore)
    assert names.get("files") is FileStore
    assert "files" in names


def test_a_miss_is_none(names: BackendRegistry) -> None:
    assert names.get("absent") is None
    assert "absent" not in names
    assert None not in names


def test_the_names_are_sorted(names: BackendRegistry) -> None:
    for name in ("b", "c", "a"):
        names.register(name, FileStore)
    assert names.protocols() == ("a", "b", "c")


def test_a_taken_name_is_refused_and_the_error_says_by_whom(names: BackendRegistry) -> None:
    names.register("files", FileStore)
    with pytest.raises(ProtocolError, match="FileStore"):
        names.register("files", Other)
    assert names.get("files") is FileStore


def test_a_taken_name_is_given_to_another_when_asked_to(names: BackendRegistry) -> None:
    names.register("files", FileStore)
    names.register("files", Other, clobber=True)
    assert names.get("files") is Other


@pytest.mark.parametrize("protocol", ["", "  ", None, 5])
def test_a_backend_needs_a_name(names: BackendRegistry, protocol: object) -> None:
    with pytest.raises(ProtocolError):
        names.register(protocol, FileStore)  # type: ignore[arg-type]
    assert names.protocols() == ()


def test_an_instance_is_not_a_class(names: BackendRegistry, tmp_path) -> None:
    with pytest.raises(TypeError):
        names.register("files", FileStore(tmp_path))  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", [dict, StorageBackend, None, "FileStore"])
def test_what_is_no_concrete_backend_is_refused(names: BackendRegistry, backend: object) -> None:
    with pytest.raises(TypeError):
        names.register("files", backend)  # type: ignore[arg-type]


def test_an_abstract_backend_is_refused_and_its_missing_verbs_named(names: BackendRegistry) -> None:
    class Half(StorageBackend):
        def read(self, locator):
            return ""

    with pytest.raises(TypeError, match="exists, info, list, mkdir, write"):
        names.register("half", Half)


def test_unregistering_forgets_and_tolerates_a_miss(names: BackendRegistry) -> None:
    names.register("files", FileStore)
    names.unregister("files")
    names.unregister("files")
    assert names.get("files") is None
