"""The routing rule over every combination: the right place or a typed refusal, never the wrong place."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from agentm_kernel import harness_state_dir, read_state_file, resolve_project, write_state_file
from agentm_kernel.plugin import ConfigError, StorageError, StorageSelectionError

if TYPE_CHECKING:
    from pathlib import Path

MARKERS = {
    "no marker": None,
    "blank": " \n",
    "local": "local\n",
    "backend": "backend\n",
    "vault": " Vault\n",
    "garbage": "somewhere\n",
}
MODES = {"unset": None, "local": "local", "backend": "backend", "vault": "vault", "garbage": "somewhere"}
KINDS = ("device-local", "stub", "remote")
STORES = ("present", "missing", "unmounted", "other")

_MEANING = {"local": "local", "backend": "store", "vault": "store", "unset": "store"}


def expected(marker: str, mode: str, kind: str, store: str) -> str | type[Exception]:
    """What the contract says, in its own words and without any of the code."""
    if marker == "garbage":
        return ConfigError
    if marker in ("no marker", "blank"):
        if mode == "garbage":
            return ConfigError
        meaning = _MEANING[mode]
    else:
        meaning = _MEANING[marker]
    if meaning == "local":
        return "checkout"
    if mode == "garbage":
        return StorageSelectionError  # which store is meant cannot be read
    if store != "present":
        return StorageSelectionError
    return {"device-local": "checkout", "stub": "store", "remote": StorageError}[kind]


@pytest.mark.parametrize(("kind", "store"), [*product(KINDS, STORES)])
@pytest.mark.parametrize(("marker", "mode"), [*product(MARKERS, MODES)])
def test_state_goes_to_the_right_place_or_nowhere(device, monkeypatch, marker, mode, kind, store):
    root = device.project()
    monkeypatch.chdir(root)
    device.found_store(kind)
    if store != "present":
        device.lose_store(kind, store)
    device.uses(kind, **({} if MODES[mode] is None else {"state_mode": MODES[mode]}))
    harness = root / ".harness"
    harness.mkdir()
    if MARKERS[marker] is not None:
        (harness / ".project-mode").write_text(MARKERS[marker])
    outcome = expected(marker, mode, kind, store)

    if isinstance(outcome, str):
        place = harness if outcome == "checkout" else device.store / "projects" / "widgets" / "_harness"
        resolution = resolve_project()
        assert harness_state_dir() == harness_state_dir(resolution) == place
        assert write_state_file(resolution, "PLAN.md", "the plan\n") == place / "PLAN.md"
        assert (place / "PLAN.md").read_text() == "the plan\n"
        assert read_state_file(resolution, "PLAN.md") == "the plan\n"
        in_checkout, in_store = (harness / "PLAN.md").exists(), "projects/widgets/_harness/PLAN.md"
        assert in_checkout == (outcome == "checkout")
        assert (in_store in device.stored(kind)) == (outcome == "store")
    else:
        with pytest.raises(outcome):
            harness_state_dir()
        with pytest.raises(outcome):
            write_state_file(resolve_project(), "PLAN.md", "the plan\n")
        assert not (harness / "PLAN.md").exists()
        assert device.stored(kind) == {}


def test_the_table_has_every_outcome():
    outcomes = {expected(*row) for row in product(MARKERS, MODES, KINDS, STORES)}

    assert outcomes == {"checkout", "store", ConfigError, StorageSelectionError, StorageError}


@pytest.mark.parametrize("how", ["missing", "unmounted", "other"])
@pytest.mark.parametrize("kind", ["stub", "device-local"])
def test_a_store_that_is_lost_after_it_was_resolved_gets_nothing_either(device, monkeypatch, kind, how):
    monkeypatch.chdir(device.project())
    device.found_store(kind)
    device.uses(kind, state_mode="backend")
    resolution = resolve_project()
    harness_state_dir(resolution)
    device.lose_store(kind, how)

    with pytest.raises(StorageSelectionError):
        harness_state_dir()
    with pytest.raises(StorageSelectionError):
        resolve_project()
    if kind == "stub":  # the other one keeps state in the checkout: the store has no part in it
        for attempt in (
            lambda: harness_state_dir(resolution),
            lambda: write_state_file(resolution, "PLAN.md", "x"),
            lambda: read_state_file(resolution, "PLAN.md"),
        ):
            with pytest.raises((StorageSelectionError, StorageError)):
                attempt()
        assert device.stored(kind) == {}


def test_a_bare_vault_path_is_never_taken_for_the_default(device, monkeypatch):
    root = device.project()
    monkeypatch.chdir(root)
    device.store.mkdir()
    device.configure(**{"plugins.vault.vault_path": str(device.store)})

    with pytest.raises(StorageSelectionError, match="storage.backend vault"):
        harness_state_dir()
    device.configure(**{"plugins.vault.vault_path": str(device.store), "state_mode": "local"})
    assert harness_state_dir() == root / ".harness"


def test_a_project_without_any_mark_is_the_working_directory(device, tmp_path: Path, monkeypatch):
    plain = tmp_path / "plain"
    plain.mkdir()
    monkeypatch.chdir(plain)

    assert harness_state_dir() == plain / ".harness"
    assert resolve_project().slug == "plain"
