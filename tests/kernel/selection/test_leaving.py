"""Whatever guards the selected store is asked before another one takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentm_devkit.conformance.stubs import SyncedStub
from agentm_kernel.device.config import load
from agentm_kernel.plugin import Device, StorageReadOnlyError, select_store
from agentm_kernel.seam.registry import registry
from agentm_kernel.selection.adopting import add_wrapper, open_other, open_unidentified
from agentm_kernel.selection.identity import adopt_store, read_stamp

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from tests.kernel.selection.conftest import Device as Laptop

    from agentm_kernel.plugin import Opening


class Guarded(SyncedStub):
    """It does not let its notes go, and remembers how it was opened."""

    openings: list[tuple[str, bool, str]]

    @classmethod
    def create(cls, options: Mapping[str, Any], device: Device, opening: Opening) -> Self:
        cls.openings.append((opening.name, opening.read_only, opening.state_dir))
        return cls(options["root"])

    def check_allowed(self, action: str) -> None:
        raise StorageReadOnlyError("the notes stay here")


@pytest.fixture
def guarded(device: Laptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    (tmp_path / "store").mkdir()
    monkeypatch.setattr(Guarded, "openings", [], raising=False)
    registry.register("guarded", Guarded)
    device.configure(**{"storage.backend": "guarded", "plugins.guarded.root": str(tmp_path / "store")})
    return Device(device.environ)


@pytest.mark.parametrize("wrappers", [[], ["that nobody has"]], ids=["alone", "within a layer that cannot be had"])
def test_a_store_that_does_not_let_its_notes_go_stays_selected(
    device: Laptop, guarded: Device, wrappers: list[str]
) -> None:
    before = load(device.environ)
    device.configure(
        **{"storage.backend": "guarded", "plugins.guarded.root": before.options("guarded")["root"]}, wrappers=wrappers
    )
    with pytest.raises(StorageReadOnlyError, match="the notes stay here"):
        select_store(Device(device.environ), "stub", {"root": "/elsewhere"})
    after = load(device.environ)
    assert (after.storage_backend, after.options("stub")) == ("guarded", {})
    assert Guarded.openings == [("default", True, guarded.state_dir)], "nothing is to be written for that question"


def test_another_store_and_a_lost_one_are_opened_to_be_written(guarded: Device, tmp_path: Path) -> None:
    store_id = adopt_store(guarded, SyncedStub(tmp_path / "store"), "guarded")
    assert open_other(guarded, "guarded").store_id == store_id
    lost = open_unidentified(guarded)
    assert (lost.protocol, lost.known, read_stamp(lost.backend)) == ("guarded", store_id, store_id)
    assert Guarded.openings == [("default", False, guarded.state_dir)] * 2


def test_a_layer_is_added_once_and_outermost(device: Laptop) -> None:
    for name in ("inner", "outer", "inner"):
        where = add_wrapper(Device(device.environ), name)
    assert load(device.environ).wrappers == ("inner", "outer")
    assert where == f"`wrappers` in {load(device.environ).path}"
